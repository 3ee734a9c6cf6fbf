"""A runbook file into a `Runbook`, or all of its mistakes, each as `file:line:col: text`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from kfix.errors import InvalidFileError, UsageError
from kfix.model.runbook import Runbook
from kfix.runbook import schema
from kfix.runbook.build import build
from kfix.runbook.lint import lint
from kfix.runbook.nodes import Document, parse
from kfix.runbook.problems import Path, Problem, did_you_mean


def load_file(path: FilePath, *, codes: frozenset[str] = frozenset()) -> Runbook:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such file") from error
    except UnicodeDecodeError as error:
        raise InvalidFileError((f"{path}:1:1: not UTF-8 text (byte {error.start})",)) from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return load_text(text, origin=str(path), stem=path.stem, codes=codes)


def load_text(text: str, *, origin: str, stem: str, codes: frozenset[str] = frozenset()) -> Runbook:
    """`stem` is what the runbook must be called: its file's name without `.yaml`."""
    document = parse(text)
    problems = list(document.problems)
    model = None
    if document.data is not None:
        model, wrong = _shape(document)
        found = (*wrong, *lint(document.data, codes), *_name(document.data, stem))
        problems += [(document.place(p.path, at_key=p.at_key), p.text) for p in found]
    if problems or model is None:
        told = dict.fromkeys(f"{origin}:{p.line}:{p.column}: {t}" for p, t in sorted(problems))
        raise InvalidFileError(tuple(told) or (f"{origin}:1:1: the file holds no runbook",))
    return build(model, hashlib.sha256(text.encode()).hexdigest(), origin)


def _shape(document: Document) -> tuple[schema.RunbookModel | None, list[Problem]]:
    try:
        return schema.RunbookModel.model_validate(document.data), []
    except ValidationError as error:
        return None, [_told(dict(e)) for e in error.errors(include_url=False)]


def _told(error: dict[str, Any]) -> Problem:
    """Pydantic's words in ours. A missing field is told at the thing that lacks it, a surplus one at its key."""
    path: Path = tuple(error["loc"])
    name = str(path[-1]) if path else ""
    match error["type"]:
        case "missing":
            return Problem(path[:-1], f"{_where(path[:-1])} lacks {name!r}")
        case "extra_forbidden":
            known = _known_fields(path[:-1])
            hint = did_you_mean(name, known) or f"; known: {', '.join(known)}"
            return Problem(path, f"unknown field {name!r}{hint}", at_key=True)
        case "literal_error":
            got = error["input"]
            wanted = error["ctx"]["expected"]
            near = did_you_mean(str(got), [w.strip("' ") for w in wanted.replace(" or ", ",").split(",")])
            return Problem(path, f"{name} is {got!r}, wanted {wanted}{near}")
        case "string_pattern_mismatch":
            return Problem(path, f"{error['input']!r} is not of the form {error['ctx']['pattern']}")
        case _:
            text = str(error["msg"]).removeprefix("Value error, ")
            return Problem(path, f"{name}: {text[0].lower()}{text[1:]}")


def _where(path: Path) -> str:
    names = [str(p) if isinstance(p, str) else f"#{p + 1}" for p in path]
    return " ".join(names) or "the runbook"


def _known_fields(path: Path) -> list[str]:
    """The fields of the model at a path, found by walking the models' own annotations."""
    model: type[BaseModel] = schema.RunbookModel
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


def _name(data: object, stem: str) -> Iterable[Problem]:
    metadata = data.get("metadata") if isinstance(data, dict) else None
    name = metadata.get("id") if isinstance(metadata, dict) else None
    if isinstance(name, str) and name != stem:
        yield Problem(("metadata", "id"), f"the runbook is called {name!r} but its file {stem!r}")
