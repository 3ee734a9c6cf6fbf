"""Runbooks as documents: validated, tested on in-memory clusters, and the schema of their files."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kfix.core.errors import UsageError
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.model.runbook import Runbook
from kfix.heal.runbook import catalogue
from kfix.heal.runbook.published import json_schema
from kfix.heal.session.site import Site, known_codes
from kfix.heal.testing import Tested, run_tests


def shipped(runbook: Runbook) -> bool:
    """Returns whether the runbook is shipped with kfix."""
    return Path(runbook.origin).parent == catalogue.shipped_dir()


def validated(site: Site, files: Sequence[Path], folder: Path | None) -> tuple[Runbook, ...]:
    """Returns the runbooks; without `files`, all of them. Raises InvalidFileError with every mistake."""
    if files and folder is not None:
        raise UsageError("give files or --runbooks, not both")
    known = tuple(files or site.files(folder).values())
    return tuple(catalogue.validate(known, codes=known_codes()))


def tested(site: Site, names: Sequence[str], folder: Path | None) -> Iterator[Tested]:
    """Runs the tests of these runbooks; without `names`, of all runbooks."""
    found = [site.load_or_file(n, folder) for n in names] if names else site.load_all(folder)
    with tempfile.TemporaryDirectory(prefix="kfix-test-") as home:
        for runbook in found:
            yield from run_tests(runbook, INCIDENTS, Path(home))


def runbook_schema() -> dict[str, Any]:
    """Returns the JSON Schema of runbook files."""
    return json_schema(known_codes())
