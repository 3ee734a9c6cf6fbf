"""Proof: the command of a hint works where it is given, and who follows hints comes to an end, not in a circle."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kfix.heal.model.plan import Gate
from kfix.shell.app import app
from tests.proofs.killing import EVERYWHERE, Uninterrupted, distinct
from tests.proofs.scenarios import SCENARIOS
from tests.proofs.stage import Stage
from tests.unit.heal.fake_wiring import FakeWiring

_COMMAND = re.compile(r"kfix runbook (.+?)(?=   |;|$)", re.MULTILINE)
# What is right as an end: proved, nothing to do, aborted, or refused where a person has to decide.
_LONGEST = 8
WALKED = ("ladder of two rungs", "over others' throttles", "isr dead, brought back", "unclean-election", "given moves")


class Follower:
    """Somebody without a terminal who does what the hint says, word for word."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.state = folder / "state"
        shutil.copytree(stage.store.home, self.state / "kfix", dirs_exist_ok=True)
        self.said: list[tuple[str, int, str]] = []
        at = stage.cluster.clock.at
        self.fake = FakeWiring(stage.cluster, stage.finding)
        stage.cluster.clock.at = at

    def kfix(self, command: str) -> Any:
        behind = self.fake.app(self.state, self.stage.cluster.clock)
        return CliRunner().invoke(app, ["runbook", *shlex.split(command)], obj=behind)

    def follows(self, command: str) -> None:
        """Until there is no hint any more. The same words after the same command are a circle."""
        for _ in range(_LONGEST):
            result = self.kfix(command)
            assert "Traceback" not in result.output
            assert result.exit_code not in {1, 2}, (command, result.output, self.said)
            told = (command, result.exit_code, result.stderr)
            assert told not in self.said, ("a circle", command, result.stderr, self.said)
            self.said.append(told)
            following = next_command(result.stderr)
            if result.exit_code == 0 or following is None:
                return
            command = following
        raise AssertionError(("no end", self.said))


def next_command(error: str) -> str | None:
    """Of several commands the first; words that stand for a person's own are filled in."""
    hint = error.rpartition("\n      ")[2] if "\n      " in error else ""
    found = _COMMAND.search(hint)
    if found is None or found[1].startswith("history"):
        return None
    return found[1].strip().replace("--reason TEXT", "--reason because")


@pytest.mark.parametrize("name", WALKED)
def test_who_follows_hints_after_a_kill_comes_to_an_end(name: str, tmp_path: Path) -> None:
    good = Uninterrupted(SCENARIOS[name], tmp_path)
    moments = distinct(good.moments)
    for number, moment in enumerate(moments if EVERYWHERE else moments[::4]):
        stage = good.stage.at(moment)
        follower = Follower(stage, tmp_path / f"walk-{number}")
        follower.follows(f"resume {stage.last_run.id}")


def test_who_follows_hints_after_a_kill_at_the_first_intent_heals_it(tmp_path: Path) -> None:
    """Once `resume` named `apply`, which named `resume`."""
    good = Uninterrupted(SCENARIOS["ladder of two rungs"], tmp_path)
    moment = next(m for m in good.moments if "step.intent" in m.what)
    stage = good.stage.at(moment)
    follower = Follower(stage, tmp_path / "walk")
    follower.follows(f"resume {stage.last_run.id}")
    commands = [command.partition(" ")[0] for command, _, _ in follower.said]
    assert set(commands) == {"resume"}
    assert follower.said[-1][1] == 0


@pytest.mark.parametrize("name", WALKED)
def test_who_follows_hints_from_the_plan_on_comes_to_an_end(name: str, tmp_path: Path) -> None:
    stage = Stage(SCENARIOS[name], tmp_path / "none" / "kfix")
    stage.store.runs_dir.mkdir(parents=True)
    plan = stage.plan()
    path = tmp_path / "plan.json"
    from kfix.heal.plan.planfile import write

    write(plan, path)
    follower = Follower(stage, tmp_path / "walk")
    follower.follows(f"apply --plan {path}")
    levels = {step.gate for step in plan.steps}
    if Gate.TYPED in levels:
        assert any("--ack" in command for command, _, _ in follower.said)


def test_after_steps_that_nothing_takes_back_no_rollback_is_named(tmp_path: Path) -> None:
    """An election by the no-op cannot be taken back, and is not said to be."""
    from kfix.core.errors import StoppedError

    stage = Stage(SCENARIOS["ladder of two rungs"], tmp_path / "kfix")
    stage.person.then = lambda: setattr(stage.person, "says", "y" if len(stage.person.asked) == 1 else "n")
    with pytest.raises(StoppedError) as caught:
        stage.run(stage.plan())
    assert "rollback" not in caught.value.hint
    assert "the changes cannot be reverted" in caught.value.hint
