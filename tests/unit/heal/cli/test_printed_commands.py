"""Every command that a plan, a stop and a resume print works as it is printed, without a terminal."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kfix.core.application import App
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.memory.faults import Faults
from kfix.heal.memory.incidents import ALL
from kfix.shell.app import app
from tests.unit.heal.fake_wiring import FakeWiring

PRINTED = re.compile(r"kfix runbook (?:apply --plan|resume) [^\n]*?(?=   |$)", re.MULTILINE)
#: Each changes more than one thing; on KRaft every change is approved by itself.
CASES = {
    "coordinator-silent": "coordinator-not-answering",
    "coordinator-silent-kraft": "coordinator-not-answering",
    "left-over-throttles": "sweep-throttles",
    "left-over-throttles-kraft": "sweep-throttles",
    "leader-skew": "leader-balance",
    "leader-skew-kraft": "leader-balance",
}


class Shell:
    """Runs commands as they were printed, on one cluster in memory."""

    def __init__(self, incident: str, folder: Path) -> None:
        made = ALL[incident]()
        self.cluster = made.cluster
        self.behind: App = FakeWiring(made.cluster, made.finding).app(folder / "state", made.cluster.clock)

    def run(self, words: list[str]) -> Result:
        return CliRunner(env={"COLUMNS": "1000"}).invoke(app, words, obj=self.behind)

    def paste(self, printed: str) -> Result:
        program, *words = shlex.split(printed)
        assert program == "kfix"
        return self.run(words)


def printed_in(result: Result) -> str:
    """Returns the one command that the output names."""
    [command] = {found[0].strip() for found in PRINTED.finditer(result.output)}
    return command


@pytest.fixture(params=CASES)
def planned(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Shell, str]:
    shell = Shell(request.param, tmp_path)
    said = shell.run(["runbook", "plan", CASES[request.param], "--output-file", str(tmp_path / "plan.json")])
    assert said.exit_code == 0, said.output
    return shell, printed_in(said)


def test_the_command_of_a_plan_carries_it_out(planned: tuple[Shell, str]) -> None:
    shell, command = planned
    said = shell.paste(command)
    assert said.exit_code == 0, said.output
    assert "PROVED" in said.output


def test_the_command_of_an_interrupted_run_continues_it(
    planned: tuple[Shell, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is ended right before its second change; one that needs no second one is healed by then."""
    shell, command = planned
    change = Faults.changing

    def interrupted(
        faults: Faults, method: str, args: tuple[object, ...], act: Callable[[], ChangeResult]
    ) -> ChangeResult:
        if len(faults.calls) == 1:
            monkeypatch.undo()
            raise KeyboardInterrupt
        return change(faults, method, args, act)

    monkeypatch.setattr(Faults, "changing", interrupted)
    stopped = shell.paste(command)
    if len(shell.cluster.faults.calls) == 1 and stopped.exit_code == 0:
        return
    assert stopped.exit_code == 6, stopped.output
    said = shell.paste(printed_in(stopped))
    assert said.exit_code == 0, said.output
    assert "PROVED" in said.output
