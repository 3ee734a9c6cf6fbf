"""Two looks: what an election or a start shows for seconds is no alarm, what lasts is one."""

from collections.abc import Callable
from dataclasses import replace

from kfix.core.criteria import Criteria
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.snapshot import Source
from kfix_diagnostics.engine import diagnose, examine, settle_seconds
from tests.each import for_each
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.clusters import (
    base,
    changed,
    coordinator_stuck,
    isr_gone,
    metadata_divergence,
    no_zookeeper,
    offsets_rf1,
    stale_view,
    text,
)


def just_stuck(age: float) -> Paper:
    return metadata_divergence().fall(OFFSETS_TOPIC, 43, 1, age)


@for_each(
    ("make", "seconds"),
    [
        (base, 0),
        (offsets_rf1, 0),
        (coordinator_stuck, 0),
        (lambda: just_stuck(4), 6),
        (lambda: just_stuck(4).fall(OFFSETS_TOPIC, 42, 1, 8), 6),
        (lambda: just_stuck(8).fall(OFFSETS_TOPIC, 42, 1, 4), 6),
        (metadata_divergence, 0),
        (lambda: base().forge(OFFSETS_TOPIC, 43, 1, (1, 2), age=3), 7),
        (lambda: base().kill(3), 0),
        (lambda: no_zookeeper(base().kill(3)), 10),
        (stale_view, 10),
        (lambda: changed(base(), controller=None), 10),
    ],
)
def test_the_wait_is_no_longer_than_the_evidence_is_young(make: Callable[[], Paper], seconds: float) -> None:
    assert settle_seconds(make().snapshot()) == seconds


def test_a_live_broker_without_an_answer_may_be_leaving_or_have_come_meanwhile() -> None:
    whole = base().snapshot()
    views = {broker: view for broker, view in whole.views.items() if broker != 3}
    assert settle_seconds(replace(whole, views=views)) == 10
    closed = Source("broker 3", ok=False, error="closed the connection")
    assert settle_seconds(replace(whole, views=views, sources=(*whole.sources, closed))) == 10


def test_an_old_record_is_no_old_fault_where_the_recorded_leader_has_just_left() -> None:
    paper = base()
    paper.forget(1)
    assert settle_seconds(paper.snapshot()) == 10


def test_an_old_record_is_no_old_fault_where_a_member_of_the_isr_has_just_come_back() -> None:
    paper = isr_gone().back(1, 2)
    assert "KFX102" in {f.code for f in diagnose(paper.snapshot()).walk()}
    assert settle_seconds(paper.snapshot()) == 8


def test_a_view_that_is_newer_than_the_record_needs_a_second_look() -> None:
    paper = base()
    part = paper.part("orders", 0)
    part.believed = (2, 1, (2, 3))
    assert settle_seconds(paper.snapshot()) == 10


def test_the_debounce_can_be_chosen() -> None:
    assert settle_seconds(just_stuck(4).snapshot(), Criteria(debounce=30)) == 26


def test_what_lasts_counts() -> None:
    now, then = just_stuck(4).snapshot(), just_stuck(4).snapshot()
    diagnosis = diagnose(now, earlier=then)
    assert diagnosis.worst is Severity.CRITICAL
    assert not any(f.unsettled for f in diagnosis.walk())


def test_what_was_not_there_before_is_reported_and_is_no_alarm() -> None:
    diagnosis = diagnose(just_stuck(4).snapshot(), earlier=metadata_divergence().snapshot())
    stuck = next(f for f in diagnosis.walk() if f.code == "KFX101")
    assert stuck.unsettled
    assert stuck.severity is Severity.INFO
    assert stuck.summary.startswith("just changed: ")
    assert stuck.obj == "__consumer_offsets-43 (just now)"


def test_another_election_in_between_is_another_fault() -> None:
    then, now = just_stuck(14), just_stuck(4)
    now.part(OFFSETS_TOPIC, 43).epoch += 1
    now.part(OFFSETS_TOPIC, 43).version += 1
    stuck = [f for f in diagnose(now.snapshot(), earlier=then.snapshot()).walk() if f.code == "KFX101"]
    assert [f.unsettled for f in stuck] == [True]


def test_an_isr_that_flaps_is_under_replicated_in_both_snapshots() -> None:
    then, now = base().kill(3), base().kill(3)
    for part in now.parts.values():
        part.version += 2
        part.age = 1
    found = next(f for f in diagnose(now.snapshot(), earlier=then.snapshot()).walk() if f.code == "KFX302")
    assert not found.unsettled


def test_a_partition_that_lacks_another_broker_than_before_has_another_fault() -> None:
    """As in a rolling restart: each broker is out of sync for some seconds, and none for longer."""
    then, now = base().kill(2), base().kill(3)
    rows = [f for f in diagnose(now.snapshot(), earlier=then.snapshot()).walk() if f.code == "KFX302"]
    assert {(f.unsettled, f.severity) for f in rows} == {(True, Severity.INFO)}


def test_some_partitions_may_be_settled_while_others_are_not() -> None:
    then, now = base().kill(3), base().kill(3)
    then.part("orders", 0).isr = then.part("orders", 0).replicas
    found = [f for f in diagnose(now.snapshot(), earlier=then.snapshot()).walk() if f.code == "KFX302"]
    assert sorted((f.unsettled, len(f.partitions)) for f in found) == [(False, 61), (True, 1)]


def test_a_cluster_finding_needs_the_same_token_in_both_snapshots() -> None:
    one, other = changed(base(), named_controller={1: 1}), changed(base(), named_controller={1: 2})
    same = diagnose(one.snapshot(), earlier=one.snapshot()).findings
    moved = diagnose(one.snapshot(), earlier=other.snapshot()).findings
    assert [f.unsettled for f in same] == [False]
    assert [f.unsettled for f in moved] == [True]


def test_a_dead_broker_needs_no_second_look() -> None:
    found = diagnose(base().kill(3, 5).snapshot(), earlier=base().snapshot())
    assert next(f for f in found.walk() if f.code == "KFX401").unsettled is False


def test_the_restart_grace_can_be_chosen() -> None:
    snapshot = base().kill(3, 200).snapshot()
    assert diagnose(snapshot).worst is Severity.WARNING
    assert diagnose(snapshot, criteria=Criteria(restart_grace=300)).worst is Severity.INFO


def test_a_snapshot_that_was_evaluated_once_serves_both_questions() -> None:
    seen = examine(coordinator_stuck().snapshot())
    assert settle_seconds(seen) == 0
    assert diagnose(seen) == diagnose(coordinator_stuck().snapshot())


def test_a_text_is_never_settled() -> None:
    assert settle_seconds(text("Topic: x Partition: 0 Leader: none Replicas: 1,2 Isr: 2")) == 10


def test_a_snapshot_without_any_answer_is_not_whole() -> None:
    snapshot = base().snapshot()
    for views, zookeeper, whole in (({}, None, False), ({}, snapshot.zookeeper, True), (snapshot.views, None, True)):
        unread = diagnose(replace(snapshot, views=views, zookeeper=zookeeper)).could_not_read
        assert ("the cluster: this snapshot holds no broker and no ZooKeeper" not in unread) is whole
