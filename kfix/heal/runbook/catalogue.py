"""Finds runbooks: those shipped with kfix, in the user's own folder, and in a folder given with `--runbooks`."""

from importlib import resources
from pathlib import Path

from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import InvalidFileError, UsageError
from kfix.heal.model.runbook import Runbook
from kfix.heal.runbook.load import load_file


def shipped_dir() -> Path:
    """Returns the folder of shipped runbooks: inside the package in a wheel, beside it in a checkout."""
    inside = resources.files("kfix").joinpath("_runbooks")
    if isinstance(inside, Path) and inside.is_dir():
        return inside
    return Path(str(resources.files("kfix"))).parent / "runbooks"


def files(site: Path | None, own: Path | None = None) -> dict[str, Path]:
    """Returns {name: file}. A site's runbook overrides the user's of the same name, and that the shipped one.

    Raises UsageError if a folder does not exist.
    """
    found = {path.stem: path for path in sorted(shipped_dir().glob("*.yaml"))}
    for folder in (own, site):
        if folder is not None:
            if not folder.is_dir():
                raise UsageError(f"{folder}: no such folder of runbooks")
            found |= {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    return dict(sorted(found.items()))


def load_all(site: Path | None, own: Path | None = None) -> tuple[Runbook, ...]:
    return validate(tuple(files(site, own).values()))


def load(name: str, site: Path | None, own: Path | None = None) -> Runbook:
    found = files(site, own)
    if name not in found:
        hint = f"known: {', '.join(found)}" if found else "there are none"
        raise UsageError(f"unknown runbook {name!r}{did_you_mean(name, found)}", hint=hint)
    return load_file(found[name])


def validate(paths: tuple[Path, ...], *, codes: frozenset[str] = frozenset()) -> tuple[Runbook, ...]:
    """Returns the runbooks. Raises InvalidFileError with the mistakes of all files.

    `codes` are the known finding codes; if empty, codes are not checked.
    """
    problems: list[str] = []
    good: list[Runbook] = []
    for path in paths:
        try:
            good.append(load_file(path, codes=codes))
        except InvalidFileError as error:
            problems += error.problems
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise InvalidFileError(tuple(problems))
    return tuple(good)
