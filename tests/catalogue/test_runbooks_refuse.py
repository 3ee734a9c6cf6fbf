"""What shipped runbooks must not do: each of these once cost records, copies or producers in a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kfix.core.args import Args, ArgValue
from kfix.core.errors import KfixError, RefusedError
from kfix.core.snapshot.reading import ChangeResult, ResourceKind
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.incidents.prepared import PreparedIncident, found, requested
from kfix.heal.model.plan import OnFailure, Plan
from kfix.heal.planning.planner import make_plan
from kfix.heal.runbook.placements import PlacementInput
from tests import shipped
from tests.unit.heal.stage import Stage, created

PAY = TopicPartition("pay", 0)


class Book(Stage):
    """A stage for any runbook and any cluster: those that place replicas look at all of it."""

    def __init__(self, incident: PreparedIncident, runbook: str, tmp: Path) -> None:
        super().__init__("healthy", tmp, runbook="controller-reelect")
        self.cluster, self.finding, self.runbook = incident.cluster, incident.finding, shipped.runbook(runbook)

    def made(self, **params: ArgValue) -> Plan:
        now = created(self.cluster.clock.now())
        look = PlacementInput(self.cluster.snapshot())
        plan = make_plan(
            self.runbook, self.finding, self.cluster, created=now, params=Args(params), placement_input=look
        )
        assert isinstance(plan, Plan)
        return plan

    def ends(self, tp: TopicPartition) -> list[int]:
        found = self.cluster.logs.ends[tp]
        return [found[b].end for b in sorted(found)]

    def refused(self, plan: Plan, match: str) -> None:
        with pytest.raises(KfixError, match=match):
            self.run(plan)


def short_heir(cluster: MemoryCluster, order: tuple[int, ...] = (3, 1, 2)) -> None:
    """All follow broker 3, who has 500 records more than broker 1, whom ZooKeeper names."""
    cluster.add_partition(PAY, order)
    if order[0] != 3:
        cluster.control.lead(PAY, 3, (1, 2, 3))
    cluster.corrupt_state(PAY, leader=1, isr=(1, 2))
    cluster.append(PAY, 500, (3,))


def test_another_partitions_records_are_not_traded_for_this_ones(tmp_path: Path) -> None:
    book = Book(INCIDENTS["metadata-divergence"](), "metadata-divergence", tmp_path)
    short_heir(book.cluster)
    book.cluster.faults.answer("reassign", ChangeResult(0, "NONE"))
    with pytest.raises(KfixError):
        book.run(book.made())
    book.cluster.advance(5)
    assert "reelect_controller" not in book.methods()
    assert book.ends(PAY) == [100, 100, 600]
    assert any("reelection_is_safe" in str(r) and "pay-0" in str(r) for r in book.records)


def test_a_controller_is_not_elected_where_some_partition_pays_for_it(tmp_path: Path) -> None:
    book = Book(INCIDENTS["healthy"](), "controller-reelect", tmp_path)
    short_heir(book.cluster)
    book.refused(book.made(), "reelection_is_safe.*pay-0: broker 1 ends at 100, broker 3 at 600")
    assert book.methods() == []


def test_leaders_are_given_back_only_where_all_agree_who_leads(tmp_path: Path) -> None:
    cluster = MemoryCluster.healthy(3, topics={"other": 3})
    short_heir(cluster, (2, 3, 1))
    book = Book(PreparedIncident(cluster, requested("cluster", ())), "leader-balance", tmp_path)
    with pytest.raises(KfixError, match="views_agree"):
        book.run(book.made())
    assert book.ends(PAY) == [100, 100, 600]


@pytest.mark.parametrize("phantom", [False, True])
def test_a_coordinator_is_not_nudged_into_losing_commits(phantom: bool, tmp_path: Path) -> None:
    """By a leader that ZooKeeper alone knows, or by one that all name and nobody told."""
    incident = INCIDENTS["coordinator-silent" if phantom else "metadata-divergence"]()
    cluster, [tp] = incident.cluster, incident.finding.partitions
    leader = next(b.id for b in cluster.brokers.values() if b.id != cluster.records.states[tp].leader)
    cluster.append(tp, 500, (3 if not phantom else leader,))
    book = Book(PreparedIncident(cluster, found("KFX106", str(tp), (tp,))), "coordinator-not-answering", tmp_path)
    before = book.ends(tp)
    book.refused(book.made(settle=1.0), "isr_holds_leader_log")
    assert book.methods() == []
    assert book.ends(tp) == before


def test_to_raise_never_lowers(tmp_path: Path) -> None:
    cluster = MemoryCluster.healthy(4, topics={"orders": 3})
    tps = tuple(sorted(cluster.records.assignments))
    book = Book(PreparedIncident(cluster, requested("orders", tps)), "raise-topic-rf", tmp_path)
    with pytest.raises(RefusedError, match=r"up to 3 replicas already, more than 2.*move-replicas"):
        book.made(topic="orders", rf=2)


def test_a_broker_that_is_merely_down_keeps_its_replicas(tmp_path: Path) -> None:
    book = Book(INCIDENTS["broker-ids-gone-another-dead"](), "replace-broker", tmp_path)
    for renamed in ("2=4", ""):
        moves = [s.args for s in book.made(renamed=renamed).steps if s.action == "reassign.move"]
        assert moves
        assert all((3 in m.brokers("before")) == (3 in m.brokers("replicas")) for m in moves)
    book.cluster.revive(3)
    with pytest.raises(RefusedError, match="broker 3 is alive under its own id"):
        book.made(renamed="3=4")


def test_of_several_moves_those_that_can_be_cancelled_are(tmp_path: Path) -> None:
    book = Book(INCIDENTS["stuck-reassignment-two"](), "cancel-reassignment", tmp_path)
    [skipped] = book.made().skipped_at_plan
    assert skipped.step == "cancel:orders-1"
    assert "KAFKA-14424" in skipped.reason


def lose_replicas(book: Book) -> None:
    book.cluster.kill(2)
    book.cluster.kill(3)


def set_by_somebody(book: Book) -> None:
    book.cluster.settings.alter(ResourceKind.TOPIC, "orders", {"min.insync.replicas": "3"})


@pytest.mark.parametrize(("hurt", "says"), [(lose_replicas, "topic_isr_at_least"), (set_by_somebody, "config_is")])
def test_what_is_to_protect_producers_does_not_stop_them(
    hurt: Callable[[Book], None], says: str, tmp_path: Path
) -> None:
    book = Book(INCIDENTS["weak-topic-rf3"](), "durable-defaults", tmp_path)
    plan = book.made(topic="orders")

    def then(record: Mapping[str, Any]) -> None:
        if (record["type"], record.get("step")) == ("step.verified", "no-unclean"):
            hurt(book)

    with pytest.raises(KfixError, match=says):
        book.run(plan, approve=[f"step:{plan.short_id}"], listener=then)
    assert book.cluster.records.topic_configs["orders"].get("min.insync.replicas") != "2"


def test_no_shipped_step_is_taken_back_unattended_by_a_change_that_must_be_typed() -> None:
    rolling = [s for r in shipped.runbooks().values() for s in r.steps if s.on_failure is OnFailure.ROLLBACK]
    assert "config.set" not in {s.action for s in rolling}
