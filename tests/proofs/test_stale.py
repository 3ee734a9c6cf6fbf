"""Proof: stale means that the cluster has changed. Whatever a plan rests on, changed, is refused by its name."""

# ruff: noqa: PT017 - whether it is refused, and what it then says, depends on the case
from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kfix.core.errors import KfixError, RefusedError
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.memory.kraft import MemoryKraftCluster
from kfix.heal.model.facts import (
    CLUSTER_FACTS,
    PARTITION_FACTS,
    about,
    about_brokers,
    about_cluster,
    about_config,
    about_effective,
    about_registration,
    show_value,
    split_key,
)
from kfix.heal.model.plan import Plan, PlannedStep
from kfix.heal.plan.planfile import from_json, seal, to_json
from kfix.heal.probes.facts import read_facts
from tests.proofs.mutations import KINDS, WAYS, kind_of
from tests.proofs.scenarios import SCENARIOS, Scenario
from tests.proofs.stage import Stage

#: One worker has the runs of all of them.
pytestmark = pytest.mark.xdist_group("stale")

WIDE = "every kind of fact, "
#: A partition without a leader has eligible leader replicas on KRaft.
WITHOUT_LEADER = next(name for name, each in SCENARIOS.items() if each.incident == "eligible-waits-last-leader-back")
#: A dead broker may be started without a precondition that names it.
WITH_A_DEAD_ONE = "cancel-reassignment: on KRaft a move to a dead broker is cancelled"
#: Every node of a KRaft cluster answers.
WHOLE = "durable-defaults: both keys are set on KRaft"
ALL = (*SCENARIOS, *(f"{WIDE}{name}" for name in ("coordinator-stuck", WITHOUT_LEADER, WITH_A_DEAD_ONE, WHOLE)))


#: Facts that a node which does not answer leaves unknown.
_OF_EVERY_NODE = {"metadata_version", "supported_metadata_version"}
#: Facts that a cluster with ZooKeeper has not.
_OF_KRAFT = {"applied", "partitions", "voters", "joining", *_OF_EVERY_NODE}


def test_every_kind_of_fact_has_a_way_to_change() -> None:
    assert WAYS.keys() == KINDS


def widened(plan: Plan, stage: Stage) -> Plan:
    """The same plan, resting on a fact of every kind: a site's actions and probes may name any of them."""
    tp = plan.finding.partitions[0]
    broker = min(stage.cluster.brokers.values(), key=lambda b: (b.alive, b.id)).id
    topic = (ResourceKind.TOPIC, tp.topic, "min.insync.replicas")
    # Without a leader, the log is not read.
    asked = [name for name in PARTITION_FACTS if name not in {"load_conflicts", "hanging"}]
    kraft = isinstance(stage.cluster, MemoryKraftCluster)
    unknown = _OF_KRAFT
    if kraft:
        unknown = _OF_EVERY_NODE if any(each.error for each in stage.cluster.metadata_levels().values()) else set()
    of_cluster = [name for name in CLUSTER_FACTS if name not in unknown]
    keys = (*about(tp, *asked), *about_cluster(*of_cluster), *about_brokers(broker))
    keys += (*about_config(*topic), *about_effective(*topic))
    if kraft:
        keys += (*about_registration(broker), *about_brokers(broker, name="runs"))
    have = {fact.key for fact in plan.facts}
    more = read_facts(stage.cluster, [key for key in keys if key not in have])
    steps = tuple(replace(s, pre=(*s.pre, *more)) for s in plan.steps)
    return from_json(to_json(seal(replace(plan, facts=(*plan.facts, *more.values()), steps=steps))), "widened")


@cache
def refused(name: str) -> tuple[dict[str, set[str]], int]:
    """Changes each fact of a scenario's plan in each way. Returns (keys refused by name, by kind; number of runs)."""
    scenario: Scenario = SCENARIOS[name.removeprefix(WIDE)]
    by_name: dict[str, set[str]] = defaultdict(set)
    runs = 0
    with TemporaryDirectory() as folder:
        base = Stage(scenario, Path(folder) / "none" / "kfix")
        base.store.runs_dir.mkdir(parents=True)
        plan = widened(base.plan(), base) if name.startswith(WIDE) else base.plan()
        start = base.moment(Path(folder) / "start", "the plan was made")
        for fact in plan.facts:
            for way in WAYS[kind_of(fact.key)]:
                stage = base.at(start)
                way(stage.cluster, split_key(fact.key))
                try:
                    now = read_facts(stage.cluster, [fact.key])[fact.key].value
                except KfixError:
                    continue
                if now == fact.value:
                    continue
                runs += 1
                said = _run(stage, plan, f"{name}: {fact.key} by {way.__name__}")
                row = [fact.key, show_value(fact.value), show_value(now)]
                if any(line.split() == " ".join(row).split() for line in said.splitlines()):
                    by_name[kind_of(fact.key)].add(fact.key)
    return by_name, runs


def _run(stage: Stage, plan: Plan, what: str) -> str:
    try:
        healed = stage.run(plan)
    except RefusedError as error:
        assert error.exit_code == 3, what
        assert "nothing was changed" in str(error), what
        assert stage.person.asked == [], what
        said = str(error)
    else:
        assert healed.outcome == "already_healthy", what
        said = ""
    assert stage.calls == [], what
    return said


@pytest.mark.parametrize("name", ALL)
def test_a_changed_fact_is_never_acted_on(name: str) -> None:
    _, runs = refused(name)
    assert runs or SCENARIOS[name].at_the_gate is not SCENARIOS["raise-topic-rf"].at_the_gate


def test_every_kind_of_fact_is_refused_by_its_name_at_least_once() -> None:
    found = {kind for name in ALL for kind in refused(name)[0]}
    assert found == KINDS


def changes(step: PlannedStep) -> bool:
    return ACTIONS[step.action].changes


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_plan_that_touches_a_topic_rests_on_how_many_partitions_it_has(name: str, tmp_path: Path) -> None:
    stage = Stage(SCENARIOS[name], tmp_path / "kfix")
    plan = stage.plan()
    touched = {step.args.tp().topic for step in plan.steps if "partition" in step.args and changes(step)}
    rests_on = {fact.key for fact in plan.facts}
    assert {f"{topic}-0.partition_count" for topic in touched} <= rests_on
    if touched:
        growing = min(touched)
        stage.cluster.records.assignments[TopicPartition(growing, 999)] = Assignment((1,))
        with pytest.raises(RefusedError, match=rf"{growing}-0.partition_count|is now on {growing}-\d"):
            stage.run(plan)
        assert stage.calls == []
