"""`reassign.move`: what it refuses, what it shows, how far it is, and the way back."""

from __future__ import annotations

import pytest

from kfix.core.errors import RefusedError
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.actions.base import ActionStatus, Copied, NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import Gate
from kfix.heal.probes.facts import read_facts
from kfix.heal.probes.registry import ask
from tests.unit.heal.actions.acting import (
    TP,
    action_of,
    carry_out,
    dead_isr,
    four_brokers,
    guards_pass,
    moving,
    on_tp,
    progress,
    proved,
    take_back,
    undo_of,
)

MOVE, CANCEL = ACTIONS["reassign.move"], ACTIONS["reassign.cancel"]


def test_a_raise_shows_what_it_copies_how_long_it_takes_and_the_command() -> None:
    args = on_tp("reassign.move", four_brokers(), replicas=(1, 2, 3, 4), rate=1000)
    shown = MOVE.preview(args)
    assert shown.what == "orders-0: [1,2,3] -> [1,2,3,4]; copies 1 replica, 10 kB at 1 kB/s"
    assert (shown.estimate.replicas_moved, shown.estimate.bytes, shown.estimate.seconds) == (1, 10_000, 10.0)
    assert '"replicas":[1,2,3,4]' in shown.command
    assert shown.command.endswith("--throttle 1000 --execute")
    assert shown.live == "replicas 1,2,3"


def test_a_replacement_shows_what_goes_and_a_new_order_that_nothing_is_copied() -> None:
    cluster = four_brokers()
    replaced = MOVE.preview(on_tp("reassign.move", cluster, replicas=(1, 2, 4)))
    assert replaced.what.endswith("copies 1 replica, 10 kB, not throttled; removes the replica on 3")
    permuted = MOVE.preview(on_tp("reassign.move", cluster, replicas=(2, 1, 3)))
    assert permuted.what == "orders-0: [1,2,3] -> [2,1,3]; only the order changes, nothing is copied"
    assert permuted.estimate.bytes == 0


def test_an_unreported_size_is_unknown_and_any_live_replica_may_report_it() -> None:
    cluster = four_brokers()
    cluster.silence(1)
    assert on_tp("reassign.move", cluster, replicas=(1, 2, 3, 4)).number("bytes") == 10_000
    cluster.faults.unreadable["log_dirs"] = "gone"
    args = on_tp("reassign.move", cluster, replicas=(1, 2, 3, 4))
    assert args.number("bytes") == -1
    assert "size unknown" in MOVE.preview(args).what
    assert MOVE.copied(args, cluster) is None


