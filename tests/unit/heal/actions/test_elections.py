"""Elections: who wins, what is lost, and when none is held."""

from __future__ import annotations

import pytest

from kfix.core.args import Args
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.incidents import STUCK
from kfix.heal.model.plan import CheckCall, Gate, Risk
from kfix.heal.probes.registry import ask
from tests.unit.heal.actions.acting import (
    TP,
    carry_out,
    dead_isr,
    four_brokers,
    guards_pass,
    on_tp,
    progress,
    proved,
)

UNCLEAN, PREFERRED = ACTIONS["leader.elect_unclean"], ACTIONS["leader.elect_preferred"]


def test_an_unclean_election_shows_who_wins_and_that_the_loss_is_unknown() -> None:
    cluster = dead_isr()
    args = on_tp("leader.elect_unclean", cluster, max_loss=-1)
    assert (args.number("winner"), args.number("winner_end")) == (2, 100)
    assert (args.number("lost_at_least"), args.number("lost_at_most")) == (0, -1)
    assert args.text("tails") == "2:0/100 3:0/100"
    shown = UNCLEAN.preview(args)
    assert shown.what == (
        "elect broker 2 (log end 100), which is NOT in sync, as leader of orders-0; lost forever: at least 0 "
        "acknowledged records, the upper bound is unknown"
    )
    assert shown.live == "broker 2"
    assert not shown.estimate.max_loss.startswith("none")
    assert UNCLEAN.gate_for(args) is Gate.TYPED
    assert UNCLEAN.risk is Risk.DATA_LOSS
    inverse = UNCLEAN.inverse(args)
    assert not inverse.reversible
    assert "truncates its log to that of broker 2 when it starts" in inverse.text


def test_the_winner_leads_and_what_the_dead_one_had_more_is_gone() -> None:
    cluster = dead_isr()
    args = on_tp("leader.elect_unclean", cluster, max_loss=-1)
    assert carry_out("leader.elect_unclean", args, cluster).accepted
    assert proved("leader.elect_unclean", args, cluster)
    cluster.revive(1)
    cluster.advance(1)
    assert cluster.log_ends(TP, (1,))[1].end == 100


def test_a_given_end_of_the_last_leader_bounds_the_loss() -> None:
    cluster = dead_isr()
    args = on_tp("leader.elect_unclean", cluster, max_loss=50, known_end=150, known_epoch=0)
    assert args.number("lost_at_most") == 50
    assert "at least 0 and at most 50 acknowledged records" in UNCLEAN.preview(args).estimate.max_loss
    with pytest.raises(RefusedError, match="up to 50 records may be lost, max_loss allows 49"):
        on_tp("leader.elect_unclean", cluster, max_loss=49, known_end=150, known_epoch=0)
    for epoch in (-1, 0):
        with pytest.raises(RefusedError, match="not where the last leader's log ended"):
            on_tp("leader.elect_unclean", cluster, max_loss=50, known_end=99, known_epoch=epoch)


def test_an_end_alone_or_one_of_another_epoch_bounds_nothing() -> None:
    """The winner may have records of its own, where the dead leader had others: as long is not as good."""
    cluster = dead_isr()
    with pytest.raises(RefusedError, match="known_epoch, the epoch of its last record, is not given"):
        on_tp("leader.elect_unclean", cluster, max_loss=50, known_end=150)
    with pytest.raises(RefusedError, match="is of epoch 1, the winner's of 0: the logs may differ"):
        on_tp("leader.elect_unclean", cluster, max_loss=50, known_end=150, known_epoch=1)
    args = on_tp("leader.elect_unclean", cluster, max_loss=-1, known_end=80, known_epoch=1)
    assert args.number("lost_at_most") == -1
    assert "the logs may differ" in UNCLEAN.preview(args).estimate.max_loss
    cluster.logs.epochs[TP].update({2: 3, 3: 3})
    with pytest.raises(RefusedError, match="known_epoch 1 is before the epoch 3 of broker 2"):
        on_tp("leader.elect_unclean", cluster, max_loss=-1, known_end=150, known_epoch=1)


