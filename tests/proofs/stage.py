"""A stage for the proofs: plans a scenario, runs it, stops it at any moment, resumes it and compares the results."""

from __future__ import annotations

import copy
import itertools
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kfix import __version__
from kfix.core.ports import ClusterChanger
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.execution.context import Context, RunResult
from kfix.heal.execution.run import resume, run_or_roll_back
from kfix.heal.gate.gates import Given
from kfix.heal.journal.runs import RunDir, RunStore
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.faults import Call
from kfix.heal.model.plan import Created, Gate, Plan
from kfix.heal.planning.planner import AlreadyMet, make_plan
from kfix.heal.planning.values import parse_params
from kfix.heal.policy import NO_POLICY
from kfix.heal.rollback import make_rollback
from kfix.heal.runbook.placements import PlacementInput
from kfix.heal.safety.door import Door
from tests.proofs.calls import expected_call
from tests.proofs.scenarios import RUNBOOKS, Scenario

#: How long a person takes for each answer.
READS_SECONDS = 5.0
_NUMBERS = itertools.count()
_PHRASE = re.compile(r"^type  (.+)  to continue ")


@dataclass
class Person:
    """Says yes, types what is asked for, and does what it is told to do. `then` runs while it thinks.

    `interrupted` is what it says to a run that it interrupted while replicas are copied.
    """

    cluster: MemoryCluster
    does: Callable[[MemoryCluster], None]
    interactive: bool = True
    shown: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    says: str = "y"
    interrupted: str | None = "u"
    reads: float = READS_SECONDS
    then: Callable[[], None] = lambda: None

    def show(self, text: str) -> None:
        self.shown.append(text)

    def ask(self, prompt: str, within: float | None = None) -> str | None:
        self.asked.append(prompt)
        self.cluster.clock.sleep(self.reads)
        self.then()
        if self.shown and "manual" in self.shown[-1]:
            self.does(self.cluster)
        if prompt.startswith("[Enter]"):
            return self.interrupted
        phrase = _PHRASE.match(prompt)
        return phrase[1] if phrase and self.says == "y" else self.says


@dataclass(frozen=True)
class Moment:
    """The world at one instant: the cluster, and what a process that died just then left on the disk."""

    cluster: MemoryCluster
    home: Path
    what: str


def copied(cluster: MemoryCluster) -> MemoryCluster:
    """A copy that shares what nobody can change."""
    records, brokers, logs = cluster.records, cluster.brokers.values(), cluster.logs
    tables: list[Mapping[Any, Any]] = [records.assignments, records.states]
    tables += [*(b.views for b in brokers), *logs.ends.values()]
    keyed: list[Mapping[Any, Any]] = [*tables, logs.ends, logs.epochs, cluster.control.memory]
    keyed += [b.leading for b in brokers]
    frozen = [v for t in tables for v in t.values()] + [k for t in keyed for k in t] + cluster.faults.calls
    return copy.deepcopy(cluster, {id(thing): thing for thing in frozen})


