"""One record, two authorities: what ZooKeeper or a quorum records, and the rules that rest on either."""

from dataclasses import replace

from kfix.core.derive.casefile import open_case
from kfix.core.derive.loss import lost_since, sample_of
from kfix.core.derive.moves import lags_of
from kfix.core.derive.partition_facts import derive
from kfix.core.derive.record import record_of
from kfix.core.snapshot.snapshot import EpochEnd, LogEnd, Mode, Sample, TopicPartition
from kfix.incident.timeline.changes import compare
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.clusters import base, healthy
from tests.unit.diagnostics.kraft_clusters import HIGH, kraft, quorum

TP = TopicPartition("orders", 0)


def test_of_zookeeper_it_is_what_zookeeper_has_and_nothing_is_copied():
    snapshot = healthy()
    record, view = record_of(snapshot), snapshot.zookeeper
    assert record is not None
    assert view is not None
    assert record.dated
    assert record.source == f"zookeeper {view.server}"
    assert record.states is view.states
    assert record.assignments is view.assignments
    assert record.controller is not None
    assert (record.controller.node, record.controller.epoch) == (view.controller.broker, view.controller.epoch)


def test_without_any_authority_there_is_no_record():
    paper = base()
    paper.zookeeper = False
    assert record_of(paper.snapshot()) is None
    assert record_of(kraft().snapshot()) is None


def test_of_a_quorum_it_is_the_metadata_of_the_broker_that_has_applied_most():
    snapshot = kraft().snapshot(quorum=quorum(offsets={1: HIGH, 2: HIGH + 3, 3: HIGH + 1}))
    record = record_of(snapshot)
    assert record is not None
    assert record.mode is Mode.KRAFT
    assert record.source == "broker 2"
    seen = snapshot.views[2].partitions
    assert {tp: state[:3] for tp, state in record.states.items()} == {
        tp: (view.leader, view.leader_epoch, view.isr) for tp, view in seen.items()
    }
    assert {tp: each.replicas for tp, each in record.assignments.items()} == {tp: v.replicas for tp, v in seen.items()}
    assert len(record.states) == len(seen)
    assert record.controller is not None
    assert record.controller.node == 100


def test_a_broker_that_is_cut_from_the_controllers_does_not_write_the_record():
    snapshot = kraft_clusters.broker_cut_from_controllers()
    record = record_of(snapshot)
    assert record is not None
    assert record.source != "broker 1"
    assert 1 not in record.registrations


def test_a_lost_quorum_has_no_controller_and_still_has_partitions():
    record = record_of(kraft_clusters.two_controllers_dead())
    assert record is not None
    assert record.controller is None
    assert record.states


def test_settings_of_topics_that_were_not_read_are_unknown_and_not_empty():
    unread, read = kraft().snapshot(quorum=quorum()), quorum(topic_settings={"orders": {"cleanup.policy": "compact"}})
    record = record_of(unread)
    assert record is not None
    assert record.topic_settings is None
    assert open_case(kraft().snapshot(quorum=read)).own_setting("orders", "cleanup.policy") == "compact"


def _elected_elsewhere(*, kraft_mode: bool):
    """orders-0 was led by broker 1 with 30 records, and is now led by 2, where the epoch ended at 20."""
    paper = kraft() if kraft_mode else base()
    view = {"quorum": quorum()} if kraft_mode else {}
    part = paper.part("orders", 0)
    leader, epoch = part.leader, part.epoch
    paper.log_ends = {TP: dict.fromkeys((1, 2, 3), 30)}
    before = replace(paper.snapshot(**view), visible={TP: {leader: 30}})
    new = next(b for b in part.replicas if b != leader)
    part.leader, part.epoch = new, epoch + 1
    paper.log_ends = {TP: dict.fromkeys((1, 2, 3), 20)}
    after = paper.snapshot(**view)
    return replace(
        after,
        taken_at=after.taken_at + 60,
        samples=(sample_of(before),),
        epoch_ends={TP: EpochEnd(new, epoch, 20)},
    )


def test_lost_records_are_found_on_kraft_as_with_zookeeper():
    for kraft_mode in (False, True):
        [lost] = lost_since(_elected_elsewhere(kraft_mode=kraft_mode))
        assert (lost.tp, lost.records, lost.committed, lost.exact) == (TP, 10, 10, True)


def test_a_replica_that_lags_is_measured_on_kraft():
    paper = kraft()
    part = paper.part("orders", 0)
    slow = next(b for b in part.replicas if b != part.leader)
    part.isr = tuple(b for b in part.isr if b != slow)
    paper.log_ends = {TP: {b: 50 if b == slow else 90 for b in part.replicas}}
    snapshot = paper.snapshot(quorum=quorum())
    then = Sample(snapshot.taken_at - 10, {TP: {b: 40 if b == slow else 60 for b in part.replicas}})
    snapshot = replace(snapshot, samples=(then,))
    [lag] = lags_of(snapshot, [fact for fact in derive(snapshot) if fact.tp == TP])
    assert (lag.broker, lag.before, lag.now, lag.rate) == (slow, 20, 40, 1.0)


def test_events_between_two_snapshots_of_a_kraft_cluster():
    paper = kraft()
    before = paper.snapshot(quorum=quorum(topic_settings={}))
    paper.kill(3)
    after = paper.topic("pay", 2).snapshot(
        quorum=quorum({3: 60.0}, leader=101, epoch=5, fenced=(3,), topic_settings={"orders": {"cleanup.policy": "x"}})
    )
    said = [event.text for event in compare(before, replace(after, taken_at=before.taken_at + 60))]
    assert "controller 101 became the active controller, epoch 5 (previous: controller 100, epoch 4)" in said
    assert "broker 3 is fenced" in said
    assert "topic pay was created, 2 partitions" in said
    assert any("cleanup.policy" in text for text in said)


def test_a_record_is_not_compared_with_that_of_another_authority():
    before, after = base().snapshot(), kraft().topic("pay", 2).snapshot(quorum=quorum())
    assert not [e for e in compare(before, replace(after, taken_at=before.taken_at + 60)) if "pay" in e.text]


def test_a_log_end_that_was_not_read_is_no_sample():
    snapshot = replace(kraft().snapshot(quorum=quorum()), log_ends={TP: {1: LogEnd(-1, -1, "no answer")}})
    assert sample_of(snapshot).ends == {TP: {}}