def test_an_isr_member_whose_disk_failed_is_no_clean_winner() -> None:
    """Registered is not there: Kafka passes it over, and takes one that is not in sync."""
    incident = INCIDENTS["coordinator-stuck-of-two-replicas"]()
    cluster = incident.cluster
    args = on_tp("leader.elect_isr", cluster, partition=str(STUCK))
    assert guards_pass("leader.elect_isr", args, cluster)
    cluster.brokers[2].offline.add(STUCK)
    assert ask(CheckCall("partition_has_live_isr", Args({"partition": str(STUCK)})), cluster).passed
    assert not guards_pass("leader.elect_isr", args, cluster)


def test_an_in_sync_replica_is_elected_by_the_unclean_api_only_where_no_other_could_win() -> None:
    """Kafka passes over a broker that is being shut down, although it is registered and answers."""
    cluster = INCIDENTS["coordinator-stuck"]().cluster
    with pytest.raises(NotApplicable, match=r"outside the ISR is alive \(broker 3\) and would be elected, with a loss"):
        on_tp("leader.elect_isr", cluster, partition=str(STUCK))
    cluster.brokers[2].offline.add(STUCK)
    cluster.elect(STUCK, unclean=True)
    assert cluster.records.states[STUCK].leader == 3


def test_another_leader_is_elected_on_purpose_only_where_it_holds_all() -> None:
    cluster = four_brokers()
    args = on_tp("leader.elect_preferred", cluster, after_reorder="other-in-sync")
    carry_out("reassign.reorder", on_tp("reassign.reorder", cluster, first="other-in-sync"), cluster)
    cluster.append(TP, 5, (3,))
    assert not guards_pass("leader.elect_preferred", args, cluster)


def test_a_new_controller_takes_no_records_from_others() -> None:
    cluster = four_brokers()
    args = on_tp("controller.reelect", cluster)
    assert ACTIONS["controller.reelect"].preview(args).estimate.max_loss.startswith("none: ")
    cluster.corrupt_state(TP, leader=2, isr=(2, 3))
    assert guards_pass("controller.reelect", args, cluster)
    cluster.append(TP, 5, (1,))
    assert not guards_pass("controller.reelect", args, cluster)


def test_an_unknown_loss_is_within_no_bound() -> None:
    with pytest.raises(
        RefusedError, match="the number of lost records is unknown, so max_loss 1000 cannot be kept"
    ) as refused:
        on_tp("leader.elect_unclean", dead_isr(), max_loss=1000)
    assert "known_end" in refused.value.hint
    with pytest.raises(RefusedError, match="or -1 for any"):
        on_tp("leader.elect_unclean", dead_isr(), max_loss=-2)


def test_a_longer_log_must_be_put_first() -> None:
    cluster = dead_isr(b3=130)
    with pytest.raises(RefusedError, match=r"elect broker 2 \(log end 100, epoch 0\), but broker 3 holds more") as no:
        on_tp("leader.elect_unclean", cluster, max_loss=-1)
    assert "reassign.reorder" in no.value.hint
    args = on_tp("leader.elect_unclean", cluster, max_loss=-1, after_reorder="longest-log")
    assert (args.number("winner"), args.number("lost_at_least")) == (3, 0)
    assert not guards_pass("leader.elect_unclean", args, cluster)
    carry_out("reassign.reorder", on_tp("reassign.reorder", cluster, first="longest-log"), cluster)
    assert carry_out("leader.elect_unclean", args, cluster).accepted
    assert cluster.records.states[TP].leader == 3


def test_a_shorter_log_wins_only_where_its_broker_is_named_and_its_cost_is_shown() -> None:
    args = on_tp("leader.elect_unclean", dead_isr(b3=130), max_loss=-1, after_reorder="2")
    assert (args.number("winner"), args.number("lost_at_least")) == (2, 30)
    assert UNCLEAN.preview(args).estimate.max_loss.startswith("at least 30 acknowledged records")


