"""One file that a person wrote, as text or as a model; all of its mistakes at once, each as `file:line:col: text`."""

from collections.abc import Callable, Iterable
from pathlib import Path as FilePath
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kfix.core.documents.nodes import MAX_BYTES, parse
from kfix.core.documents.opening import read_file
from kfix.core.documents.problems import Path, Problem, did_you_mean, short, shown
from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.wording import continued

#: Of one message; a value in a file may have any length.
_LONGEST = 600
Model = TypeVar("Model", bound=BaseModel)


def read_text(path: FilePath, what: str) -> str:
    """Returns the text of a file; `what` names it, such as `policy`. Raises UsageError if it cannot be read."""
    try:
        return read_file(path).decode("utf-8")
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such {what}") from None
    except UnicodeDecodeError as error:
        raise InvalidFileError((f"{path}:1:1: not UTF-8 text (byte {error.start})",)) from None
    except OSError as error:
        raise UsageError(f"{path}: the {what} cannot be read: {error.strerror}") from None


def read_model(
    text: str,
    model: type[Model],
    *,
    origin: str,
    what: str,
    more: Callable[[Any], Iterable[Problem]] = lambda _: (),
    hint: str = "",
    largest: int = MAX_BYTES,
) -> Model:
    """Returns the file as a model. Raises InvalidFileError with all of its mistakes.

    `more` checks the plain data, so that a mistake in the shape hides none in the meaning. `largest` is in bytes.
    """
    document = parse(text, what, largest)
    problems = list(document.problems)
    found: Model | None = None
    if document.data is not None:
        wrong = list(more(document.data))
        try:
            found = model.model_validate(document.data)
        except ValidationError as error:
            wrong += [problem_of(dict(e), model, what) for e in error.errors(include_url=False)]
        problems += [(document.place(p.path, at_key=p.at_key), p.text) for p in wrong]
    if problems or found is None:
        lines = dict.fromkeys(f"{origin}:{p.line}:{p.column}: {_cut(t)}" for p, t in sorted(problems))
        raise InvalidFileError(tuple(lines) or (f"{origin}:1:1: the file holds no {what}",), hint=hint)
    return found


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def problem_of(error: dict[str, Any], model: type[BaseModel], what: str) -> Problem:
    """Translates pydantic's errors. A missing field has the place of its object, a surplus one has its key's place."""
    path: Path = tuple(error["loc"])
    name = _name(path)
    match error["type"]:
        case "missing":
            return Problem(path[:-1], f"{_where(path[:-1], what)} lacks {name!r}")
        case "extra_forbidden":
            known = fields_at(path[:-1], model)
            hint = did_you_mean(name, known) or f"; known: {', '.join(known)}"
            return Problem(path, f"unknown field {short(name)}{hint}", at_key=True)
        case "literal_error":
            got = error["input"]
            expected = error["ctx"]["expected"]
            near = did_you_mean(str(got), [w.strip("' ") for w in expected.replace(" or ", ",").split(",")])
            return Problem(path, f"{name} is {shown(got)}, wanted {expected}{near}")
        case "string_pattern_mismatch":
            return Problem(path, f"{shown(error['input'])} is not of the form {error['ctx']['pattern']}")
        case _:
            text = str(error["msg"]).removeprefix("Value error, ")
            return Problem(path, f"{name}: {continued(text)}")


def _name(path: Path) -> str:
    """Returns the name of the value; for an item of a list, the list's name."""
    at = len(path) - 1
    while at > 0 and isinstance(path[at], int):
        at -= 1
    return _where(path[at:], "") if path else ""


def _where(path: Path, what: str) -> str:
    names = [str(p) if isinstance(p, str) else f"#{p + 1}" for p in path]
    return " ".join(names) or f"the {what}"


def fields_at(path: Path, model: type[BaseModel]) -> list[str]:
    """Returns the fields of the model at a path, found by walking the models' own annotations."""
    for part in path:
        if isinstance(part, int):
            continue
        field = next((f for n, f in model.model_fields.items() if part in (f.alias or n, n)), None)
        found = None if field is None else _model_in(field.annotation)
        if found is not None:
            model = found
    return sorted(f.alias or n for n, f in model.model_fields.items())


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _model_in(inner)
        if found is not None:
            return found
    return None


class StrictModel(BaseModel):
    """An object whose fields are all known."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