@pytest.mark.parametrize(
    ("replicas", "reason"),
    [
        ((), "not a list of different brokers"),
        ((1, 1), "not a list of different brokers"),
        ((1, 2, 9), r"\[9\] not registered"),
    ],
)
def test_a_move_that_cannot_be_is_refused(replicas: tuple[int, ...], reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        on_tp("reassign.move", four_brokers(), replicas=replicas)


def test_a_move_to_where_the_replicas_are_or_of_what_is_being_moved_is_of_no_use() -> None:
    with pytest.raises(NotApplicable, match=r"are \[1,2,3\] already"):
        on_tp("reassign.move", four_brokers(), replicas=(1, 2, 3))
    with pytest.raises(NotApplicable, match="under way"):
        on_tp("reassign.move", moving(1, 2, 4), replicas=(1, 2))
    with pytest.raises(NotApplicable, match="no assignment"):
        on_tp("reassign.move", four_brokers(), partition="none-0", replicas=(1, 2))
    with pytest.raises(RefusedError, match="moves nothing"):
        on_tp("reassign.move", four_brokers(), replicas=(1, 2, 4), rate=-1)


def test_fewer_replicas_ask_at_the_step_and_never_stop_producers() -> None:
    cluster = four_brokers()
    assert MOVE.gate_for(on_tp("reassign.move", cluster, replicas=(1, 2))) is Gate.STEP
    assert MOVE.gate_for(on_tp("reassign.move", cluster, replicas=(4, 2, 1))) is Gate.PLAN
    cluster.alter_configs(ResourceKind.TOPIC, "orders", {"min.insync.replicas": "2"})
    with pytest.raises(RefusedError, match=r"1 replica is fewer than min\.insync\.replicas = 2"):
        on_tp("reassign.move", cluster, replicas=(1,))


def test_an_inverse_that_takes_replicas_away_leaves_enough_as_well() -> None:
    """A rollback freezes nothing: what has come about since is seen by the guard alone."""
    cluster = four_brokers()
    carry_out("reassign.move", grown := on_tp("reassign.move", cluster, replicas=(1, 2, 3, 4)), cluster)
    cluster.advance(5)
    undo = undo_of("reassign.move", grown)[1]
    assert guards_pass(undo.action, undo.args, cluster)
    cluster.alter_configs(ResourceKind.TOPIC, "orders", {"min.insync.replicas": "4"})
    assert not guards_pass(undo.action, undo.args, cluster)
    cluster.alter_configs(ResourceKind.TOPIC, "orders", {"min.insync.replicas": "1"})
    cluster.kill(3)
    assert not guards_pass(undo.action, undo.args, cluster)


def test_a_broker_without_room_gets_no_copy_and_one_that_does_not_report_its_room_does() -> None:
    cluster = four_brokers()
    args = on_tp("reassign.move", cluster, replicas=(1, 2, 3, 4))
    assert guards_pass("reassign.move", args, cluster)
    cluster.brokers[4].free = 12_000
    assert not guards_pass("reassign.move", args, cluster)
    cluster.brokers[4].free = 12_001
    assert guards_pass("reassign.move", args, cluster)


def test_to_keep_only_replicas_that_are_not_in_sync_is_refused() -> None:
    with pytest.raises(RefusedError, match="would never end"):
        on_tp("reassign.move", dead_isr(), replicas=(2, 3))


def test_a_copy_is_proved_by_its_place_in_the_isr_and_not_only_in_the_list() -> None:
    cluster = four_brokers()
    args = on_tp("reassign.move", cluster, replicas=(1, 2, 3, 4))
    carry_out("reassign.move", args, cluster)
    cluster.advance(5)
    assert proved("reassign.move", args, cluster)
    cluster.control.lead(TP, 1, (1, 2, 3))
    assert not proved("reassign.move", args, cluster)


def test_a_leader_that_moves_leaves_a_long_plan_as_it_is_and_an_added_broker_that_dies_does_not() -> None:
    cluster = four_brokers()
    args = on_tp("reassign.move", cluster, replicas=(1, 2, 3, 4))
    before = read_facts(cluster, MOVE.reads(args))
    cluster.kill(1)
    assert {k: f.value for k, f in read_facts(cluster, MOVE.reads(args)).items()} == {
        k: f.value for k, f in before.items()
    }
    assert guards_pass("reassign.move", args, cluster)
    cluster.kill(4)
    assert not guards_pass("reassign.move", args, cluster)
    assert read_facts(cluster, ["broker:4.registered"])["broker:4.registered"].value is False
    assert not all(ask(call, cluster).passed for call in MOVE.hopeless(args))


def test_a_leaderless_partition_gets_no_copies_but_another_order() -> None:
    cluster = dead_isr()
    assert not guards_pass("reassign.move", on_tp("reassign.move", cluster, replicas=(1, 2, 3, 4)), cluster)
    assert guards_pass("reassign.move", on_tp("reassign.move", cluster, replicas=(3, 2, 1)), cluster)


def test_copies_are_counted_while_they_come_and_the_undo_of_a_raise_is_kept() -> None:
    cluster = four_brokers()
    cluster.copy_seconds = 10.0
    args = on_tp("reassign.move", cluster, replicas=(1, 2, 3, 4))
    far = progress("reassign.move", args, cluster)
    assert carry_out("reassign.move", args, cluster).accepted
    cluster.advance(5)
    assert far() is ActionStatus.IN_PROGRESS
    half = MOVE.copied(args, cluster)
    assert half is not None
    assert 0 < half.done < 10_000
    cluster.advance(6)
    assert far() is ActionStatus.DONE
    assert MOVE.copied(args, cluster) == Copied(10_000, 10_000)
    inverse, undo = undo_of("reassign.move", args)
    assert undo.keep
    assert "removes the new copies on 4" in inverse.text
    assert action_of(undo).gate_for(undo.args) is Gate.STEP
    take_back("reassign.move", args, cluster)
    cluster.advance(1)
    assert cluster.records.assignments[TP].replicas == (1, 2, 3)


@pytest.mark.parametrize("replicas", [(2, 1, 3), (1, 2)])
def test_what_throws_no_good_copy_away_is_taken_back_unasked(replicas: tuple[int, ...]) -> None:
    cluster = four_brokers()
    args = on_tp("reassign.move", cluster, replicas=replicas)
    carry_out("reassign.move", args, cluster)
    cluster.advance(1)
    assert not undo_of("reassign.move", args)[1].keep
    take_back("reassign.move", args, cluster)
    cluster.advance(2)
    assert cluster.records.assignments[TP].replicas == (1, 2, 3)
    assert not cluster.reassignments()


def test_another_operators_move_is_not_this_one() -> None:
    cluster = four_brokers()
    args = on_tp("reassign.move", cluster, replicas=(1, 2, 3, 4))
    far = progress("reassign.move", args, cluster)
    cluster.copy_seconds = 60.0
    cluster.reassign(TP, (1, 2, 4))
    assert far() is ActionStatus.UNKNOWN
    assert not guards_pass("reassign.move", args, cluster)
    cluster.advance(70)
    assert far() is ActionStatus.UNKNOWN