def test_where_no_epoch_distinguishes_the_logs_a_person_names_the_winner() -> None:
    cluster = dead_isr(b3=130)
    cluster.logs.epochs[TP][2] = -1
    with pytest.raises(RefusedError, match="so the longest log is unknown too"):
        on_tp("leader.elect_unclean", cluster, max_loss=-1)
    args = on_tp("leader.elect_unclean", cluster, max_loss=-1, after_reorder="2")
    assert (args.number("winner"), args.number("lost_at_least")) == (2, 0)


def test_no_unclean_election_where_a_live_broker_leads_that_no_record_has_in_the_isr() -> None:
    cluster = dead_isr()
    cluster.control.lead(TP, 2, (1,))
    with pytest.raises(NotApplicable, match="has a live leader, broker 2"):
        on_tp("leader.elect_unclean", cluster, max_loss=-1)


def test_no_unclean_election_while_an_in_sync_replica_is_alive_or_none_is() -> None:
    with pytest.raises(NotApplicable, match="loses nothing"):
        on_tp("leader.elect_unclean", INCIDENTS["coordinator-stuck"]().cluster, partition=str(STUCK), max_loss=-1)
    cluster = dead_isr()
    for broker in (2, 3):
        cluster.kill(broker)
    with pytest.raises(NotApplicable, match="no election of any kind can help"):
        on_tp("leader.elect_unclean", cluster, max_loss=-1)


def test_a_live_replica_that_does_not_report_its_log_end_ends_the_planning() -> None:
    cluster = dead_isr()
    cluster.silence(3)
    with pytest.raises(UnreachableError, match="broker 3"):
        on_tp("leader.elect_unclean", cluster, max_loss=-1)


def test_an_isr_member_that_comes_back_or_a_winner_that_dies_shuts_the_guards() -> None:
    for hurt in ("revive", "kill"):
        cluster = dead_isr()
        args = on_tp("leader.elect_unclean", cluster, max_loss=-1)
        assert guards_pass("leader.elect_unclean", args, cluster)
        getattr(cluster, hurt)(1 if hurt == "revive" else 2)
        assert not guards_pass("leader.elect_unclean", args, cluster)


def test_an_isr_member_that_comes_back_behind_the_winner_shuts_the_guards() -> None:
    cluster = four_brokers()
    cluster.control.lead(TP, 3, (3,))
    cluster.kill(3)
    args = on_tp("leader.elect_unclean", cluster, max_loss=-1)
    assert guards_pass("leader.elect_unclean", args, cluster)
    cluster.revive(3)
    assert not guards_pass("leader.elect_unclean", args, cluster)


def test_another_winner_is_nothing_to_be_adopted() -> None:
    cluster = dead_isr()
    args = on_tp("leader.elect_unclean", cluster, max_loss=-1)
    far = progress("leader.elect_unclean", args, cluster)
    cluster.control.lead(TP, 3, (3,))
    assert far() is ActionStatus.UNKNOWN


def test_a_preferred_election_after_a_reorder_is_planned_for_the_new_order_and_waits_for_it() -> None:
    cluster = four_brokers()
    args = on_tp("leader.elect_preferred", cluster, after_reorder="other-in-sync")
    assert args.number("winner") == 2
    assert CheckCall("preferred_is", PREFERRED.guards(args)[1].args) in PREFERRED.guards(args)
    assert not guards_pass("leader.elect_preferred", args, cluster)
    carry_out("reassign.reorder", on_tp("reassign.reorder", cluster, first="other-in-sync"), cluster)
    assert carry_out("leader.elect_preferred", args, cluster).accepted
    assert proved("leader.elect_preferred", args, cluster)
    assert len(PREFERRED.guards(on_tp("leader.elect_preferred", four_brokers()))) == 1


def test_a_controller_that_is_gone_is_being_replaced() -> None:
    cluster = four_brokers()
    action = ACTIONS["controller.reelect"]
    args = on_tp("controller.reelect", cluster)
    cluster.faults.answer("reelect_controller", ChangeResult(0, "NONE"))
    cluster.records.controller = None
    assert action.probe(args, {}, cluster) is ActionStatus.IN_PROGRESS
