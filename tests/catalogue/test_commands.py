"""The table of commands: each is there, has the same summary in the table, and stands in the reference."""

import inspect
from importlib import import_module
from typing import Any

import pytest

from kfix.cli.commands import COMMANDS
from kfix.cli.loading import Command, CommandGroup
from tests.catalogue.pages import commands
from tests.places import ROOT


def entries(table: Any = COMMANDS) -> list[Command]:
    found = [e for e in table.values() if isinstance(e, Command)]
    return found + [e for g in table.values() if isinstance(g, CommandGroup) for e in entries(g.commands)]


@pytest.mark.parametrize(("words", "command"), commands(), ids=lambda v: " ".join(v) if isinstance(v, tuple) else "")
def test_every_command_has_help_and_stands_in_the_reference(words, command):
    assert command.help
    assert all(getattr(p, "help", "") for p in command.params if p.name != "help"), [p.name for p in command.params]
    assert f"\n## {' '.join(words)}\n" in (ROOT / "docs" / "commands.md").read_text()


@pytest.mark.parametrize("entry", entries(), ids=lambda e: e.where)
def test_the_table_says_of_a_command_what_it_says_itself(entry):
    module, _, name = entry.where.partition(":")
    found = getattr(import_module(module), name)
    if inspect.isfunction(found):
        assert (inspect.getdoc(found) or "").startswith(entry.summary.rstrip("."))
    assert entry.summary.endswith(".")


def test_the_commands_of_runbooks_are_all_there():
    names = set(dict(COMMANDS)["runbook"].commands)
    assert names >= {"doc", "schema", "test", "countersign", "resume", "abort", "rollback", "throttle", "history"}
