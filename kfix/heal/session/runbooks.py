"""Runbooks as documents: validated, tested on in-memory clusters, rendered as a page with manual commands."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kfix.core.args import ArgKind, ArgValue, coerce
from kfix.core.errors import UsageError
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.actions.registry import described, example
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.model.runbook import Runbook
from kfix.heal.report.page import ActionWords, page
from kfix.heal.runbook import catalogue
from kfix.heal.runbook.published import json_schema
from kfix.heal.session.site import Site, known_codes
from kfix.heal.testing import Tested, run_tests


def shipped(runbook: Runbook) -> bool:
    """Returns whether the runbook is shipped with kfix."""
    return Path(runbook.origin).parent == catalogue.shipped_dir()


def page_of(runbook: Runbook) -> str:
    """Returns the runbook's page in Markdown."""
    words = {key: ActionWords(*described(action)) for key, action in ACTIONS.items()}
    by_hand: dict[str, str] = {}
    for step in runbook.steps:
        action, known = ACTIONS[step.action], dict[str, ArgValue]()
        for name, value in step.with_.items():
            # References are unknown without a finding. In the text of an instruction they may stay as they are.
            instruction = not action.changes and action.kinds[name] is ArgKind.TEXT
            if instruction or "${" not in str(value):
                known[name] = coerce(action.kinds[name], value)
        by_hand[step.id] = action.preview(example(action).with_(**known)).command
    return page(runbook, words, by_hand)


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
