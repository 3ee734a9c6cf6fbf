"""Every command of kfix that a finding prints is one that its command line accepts, with all that its runbook needs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

import pytest
import typer

from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import Finding
from kfix.core.errors import KfixError
from kfix.heal.cli.plan import pairs
from kfix.heal.runbook.catalogue import load
from kfix.heal.session.request import _params
from kfix.shell.app import app
from kfix_diagnostics.engine import diagnose
from tests.places import ROOT
from tests.unit.diagnostics.all_cases import CASES

#: A command in a sentence: up to what ends the sentence, or the clause.
COMMAND = re.compile(r"kfix (?:runbook|diagnose|inspect|offsets|snapshot) [^`;]*?(?=[`;]|\. |, |$)")
MAIN = typer.main.get_command(app)


def parsed(words: list[str]) -> tuple[str, dict[str, object]]:
    """Returns the path of the command and its parameters. Raises an error for what it does not accept."""
    command, name, args = MAIN, "kfix", words
    while hasattr(command, "resolve_command"):
        context = command.make_context(name, list(args), resilient_parsing=False)
        inner, found, args = command.resolve_command(context, [*context._protected_args, *context.args])
        assert inner is not None
        assert found is not None
        command, name = found, f"{name} {inner}"
    context = command.make_context(name, list(args), resilient_parsing=False)
    return name, context.params


def wrong(text: str) -> str:
    """Returns why the command could not be carried out as it is printed; "" if it could."""
    words = shlex.split(text)[1:]
    try:
        name, params = parsed(words)
    except Exception as problem:  # noqa: BLE001 - typer has a click of its own
        return f"{text}: {getattr(problem, 'message', problem)}"
    if name in {"kfix runbook plan", "kfix runbook apply"} and params.get("name"):
        try:
            runbook = load(str(params["name"]), None)
            if not runbook.codes and params.get("finding") is None:
                _params(runbook, pairs(list(params.get("param") or ())))  # type: ignore[call-overload]
        except KfixError as problem:
            return f"{text}: {problem}"
    return f"{text}: ends in punctuation" if text[-1] in ".,;:" else ""


def printed(finding: Finding) -> Iterator[str]:
    for remedy in finding.remedies:
        if remedy.command.startswith("kfix "):
            yield remedy.command
    for text in (*(r.text for r in finding.remedies), finding.summary, finding.cause.text, *finding.never):
        yield from (found[0] for found in COMMAND.finditer(text) if "--" in found[0] or " -p " in found[0])
        yield from re.findall(r"kfix runbook (?:plan|apply) [\w-]+\S*(?: -p (?:'[^']*'|\S+))*", text)


@pytest.mark.parametrize("name", CASES)
def test_every_command_of_a_finding_can_be_pasted(name: str) -> None:
    seen = CASES[name]()
    seen = replace(seen, cluster=replace(seen.cluster, bootstrap="one:9092"))
    found = diagnose(seen, criteria=Criteria(prevention=True))
    assert [why for each in found.walk() for text in printed(each) if (why := wrong(text))] == []


#: A command on a line of its own or behind a colon, as a person copies it; three blanks or a semicolon end it.
GOLDEN = re.compile(r"(?:^[>\s]*(?:\d+\. |- |\$ )?`?|: +)(kfix [a-z][^`;\n]*?)`?(?=;|$|\s{3,})", re.MULTILINE)


@pytest.mark.parametrize("folder", ["diagnose", "incident", "inspect", "prevention", "runbook", "screen", "vantages"])
def test_every_command_of_a_golden_can_be_pasted(folder: str) -> None:
    pages = [path for path in sorted((ROOT / "tests" / "golden" / folder).iterdir()) if path.suffix in {".txt", ".md"}]
    found = {command for page in pages for command in GOLDEN.findall(page.read_text())}
    assert [why for command in sorted(found) if (why := wrong(command))] == []


@pytest.mark.parametrize(
    "text",
    [
        "kfix runbook plan raise-topic-rf.",
        "kfix runbook plan raise-topic-rf",
        "kfix diagnose --before",
        "kfix diagnose --nope x",
    ],
)
def test_a_command_that_cannot_work_is_noticed(text: str) -> None:
    assert wrong(text)
