"""The table of commands: each is there, has the same summary in the table, and stands in the reference."""

import inspect
import re
import shlex
from importlib import import_module
from typing import Any

from typer.testing import CliRunner

from kfix.shell.app import app
from kfix.shell.commands import COMMANDS
from kfix.shell.examples import EXAMPLES
from kfix.shell.loading import Command, CommandGroup
from tests.catalogue.pages import commands, variables
from tests.places import ROOT


def entries(table: Any = COMMANDS) -> list[Command]:
    found = [e for e in table.values() if isinstance(e, Command)]
    return found + [e for g in table.values() if isinstance(g, CommandGroup) for e in entries(g.commands)]


def test_every_command_has_help_and_stands_in_the_reference():
    reference = (ROOT / "docs" / "commands.md").read_text()
    faults = []
    for words, command in commands():
        name = " ".join(words)
        bare = [p.name for p in command.params if p.name != "help" and not getattr(p, "help", "")]
        faults += [f"{name}: no help"] if not command.help else []
        faults += [f"{name}: no help of {bare}"] if bare else []
        faults += [f"{name}: not in docs/commands.md"] if f"\n## {name}\n" not in reference else []
    assert faults == []


def test_the_help_of_a_group_has_the_first_sentence_of_each_command():
    faults = []
    for entry in entries():
        module, _, name = entry.where.partition(":")
        found = getattr(import_module(module), name)
        own = (inspect.getdoc(found) if inspect.isfunction(found) else found.info.help) or ""
        if not entry.summary.endswith(".") or not re.match(rf"{re.escape(entry.summary)}(\s|$)", own):
            faults.append(f"{entry.where}: {entry.summary!r} is not the first sentence of {own!r}")
    assert entries()
    assert faults == []


def test_each_command_has_examples_that_are_right(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("KFIX_STATE_HOME", str(tmp_path))
    known = {" ".join(words[1:]): command for words, command in commands()}
    assert known.keys() <= EXAMPLES.keys()
    alone = re.compile(
        r"examples/|^(explain|completion|schema|runbook (list|show|doc|schema|validate)|lab incidents)\b"
    )
    for name, examples in EXAMPLES.items():
        for example in examples:
            words = shlex.split(example)
            assert example.startswith(name)
            if name in known:
                known[name].make_context(name, words[len(name.split()) :], parent=None)
            if alone.search(example):
                done = CliRunner().invoke(app, words)
                assert done.exit_code in {0, 20, 21, 22}, (example, done.output)
                assert "Traceback" not in done.output


def test_every_variable_of_the_environment_stands_in_the_reference():
    sources = [
        path.read_text() for folder in ("kfix", "spark", "diagnostics") for path in (ROOT / folder).rglob("*.py")
    ]
    read = set(re.findall(r"\bKFIX_[A-Z_]+[A-Z]\b", "\n".join(sources)))
    # The shell's own, which its completion script sets.
    assert read - {"KFIX_COMPLETE"} == set(variables())


def test_the_commands_of_runbooks_are_all_there():
    names = set(dict(COMMANDS)["runbook"].commands)
    assert names >= {"doc", "schema", "test", "countersign", "resume", "abort", "rollback", "throttle", "history"}
