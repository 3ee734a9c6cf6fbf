"""Signs of a cut network, each by itself: two leaders, dropped replicas, old metadata, invisible records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.derive.isolation import Gap, gaps_of, losses_of, stale_of, stuck_of, two_leaders
from kfix.core.snapshot.snapshot import EpochEnd, LogEnd, Sample, Snapshot, TopicPartition
from tests.unit.diagnostics.build import NOW, Paper

ORDERS = TopicPartition("orders", 0)  # replicas 1, 2, 3; led by broker 1


def cluster() -> Paper:
    return Paper().topic("orders", 1)


def with_isr(*isr: int, age: float = 300.0) -> Paper:
    paper = cluster()
    paper.part("orders", 0).isr = isr
    paper.part("orders", 0).age = age
    return paper


def ends(snapshot: Snapshot, now: dict[int, int], *samples: tuple[float, dict[int, int]]) -> Snapshot:
    """Log ends `now`, and those of samples that were taken so many seconds ago."""
    return replace(
        snapshot,
        log_ends={ORDERS: {broker: LogEnd(0, end) for broker, end in now.items()}},
        samples=tuple(Sample(NOW - ago, {ORDERS: then}) for ago, then in samples),
    )


# --- gaps ------------------------------------------------------------------------------------------------------------


def test_a_replica_that_was_dropped_while_it_was_registered_is_a_gap() -> None:
    [gap] = gaps_of(with_isr(1, 3).snapshot(), [ORDERS])
    assert gap == Gap(ORDERS, leader=1, missing=2, since_ms=int((NOW - 300) * 1000), moved=None)


def test_only_partitions_that_were_asked_for_are_read() -> None:
    assert gaps_of(with_isr(1, 3).snapshot(), []) == ()


def test_without_zookeeper_there_is_no_sign() -> None:
    paper = with_isr(1, 3)
    paper.zookeeper = False
    snapshot = paper.snapshot()
    assert gaps_of(snapshot, [ORDERS]) == ()
    assert stale_of(snapshot, [ORDERS]) == {}
    assert stuck_of(snapshot, [1]) == ()


def test_a_replica_that_registered_again_after_it_was_dropped_has_only_restarted() -> None:
    paper = with_isr(1, 3)
    paper.registered[2] = 100.0
    assert gaps_of(paper.snapshot(), [ORDERS]) == ()


@pytest.mark.parametrize("gone", [1, 2])
def test_a_leader_or_a_replica_that_is_not_registered_shows_no_cut(gone: int) -> None:
    paper = with_isr(1, 3)
    del paper.registered[gone]
    assert gaps_of(paper.snapshot(), [ORDERS]) == ()


def test_a_broker_that_does_not_answer_the_observer_shows_no_cut() -> None:
    paper = with_isr(1, 3)
    paper.answering.discard(2)
    assert gaps_of(paper.snapshot(), [ORDERS]) == ()


def test_a_replica_that_a_reassignment_is_adding_is_not_dropped() -> None:
    paper = with_isr(1, 3)
    paper.part("orders", 0).adding = (2,)
    assert gaps_of(paper.snapshot(), [ORDERS]) == ()


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_throttled_topic_shows_no_cut(side: str) -> None:
    paper = with_isr(1, 3)
    paper.topic_settings = {"orders": {f"{side}.replication.throttled.replicas": "*"}}
    assert gaps_of(paper.snapshot(), [ORDERS]) == ()


@pytest.mark.parametrize(
    ("before", "now", "moved"),
    [(60, 60, False), (60, 61, True), (61, 60, True)],
)
def test_two_samples_show_whether_the_replica_still_copies(before: int, now: int, moved: bool) -> None:
    snapshot = ends(with_isr(1, 3).snapshot(), {1: 90, 2: now, 3: 90}, (10.0, {1: 90, 2: before, 3: 90}))
    assert [gap.moved for gap in gaps_of(snapshot, [ORDERS])] == [moved]


def test_what_a_replica_copied_before_it_was_dropped_proves_nothing() -> None:
    snapshot = ends(with_isr(1, 3, age=60.0).snapshot(), {1: 90, 2: 60, 3: 90}, (100.0, {1: 50, 2: 50, 3: 50}))
    assert [gap.moved for gap in gaps_of(snapshot, [ORDERS])] == [None]


def test_a_sample_of_long_ago_does_not_show_how_fast_a_replica_copies_now() -> None:
    snapshot = ends(with_isr(1, 3, age=7200.0).snapshot(), {1: 90, 2: 60, 3: 90}, (3600.0, {1: 50, 2: 50, 3: 50}))
    assert [gap.moved for gap in gaps_of(snapshot, [ORDERS])] == [None]


# --- two leaders, and what the older one loses ----------------------------------------------------------------------


def two_believed() -> Paper:
    """Broker 1 believes to lead in epoch 0; the others follow broker 2 in epoch 1."""
    paper = cluster()
    part = paper.part("orders", 0)
    part.write(leader=2, isr=(2, 3), age=60)
    part.seen_by[1] = (1, 0, (1, 2, 3))
    return paper


def test_of_two_leaders_the_one_with_the_lower_leader_epoch_is_the_older() -> None:
    assert two_leaders(two_believed().snapshot(), [ORDERS]) == {ORDERS: (1, 2)}


def test_one_leader_that_others_do_not_know_yet_is_not_two() -> None:
    paper = two_believed()
    paper.part("orders", 0).seen_by[1] = (3, 0, (1, 2, 3))
    assert two_leaders(paper.snapshot(), [ORDERS]) == {}


def test_of_three_leaders_the_oldest_and_the_newest_count() -> None:
    paper = two_believed()
    paper.part("orders", 0).seen_by[3] = (3, 2, (3,))
    assert two_leaders(paper.snapshot(), [ORDERS]) == {ORDERS: (1, 3)}


def test_the_loss_is_known_where_the_newer_leader_states_the_end_of_the_older_epoch() -> None:
    snapshot = replace(ends(two_believed().snapshot(), {1: 130, 2: 112}), epoch_ends={ORDERS: EpochEnd(2, 0, 100)})
    [loss] = losses_of(snapshot, {ORDERS: (1, 2)})
    assert (loss.records, loss.known) == (30, True)


@pytest.mark.parametrize("stated", [None, EpochEnd(3, 0, 100), EpochEnd(2, 0, -1)])
def test_without_that_end_the_difference_of_the_logs_is_a_lower_bound(stated: EpochEnd | None) -> None:
    snapshot = ends(two_believed().snapshot(), {1: 130, 2: 112})
    snapshot = replace(snapshot, epoch_ends={} if stated is None else {ORDERS: stated})
    [loss] = losses_of(snapshot, {ORDERS: (1, 2)})
    assert (loss.records, loss.known) == (18, False)


def test_nothing_is_claimed_where_the_older_leader_gave_no_log_end() -> None:
    snapshot = replace(ends(two_believed().snapshot(), {2: 112}), epoch_ends={ORDERS: EpochEnd(2, 0, 100)})
    assert losses_of(snapshot, {ORDERS: (1, 2)}) == ()


def test_a_loss_is_never_negative() -> None:
    snapshot = ends(two_believed().snapshot(), {1: 100, 2: 112})
    assert [loss.records for loss in losses_of(snapshot, {ORDERS: (1, 2)})] == [0]


# --- old metadata ---------------------------------------------------------------------------------------------------


def old_metadata(*, epoch: int = 0, isr: tuple[int, ...] = (1, 2, 3), age: float = 60.0) -> Paper:
    """ZooKeeper records epoch 1 with ISR 2, 3; broker 1 still has `epoch` and `isr`."""
    paper = cluster()
    part = paper.part("orders", 0)
    part.write(leader=2, isr=(2, 3), age=age)
    part.seen_by[1] = (2, epoch, isr)
    return paper


@pytest.mark.parametrize(("epoch", "isr"), [(0, (2, 3)), (1, (1, 2, 3))], ids=["older epoch", "other ISR"])
def test_a_broker_whose_metadata_differs_from_the_record_is_stale(epoch: int, isr: tuple[int, ...]) -> None:
    assert stale_of(old_metadata(epoch=epoch, isr=isr).snapshot(), [ORDERS]) == {1: (ORDERS,)}


def test_a_broker_that_does_not_know_the_partition_is_stale() -> None:
    paper = old_metadata()
    paper.part("orders", 0).seen_by[1] = None
    assert stale_of(paper.snapshot(), [ORDERS]) == {1: (ORDERS,)}


def test_the_order_of_the_isr_does_not_matter() -> None:
    assert stale_of(old_metadata(epoch=1, isr=(3, 2)).snapshot(), [ORDERS]) == {}


def test_a_record_that_is_younger_than_the_snapshot_may_just_not_have_arrived() -> None:
    assert stale_of(old_metadata(age=0.5).snapshot(), [ORDERS]) == {}


def test_a_record_older_than_the_registration_may_not_have_been_sent_yet() -> None:
    paper = old_metadata()
    paper.registered[1] = 20.0
    assert stale_of(paper.snapshot(), [ORDERS]) == {}


def test_topics_under_deletion_and_partitions_without_a_leader_are_left_out() -> None:
    deleted, leaderless = old_metadata(), old_metadata()
    deleted.deleting = frozenset({"orders"})
    leaderless.part("orders", 0).leader = -1
    assert stale_of(deleted.snapshot(), [ORDERS]) == stale_of(leaderless.snapshot(), [ORDERS]) == {}


# --- records that no consumer sees ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("visible", "found"), [(276, (ORDERS,)), (327, ())])
def test_a_leader_whose_high_watermark_stands_still_is_stuck(visible: int, found: tuple[TopicPartition, ...]) -> None:
    snapshot = replace(ends(cluster().snapshot(), {1: 327}), visible={ORDERS: {1: visible}})
    assert stuck_of(snapshot, [1]) == found
    assert stuck_of(snapshot, [2, 3]) == ()
