"""`reassign.reorder` and `reassign.cancel`: who comes first, what is thrown away, and when they are refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kfix.core.args import ABSENT, Args, ArgValue
from kfix.core.errors import RefusedError
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.model.facts import about
from kfix.heal.probes.facts import read_facts
from kfix.heal.safety.refusals import PlannedFacts
from tests.unit.heal.actions.acting import (
    RATES,
    TP,
    carry_out,
    dead_isr,
    four_brokers,
    freeze,
    guards_pass,
    moving,
    on_tp,
    progress,
    proved,
    take_back,
    undo_of,
)

REORDER, CANCEL = ACTIONS["reassign.reorder"], ACTIONS["reassign.cancel"]


def test_the_longest_log_comes_first_and_of_equals_the_first() -> None:
    cluster = dead_isr(b2=100, b3=130)
    args = on_tp("reassign.reorder", cluster, first="longest-log")
    assert args.brokers("replicas") == (3, 1, 2)
    assert REORDER.preview(args).what == (
        "orders-0: [1,2,3] -> [3,1,2]: broker 3 comes first (longest-log), nothing is copied"
    )
    carry_out("reassign.reorder", args, cluster)
    assert proved("reassign.reorder", args, cluster)
    assert cluster.records.states[TP].leader == -1
    assert on_tp("reassign.reorder", dead_isr(), first="longest-log").brokers("replicas") == (2, 1, 3)


def test_a_higher_epoch_outweighs_a_longer_log() -> None:
    cluster = dead_isr(b2=150)
    cluster.append(TP, 10, (3,), epoch=4)
    assert on_tp("reassign.reorder", cluster, first="longest-log").brokers("replicas") == (3, 1, 2)


def test_an_unknown_epoch_is_not_guessed() -> None:
    cluster = dead_isr(b3=130)
    cluster.logs.epochs[TP][3] = -1
    with pytest.raises(RefusedError, match=r"last record of \[3\] is unknown"):
        on_tp("reassign.reorder", cluster, first="longest-log")
    assert on_tp("reassign.reorder", cluster, first="3").brokers("replicas") == (3, 1, 2)


def test_the_longest_log_does_not_matter_while_a_replica_is_in_sync() -> None:
    with pytest.raises(NotApplicable, match="holds every acknowledged record"):
        on_tp("reassign.reorder", four_brokers(), first="longest-log")
    cluster = dead_isr()
    for broker in (2, 3):
        cluster.kill(broker)
    with pytest.raises(NotApplicable, match="no replica of orders-0 is alive"):
        on_tp("reassign.reorder", cluster, first="longest-log")


def test_the_isr_that_comes_back_shuts_the_guard_of_a_reorder() -> None:
    cluster = dead_isr(b3=130)
    args = on_tp("reassign.reorder", cluster, first="longest-log")
    assert guards_pass("reassign.reorder", args, cluster)
    cluster.revive(1)
    assert not guards_pass("reassign.reorder", args, cluster)


def test_another_one_in_sync_comes_first_and_the_order_is_put_back_exactly() -> None:
    cluster = four_brokers()
    args = on_tp("reassign.reorder", cluster, first="other-in-sync")
    assert args.brokers("replicas") == (2, 1, 3)
    carry_out("reassign.reorder", args, cluster)
    assert cluster.records.states[TP].leader == 1
    take_back("reassign.reorder", args, cluster)
    assert cluster.records.assignments[TP].replicas == (1, 2, 3)
    cluster.control.lead(TP, 1, (1,))
    with pytest.raises(NotApplicable, match="no replica but the leader 1"):
        on_tp("reassign.reorder", cluster, first="other-in-sync")


@pytest.mark.parametrize(
    ("first", "reason"),
    [("4", "holds no replica"), ("3", "is not registered"), ("best", "nor the id of a broker")],
)
def test_a_first_one_that_could_not_lead_is_refused(first: str, reason: str) -> None:
    cluster = four_brokers()
    cluster.kill(3)
    with pytest.raises(RefusedError, match=reason):
        on_tp("reassign.reorder", cluster, first=first)


def test_the_first_one_need_not_be_put_first() -> None:
    with pytest.raises(NotApplicable, match=r"is already first in \[1,2,3\]"):
        on_tp("reassign.reorder", four_brokers(), first="1")


def test_a_plan_made_by_hand_adds_no_replica_under_the_name_of_an_order() -> None:
    args = on_tp("reassign.reorder", four_brokers(), first="2")
    with pytest.raises(RefusedError, match="changes more than the order"):
        REORDER.guards(args.with_(replicas=(2, 4)))
    lie = args.with_(replicas=(2, 1), before=(1, 2))
    assert not guards_pass("reassign.reorder", lie, four_brokers())


def test_a_reorder_moves_the_facts_that_the_election_after_it_rests_on() -> None:
    args = on_tp("reassign.reorder", four_brokers(), first="2")
    assert {*about(TP, "assignment", "live_replicas")} <= set(REORDER.writes(args))


# -- cancel


def test_a_cancel_goes_back_and_throws_the_half_copies_away() -> None:
    cluster = moving(1, 2, 4)
    args = on_tp("reassign.cancel", cluster)
    assert args.brokers("original") == (1, 2, 3)
    assert CANCEL.preview(args).what == (
        "cancel the move of orders-0 to [1,2,4]: back to [1,2,3]; the partial copies on 4 are dropped"
    )
    assert "--cancel" in CANCEL.preview(args).command
    carry_out("reassign.cancel", args, cluster)
    assert proved("reassign.cancel", args, cluster)
    _, undo = undo_of("reassign.cancel", args)
    assert undo.keep
    take_back("reassign.cancel", args, cluster)
    assert set(cluster.reassignments()[TP].adding) == {4}


def test_nothing_under_way_is_nothing_to_cancel() -> None:
    with pytest.raises(NotApplicable, match="no reassignment of orders-0"):
        on_tp("reassign.cancel", four_brokers())


def test_a_cancel_that_leaves_no_leader_is_refused_before_and_in_the_last_second() -> None:
    """KAFKA-14424: the originals are dead, the leader is one of the added."""
    cluster = four_brokers()
    cluster.reassign(TP, (1,))
    cluster.advance(1)
    cluster.reassign(TP, (4, 3))
    cluster.brokers[3].alive = False
    cluster.advance(1)
    assert cluster.records.assignments[TP].adding == (4, 3)
    assert 4 in cluster.records.states[TP].isr
    args = on_tp("reassign.cancel", cluster)
    assert guards_pass("reassign.cancel", args, cluster)
    cluster.kill(1)
    assert cluster.records.states[TP].leader == 4
    assert not guards_pass("reassign.cancel", args, cluster)
    with pytest.raises(NotApplicable, match=r"without a leader \(KAFKA-14424\); start a broker of \[1\]"):
        on_tp("reassign.cancel", cluster)


def test_a_move_that_came_to_its_end_was_not_cancelled() -> None:
    cluster = moving(1, 2, 4)
    args = on_tp("reassign.cancel", cluster)
    far = progress("reassign.cancel", args, cluster)
    cluster.advance(120)
    assert cluster.records.assignments[TP].replicas == (1, 2, 4)
    assert far() is ActionStatus.UNKNOWN
    assert not guards_pass("reassign.cancel", args, cluster)


# -- one step after the other


def in_a_row(cluster: MemoryCluster, *steps: tuple[str, Args]) -> None:
    """As the executor goes: all facts first, then each step on facts that only the steps before it moved."""
    keys = [key for name, args in steps for key in ACTIONS[name].reads(args)]
    baseline = PlannedFacts(read_facts(cluster, keys).values())
    for name, args in steps:
        _, drifts = baseline.compare(ACTIONS[name].reads(args), cluster)
        assert not drifts, (name, drifts)
        assert carry_out(name, args, cluster).accepted
        baseline.refresh(ACTIONS[name].writes(args), cluster)


@pytest.mark.parametrize(
    ("election", "first", "args"),
    [("leader.elect_unclean", "longest-log", {"max_loss": -1}), ("leader.elect_preferred", "other-in-sync", {})],
)
def test_an_election_follows_its_reorder_without_a_stale_fact(
    election: str, first: str, args: Mapping[str, ArgValue]
) -> None:
    cluster = dead_isr(b3=130) if election == "leader.elect_unclean" else four_brokers()
    reorder = on_tp("reassign.reorder", cluster, first=first)
    elect = on_tp(election, cluster, **args, after_reorder=first)
    in_a_row(cluster, ("reassign.reorder", reorder), (election, elect))
    assert cluster.records.states[TP].leader == reorder.brokers("replicas")[0]


def test_a_throttle_is_restored_without_a_stale_fact() -> None:
    cluster = four_brokers()
    rate = freeze("throttle.rate", cluster, broker=2, rate=1000)
    restore = freeze("throttle.restore", cluster, kind="broker", name="2", leader=ABSENT, follower=ABSENT)
    in_a_row(cluster, ("throttle.rate", rate), ("throttle.restore", restore))
    assert not cluster.configs(ResourceKind.BROKER, "2", RATES)
