"""Loads a runbook file, or reports all of its mistakes, each as `file:line:col: text`."""

import hashlib
from collections.abc import Iterable
from pathlib import Path as FilePath

from kfix.core.documents.problems import Problem
from kfix.core.documents.reading import read_model, read_text
from kfix.heal.model.runbook import Runbook, RunbookFile
from kfix.heal.runbook.lint import lint


def load_file(path: FilePath, *, codes: frozenset[str] = frozenset()) -> Runbook:
    return load_text(read_text(path, "file"), origin=str(path), stem=path.stem, codes=codes)


def load_text(text: str, *, origin: str, stem: str, codes: frozenset[str] = frozenset()) -> Runbook:
    """Parses a runbook. `stem`, the file's name without `.yaml`, must be its id. Raises InvalidFileError."""

    def more(data: object) -> Iterable[Problem]:
        return (*lint(data, codes), *_name(data, stem))

    found = read_model(text, RunbookFile, origin=origin, what="runbook", more=more)
    return Runbook.model_construct(**dict(found), sha256=hashlib.sha256(text.encode()).hexdigest(), origin=origin)


def _name(data: object, stem: str) -> Iterable[Problem]:
    metadata = data.get("metadata") if isinstance(data, dict) else None
    name = metadata.get("id") if isinstance(metadata, dict) else None
    if isinstance(name, str) and name != stem:
        yield Problem(("metadata", "id"), f"the runbook's id is {name!r}, but its file is called {stem!r}")
