"""One run whose process is killed before and after each record that its journal has not yet, until it is proved."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.remedy import Operator, Planned, Ran
from tests.matrix.remedies import waits_for_a_person
from tests.waiting import seconds

DRIVER = Path(__file__).parent.parent / "cluster" / "killed.py"
_KILLED = -9
#: A resumed run waits for up to 67 s for a change that may still arrive (docs/runbooks.md).
_PROCESS_SECONDS = 240.0


@dataclass(frozen=True)
class Deaths:
    """What a run came to: how often its process died, and how many records its journal has at the end."""

    deaths: int
    records: int


def killed_everywhere(operator: Operator, planned: Planned, act: Callable[[], None] | None) -> Deaths:
    """Carries out a plan; `act` is what a person does when the run waits for one.

    Raises AssertionError if a process ends otherwise than by its death or a proof, or a change was made twice.
    """
    answers = planned.answers("step", typed=True)
    words: tuple[object, ...] = ("runbook", "apply", "--plan", planned.path, *answers)
    deaths, before, person = 0, False, _Person(act)
    while (code := _one_process(operator, planned, "-new" if before else "new", words, person)) == _KILLED:
        deaths, before = deaths + 1, not before
        if operator.ran(planned).end:  # it died right after the last record
            code = 0
            break
        words = ("runbook", "resume", operator.ran(planned).id, *answers)
    run = operator.ran(planned)
    assert (code, run.end) == (0, "proved"), f"exit code {code}, outcome {run.end!r} after {deaths} deaths"
    made_once(run)
    return Deaths(deaths, len(run.records))


def made_once(run: Ran) -> None:
    for name in {record["step"] for record in run.of("step.intent")}:
        made = [r for r in run.of("step.result") if r["step"] == name and r["changed"]]
        assert len(made) <= 1, f"{name} was made {len(made)} times"


@dataclass
class _Person:
    act: Callable[[], None] | None
    acted: bool = False

    def look(self, run: Ran) -> None:
        if self.act is not None and not self.acted and waits_for_a_person(run):
            self.acted = True
            self.act()


def _one_process(operator: Operator, planned: Planned, point: str, words: tuple[object, ...], person: _Person) -> int:
    out = operator.folder / f"death-{time.monotonic_ns()}.out"
    env = os.environ | {"KFIX_STATE_HOME": str(operator.home), "NO_COLOR": "1", "COLUMNS": "120"}
    with out.open("w") as file:
        command = [sys.executable, str(DRIVER), point, *map(str, (*words, *operator.where))]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env)
    ends = time.monotonic() + seconds(_PROCESS_SECONDS)
    while process.poll() is None:
        if time.monotonic() > ends:
            process.kill()
            process.wait()
            raise AssertionError(f"a process has not ended: {out.read_text()[-600:]}")
        if runs := [run for run in operator.runs() if planned.short in run.id and (run.path / "plan.json").exists()]:
            person.look(runs[-1])
        time.sleep(0.1)
    said = out.read_text()
    assert process.returncode in {0, _KILLED}, f"exit code {process.returncode}: {said[-600:]}"
    assert "Traceback" not in said, said
    return process.returncode
