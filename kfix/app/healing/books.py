"""Runbooks as documents: listed, validated, tested on clusters in memory, shown as a page with the way by hand."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kfix.actions.registry import ALL as ACTIONS
from kfix.actions.registry import described, example
from kfix.adapters.memory.incidents import ALL as INCIDENTS
from kfix.app.healing.site import Site, known_codes
from kfix.errors import UsageError
from kfix.model.plan.args import ArgKind, ArgValue, coerce
from kfix.model.plan.runbook import Runbook
from kfix.report.runbook.page import ActionWords, page
from kfix.runbook.file import catalogue
from kfix.runbook.file.published import json_schema
from kfix.runbook.testing import Tested, run_tests


def shipped(runbook: Runbook) -> bool:
    return Path(runbook.origin).parent == catalogue.shipped_dir()


def page_of(runbook: Runbook) -> str:
    """Returns the runbook's page in Markdown."""
    words = {key: ActionWords(*described(action)) for key, action in ACTIONS.items()}
    by_hand: dict[str, str] = {}
    for step in runbook.steps:
        action, known = ACTIONS[step.action], dict[str, ArgValue]()
        for name, value in step.with_.items():
            # A reference is not known before there is a finding; within what a person is told it says enough.
            told = not action.changes and action.kinds[name] is ArgKind.TEXT
            if told or "${" not in str(value):
                known[name] = coerce(action.kinds[name], value)
        by_hand[step.id] = action.preview(example(action).with_(**known)).command
    return page(runbook, words, by_hand)


def validated(site: Site, files: Sequence[Path], folder: Path | None) -> tuple[Runbook, ...]:
    """Returns the runbooks; no `files` means all that there are. Raises InvalidFileError with every mistake at once."""
    if files and folder is not None:
        raise UsageError("give files or --runbooks, not both")
    known = tuple(files or site.files(folder).values())
    return tuple(catalogue.validate(known, codes=known_codes()))


def tested(site: Site, names: Sequence[str], folder: Path | None) -> Iterator[Tested]:
    """Runs the tests that stand in runbooks; no `names` means all runbooks."""
    found = [site.load_or_file(n, folder) for n in names] if names else site.load_all(folder)
    with tempfile.TemporaryDirectory(prefix="kfix-test-") as home:
        for runbook in found:
            yield from run_tests(runbook, INCIDENTS, Path(home))


def runbook_schema() -> dict[str, Any]:
    """Returns the JSON Schema of runbook files."""
    return json_schema(known_codes())
