"""What shipped runbooks require before they plan, and what they take for proof: each of these protects records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kfix.core.args import ArgValue
from kfix.core.errors import RefusedError
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.model.answer import Verdict
from kfix.heal.safety.outcomes import Outcome
from kfix.heal.safety.proof import sample, verdict_of
from tests import shipped
from tests.catalogue.test_runbooks_refuse import Book
from tests.each import for_each

OTHER = TopicPartition("other", 0)
Change = Callable[[MemoryCluster, TopicPartition], object]


def book(runbook: str, incident: str, folder: Path) -> Book:
    return Book(INCIDENTS[incident](), runbook, folder)


def loses_its_leader(cluster: MemoryCluster, tp: TopicPartition) -> None:
    cluster.records.states[tp] = cluster.records.states[tp]._replace(leader=-1)


def is_in_sync_alone(cluster: MemoryCluster, tp: TopicPartition) -> None:
    state = cluster.records.states[tp]
    cluster.records.states[tp] = state._replace(isr=(state.leader,))


def is_recorded_otherwise(cluster: MemoryCluster, tp: TopicPartition) -> None:
    state = cluster.records.states[tp]
    other = next(broker for broker in cluster.records.assignments[tp].replicas if broker != state.leader)
    cluster.corrupt_state(tp, leader=other, isr=(other,))


def is_being_moved(cluster: MemoryCluster, tp: TopicPartition) -> None:
    now = cluster.records.assignments[tp].replicas
    cluster.records.assignments[tp] = Assignment((*now, 9), adding=(9,))


def another_is_being_moved(cluster: MemoryCluster, _: TopicPartition) -> None:
    cluster.add_partition(OTHER, (1, 3))
    is_being_moved(cluster, OTHER)


def its_isr_is_alive(cluster: MemoryCluster, tp: TopicPartition) -> None:
    for broker in cluster.records.states[tp].isr:
        cluster.brokers[broker].alive = True


@for_each(
    ("runbook", "incident", "params", "change", "why"),
    [
        ("under-min-isr", "under-min-isr", {}, loses_its_leader, "partition_has_leader"),
        ("unclean-election", "isr-gone", {"max_loss": -1}, its_isr_is_alive, "isr_is_dead"),
        ("unclean-election", "isr-gone", {"max_loss": -1}, is_being_moved, "no_reassignment"),
        ("replace-broker", "broker-ids-gone", {"renamed": "2=4"}, another_is_being_moved, "no_foreign_reassignment"),
    ],
)
def test_a_cluster_in_another_state_is_not_planned_for(
    tmp_path: Path, runbook: str, incident: str, params: dict[str, ArgValue], change: Change, why: str
) -> None:
    assert book(runbook, incident, tmp_path / "before").made(**params).steps
    changed = book(runbook, incident, tmp_path / "after")
    change(changed.cluster, changed.finding.partitions[0])
    with pytest.raises(RefusedError, match=why):
        changed.made(**params)


@for_each(
    ("runbook", "incident", "params", "change"),
    [
        ("coordinator-stuck", "coordinator-stuck", {}, is_recorded_otherwise),
        ("coordinator-stuck", "coordinator-stuck", {}, loses_its_leader),
        ("cancel-reassignment", "stuck-reassignment", {}, loses_its_leader),
        ("cancel-reassignment", "stuck-reassignment", {}, is_being_moved),
        ("replace-broker", "broker-ids-gone", {"renamed": "2=4"}, is_in_sync_alone),
    ],
)
def test_what_was_proved_is_proved_no_more_once_the_partition_is_worse(
    tmp_path: Path, runbook: str, incident: str, params: dict[str, ArgValue], change: Change
) -> None:
    stage = book(runbook, incident, tmp_path)
    plan = stage.made(**params)
    assert stage.run(plan).outcome is Outcome.PROVED
    assert verdict_of(sample(plan.goal.checks, stage.cluster)) is Verdict.PASS
    change(stage.cluster, stage.finding.partitions[0])
    assert verdict_of(sample(plan.goal.checks, stage.cluster)) is not Verdict.PASS


def test_no_runbook_is_proved_by_one_good_sample() -> None:
    assert {name for name, each in shipped.runbooks().items() if each.goal.consecutive < 3} == set()


def test_min_isr_that_was_lowered_is_reported_until_it_is_normal_again(tmp_path: Path) -> None:
    stage = book("under-min-isr", "under-min-isr", tmp_path)
    [low] = stage.made(relax_to=1, normal=2).standing
    assert (low.args.text("key"), low.args.text("value")) == ("min.insync.replicas", "2")
    assert stage.made().standing == ()


def test_partitions_without_any_copy_are_left_out_only_on_request(tmp_path: Path) -> None:
    stage = book("replace-broker", "broker-ids-gone", tmp_path)
    lost = stage.finding.partitions[0]
    loses_its_leader(stage.cluster, lost)
    with pytest.raises(RefusedError, match=f"{lost}: no leader, so there is nothing to copy from"):
        stage.made(renamed="2=4")
    moves = [step for step in stage.made(renamed="2=4", without_copy="leave").steps if step.action == "reassign.move"]
    assert moves
    assert str(lost) not in {step.target for step in moves}