class Stage:
    def __init__(self, scenario: Scenario, home: Path) -> None:
        self.scenario = scenario
        incident = scenario.begin()
        self.cluster, self.finding, self.offsets = incident.cluster, incident.finding, incident.offsets
        self.store = RunStore(home)
        self.runbook = RUNBOOKS[scenario.runbook]
        self.person = Person(self.cluster, scenario.at_the_gate)
        self.records: list[dict[str, Any]] = []
        self.listeners: list[Callable[[Mapping[str, Any]], None]] = [lambda r: self.records.append(dict(r))]

    # -- planning and running

    def created(self) -> Created:
        return Created(self.cluster.clock.now(), "tests", "tests", __version__)

    def plan(self, **params: object) -> Plan:
        made = self.plan_or_met(**params)
        assert not isinstance(made, AlreadyMet), made
        return made

    def plan_or_met(self, **params: object) -> Plan | AlreadyMet:
        given = {**self.scenario.params, **params}
        args = parse_params(self.runbook, {k: str(v).lower() if v is True else str(v) for k, v in given.items()})
        look = PlacementInput(self.cluster.snapshot(), self.scenario.moves, self.offsets)
        return make_plan(
            self.runbook, self.finding, self.cluster, created=self.created(), params=args, placement_input=look
        )

    def scene_of_run(self, changer: ClusterChanger | None = None, **more: Any) -> Context:
        """`changer` stands before the cluster's own."""
        cluster = self.cluster
        made = Context(
            cluster,
            Door(changer or cluster, NO_POLICY, tuple, cluster.clock),
            cluster.clock,
            self.store,
            self.person,
            lock=cluster.lock,
            listener=self._told,
        )
        return replace(made, **more)

    def _told(self, record: Mapping[str, Any]) -> None:
        for listener in self.listeners:
            listener(record)

    def run(self, plan: Plan, **more: Any) -> RunResult:
        return run_or_roll_back(plan, self.scene_of_run(**more))

    def resume(self, *did: str, **more: Any) -> RunResult:
        return resume(self.last_run, self.scene_of_run(**more), did)

    def roll_back(self, run: RunDir | None = None, *, everything: bool = True) -> tuple[Plan, RunResult]:
        plan = make_rollback(run or self.last_run, self.cluster, self.created(), everything=everything)
        return plan, run_or_roll_back(plan, self.scene_of_run())

    def flags(self, plan: Plan) -> Given:
        return Given(Gate.STEP, {s.id: s.phrase for s in plan.steps if s.gate is Gate.TYPED}, "somebody")

    # -- what came of it

    @property
    def last_run(self) -> RunDir:
        return list(self.store.runs())[-1]

    @property
    def calls(self) -> list[Call]:
        return self.cluster.faults.calls

    def journal(self, run: RunDir | None = None) -> list[dict[str, Any]]:
        text = (run or self.last_run).journal_path.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    # -- moments

    def moment(self, home: Path, what: str) -> Moment:
        """A process killed by -9 leaves its files and its calls; both of its locks are let go by others."""
        shutil.copytree(self.store.home, home)
        cluster = copied(self.cluster)
        cluster.lock.holder, cluster.lock._ours = None, False
        return Moment(cluster, home, what)

    def at(self, moment: Moment) -> Stage:
        """A stage that goes on from there; the moment itself stays as it is."""
        other = copy.copy(self)
        other.cluster = copied(moment.cluster)
        home = moment.home.with_name(f"{moment.home.name}-{next(_NUMBERS)}")
        shutil.copytree(moment.home, home)
        other.store = RunStore(home)
        other.person = Person(other.cluster, self.scenario.at_the_gate)
        other.records = []
        other.listeners = []
        return other


@dataclass(frozen=True)
class World:
    """What a run is to bring about and a rollback to take back. Epochs, versions and times are left out."""

    assignments: Mapping[TopicPartition, tuple[object, ...]]
    leading: Mapping[TopicPartition, object]
    topics: Mapping[str, Mapping[str, str]]
    brokers: Mapping[int, Mapping[str, str]]


def world(cluster: MemoryCluster) -> World:
    cluster.advance(0.6)
    records = cluster.records
    return World(
        {tp: (a.replicas, a.adding, a.removing) for tp, a in records.assignments.items()},
        {tp: (s.leader in cluster.control.live, s.leader in s.isr, sorted(s.isr)) for tp, s in records.states.items()},
        {topic: dict(found) for topic, found in records.topic_configs.items() if found},
        {b.id: dict(b.configs) for b in cluster.brokers.values()},
    )


def planned_calls(plan: Plan) -> Counter[Call]:
    return Counter(call for step in plan.steps if (call := expected_call(step)) is not None)


def too_often(calls: Iterable[Call], plan: Plan) -> Counter[Call]:
    """Calls beyond those of the plan: unplanned ones, and planned ones issued again."""
    return Counter(calls) - planned_calls(plan)
