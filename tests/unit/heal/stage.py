"""A stage for runbook tests: an incident on the in-memory cluster, a plan, a human with prepared answers, a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kfix import __version__
from kfix.core.args import Args
from kfix.heal.execution.context import Context, RunResult
from kfix.heal.execution.run import run_plan
from kfix.heal.gate.gates import Given, parse_given
from kfix.heal.journal.runs import RunDir, RunStore
from kfix.heal.memory.incidents import ALL
from kfix.heal.memory.incidents.prepared import PreparedIncident
from kfix.heal.model.plan import Created, Plan
from kfix.heal.plan import planfile
from kfix.heal.planning.planner import AlreadyMet, make_plan
from kfix.heal.policy import NO_POLICY
from kfix.heal.runbook.placements import PlacementInput
from kfix.heal.safety.door import Door
from tests import shipped

#: How long a person takes for each answer.
READS_SECONDS = 5.0
CODES_TO_RUNBOOKS = {
    "KFX101": "coordinator-stuck",
    "KFX102": "coordinator-stuck",
    "KFX201": "metadata-divergence",
    "KFX301": "under-min-isr",
}


@dataclass
class Answers:
    """Gives prepared answers, then the end of input. `then` runs while the human thinks; `reads` takes their time."""

    answers: list[str] = field(default_factory=list)
    interactive: bool = True
    shown: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    then: Callable[[], None] = lambda: None
    reads: Callable[[], None] = lambda: None

    def show(self, text: str) -> None:
        self.shown.append(text)

    def ask(self, prompt: str, within: float | None = None) -> str | None:
        self.asked.append(prompt)
        self.reads()
        self.then()
        return self.answers.pop(0) + "\n" if self.answers else None


def created(now: float) -> Created:
    return Created(at=now, by="tester", host="testhost", kfix=__version__)


class Stage:
    def __init__(self, incident: str, tmp: Path, *, runbook: str = "") -> None:
        self.incident: PreparedIncident = ALL[incident]()
        self.cluster = self.incident.cluster
        self.finding = self.incident.finding
        self.store = RunStore(tmp / "state" / "kfix")
        self.runbook = shipped.runbook(runbook or CODES_TO_RUNBOOKS[self.finding.code])
        self.records: list[dict[str, Any]] = []
        self.human = Answers(["y"] * 20)

    def plan(self, params: Args | None = None) -> Plan:
        now = self.cluster.clock.now()
        look = PlacementInput(self.cluster.snapshot()) if self.runbook.placement is not None else None
        made = make_plan(
            self.runbook, self.finding, self.cluster, created=created(now), params=params, placement_input=look
        )
        assert not isinstance(made, AlreadyMet)
        return made

    def run(
        self, plan: Plan | None = None, *, approve: Iterable[str] = (), acks: Iterable[str] = (), **more: Any
    ) -> RunResult:
        plan = plan or self.plan()
        self.human.reads = lambda: self.cluster.clock.sleep(READS_SECONDS)
        given = parse_given(approve, acks, plan) if (approve or acks) else Given()
        return run_plan(plan, self.context(**{"given": given, **more}))

    def context(self, **more: Any) -> Context:
        context = Context(
            reader=self.cluster,
            door=Door(self.cluster, NO_POLICY, tuple, self.cluster.clock),
            clock=self.cluster.clock,
            store=self.store,
            human=self.human,
            lock=self.cluster.lock,
            listener=lambda record: self.records.append(dict(record)),
        )
        return replace(context, **more)

    @property
    def last_run(self) -> RunDir:
        return list(self.store.runs())[-1]

    def journal(self) -> list[dict[str, Any]]:
        text = self.last_run.journal_path.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def types(self) -> list[str]:
        return [record["type"] for record in self.journal()]

    def methods(self) -> list[str]:
        return [call.method for call in self.cluster.faults.calls]


def reseal(plan: Plan, **changes: Any) -> Plan:
    """The plan with something changed, under a hash of its own: as a forger would make it."""
    return planfile.seal(replace(plan, **changes))


def leave_stuck(stage: Stage, method: str, times: int = 1) -> None:
    """The next changes of a kind are accepted and do nothing, as B7 knows them."""
    from kfix.core.snapshot.reading import ChangeResult

    for _ in range(times):
        stage.cluster.faults.answer(method, ChangeResult(0, "NONE"))
