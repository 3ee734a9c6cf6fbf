"""From the signs to the one cut that explains them: its kind, both sides, and the clusters that only look alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from kfix.core.derive.casefile import open_case
from kfix.core.derive.cuts import Cut, CutKind, cut_of
from kfix.core.snapshot.snapshot import Sample, Snapshot, TopicPartition
from tests.each import for_each
from tests.unit.diagnostics import cut_clusters as clusters
from tests.unit.diagnostics.build import NOW
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.kraft_clusters import HIGH, quorum
from tests.unit.diagnostics.test_kraft import on_kraft

EXPLAINED: dict[Callable[[], Snapshot], tuple[CutKind, tuple[int, ...], tuple[int, ...]]] = {
    clusters.link_cut: (CutKind.LINK, (1,), (2,)),
    clusters.one_sided_link_cut: (CutKind.LINK, (1,), (2,)),
    clusters.controller_link_cut: (CutKind.CONTROLLER_LINK, (1,), (3,)),
    clusters.zone_isolated: (CutKind.ZONE, (1,), (2, 3)),
    clusters.zone_isolated_leading_nothing: (CutKind.ZONE, (1,), (2, 3)),
    clusters.two_controllers: (CutKind.CONTROLLER_ZONE, (1,), (2, 3)),
    clusters.controller_alone: (CutKind.ALONE, (3,), (1, 2)),
    clusters.broker_alone: (CutKind.ALONE, (1,), (2, 3)),
}

#: Clusters that show some of the signs and have another cause.
NOT_CUT: tuple[Callable[[], Snapshot], ...] = (
    lambda: base().snapshot(),
    clusters.slow_link,
    clusters.slow_broker,
    clusters.slow_leader,
    clusters.one_moves,
    clusters.throttled,
    lambda: clusters.throttled(both=True),
    lambda: clusters.lagging(60, 60),
    lambda: clusters.lagging(50, 60),
    clusters.left_out,
    clusters.told_nothing_yet,
    clusters.controller_registered_later,
    lambda: clusters.rolling(30.0),
    clusters.quorum_lost,
    clusters.node_cut,
)


def found_in(snapshot: Snapshot) -> Cut | None:
    return cut_of(snapshot, [facts.tp for facts in open_case(snapshot).odd])


@for_each("make", EXPLAINED, ids=lambda make: make.__name__)
def test_the_kind_and_both_sides_of_a_cut_are_found(make: Callable[[], Snapshot]) -> None:
    cut = found_in(make())
    assert cut is not None
    assert (cut.kind, cut.brokers, cut.peers) == EXPLAINED[make]


def test_every_kind_of_cut_is_in_the_table() -> None:
    assert {kind for kind, _, _ in EXPLAINED.values()} == set(CutKind)


@for_each("make", NOT_CUT)
def test_the_same_signs_with_another_cause_are_no_cut(make: Callable[[], Snapshot]) -> None:
    assert found_in(make()) is None


def test_without_zookeeper_no_side_is_known() -> None:
    assert cut_of(replace(clusters.zone_isolated(), zookeeper=None), [clusters.ORDERS]) is None


def test_one_answer_alone_contradicts_no_other() -> None:
    snapshot = clusters.zone_isolated()
    assert cut_of(replace(snapshot, views={1: snapshot.views[1]}), [clusters.ORDERS]) is None


def test_two_brokers_are_too_few_to_distinguish_a_link_from_a_broker() -> None:
    snapshot = clusters.link_cut()
    two = {broker: view for broker, view in snapshot.views.items() if broker != 2}
    assert found_in(replace(snapshot, views=two)) is None


def test_one_partition_that_copies_proves_the_link_for_all_of_the_same_two_brokers() -> None:
    """The others of that pair wait for their turn; the other direction stands still by itself."""
    snapshot = clusters.link_cut()
    then = {tp: dict(ends) for tp, ends in snapshot.samples[0].ends.items()}
    for tp in then:
        if tp.partition in (0, 1):
            then[tp] = {1: 80, 2: 50, 3: 90}
    assert found_in(replace(snapshot, samples=(Sample(NOW - 10, then),))) is None


def test_whether_lag_was_seen_over_time_is_part_of_the_cut() -> None:
    sampled, once = found_in(clusters.link_cut()), found_in(clusters.one_sided_link_cut())
    assert sampled is not None
    assert once is not None
    assert (sampled.sampled, once.sampled) == (True, False)


def test_a_cut_begins_with_the_oldest_record_of_its_newest_batch() -> None:
    cut = found_in(clusters.link_cut())
    assert cut is not None
    assert cut.since_ms == int((NOW - 300) * 1000)


def test_what_was_written_long_before_the_batch_has_another_cause() -> None:
    snapshot = clusters.link_cut()
    zookeeper = snapshot.zookeeper
    assert zookeeper is not None
    states = dict(zookeeper.states)
    first = next(tp for tp, state in states.items() if tp.topic == "orders" and state.leader == 1)
    states[first] = states[first]._replace(mtime_ms=states[first].mtime_ms - 120_000)
    cut = found_in(replace(snapshot, zookeeper=replace(zookeeper, states=states)))
    assert cut is not None
    assert cut.since_ms == int((NOW - 300) * 1000)


def test_partitions_with_two_leaders_and_what_they_lose_belong_to_the_cut() -> None:
    cut = found_in(clusters.zone_isolated())
    assert cut is not None
    assert cut.pairs[clusters.ORDERS] == (1, 2)
    [loss] = [each for each in cut.losses if each.tp == clusters.ORDERS]
    assert (loss.records, loss.known) == (30, True)


def test_a_cut_off_controller_is_known_by_what_each_broker_calls_controller() -> None:
    cut = found_in(clusters.two_controllers())
    assert cut is not None
    assert cut.controllers[1] == 1
    assert {cut.controllers[2], cut.controllers[3]} == {2}


def test_a_link_to_the_controller_lists_what_no_consumer_sees() -> None:
    cut = found_in(clusters.controller_link_cut())
    assert cut is not None
    assert clusters.ORDERS in cut.stuck


@pytest.mark.parametrize(
    ("brokers", "explained"),
    [((1,), True), ((2,), True), ((1, 2), True), ((3,), False), ((1, 3), False), ((), False)],
)
def test_a_cut_link_explains_troubles_of_its_two_ends_only(brokers: tuple[int, ...], explained: bool) -> None:
    cut = found_in(clusters.link_cut())
    assert cut is not None
    assert cut.explains(brokers) is explained


def test_an_isolated_zone_explains_nothing_of_the_rest() -> None:
    cut = found_in(clusters.zone_isolated())
    assert cut is not None
    assert cut.explains([1])
    assert not cut.explains([2])


def test_a_partition_that_was_not_asked_about_cannot_show_a_cut() -> None:
    assert cut_of(clusters.link_cut(), []) is None
    assert cut_of(clusters.link_cut(), [TopicPartition("other", 0)]) is None


def with_quorum(snapshot: Snapshot, stale: int = 0, settings: Any = MappingProxyType({})) -> Snapshot:
    """Returns the same brokers on KRaft; the metadata of the broker `stale` is of a minute ago."""
    offsets = {broker: HIGH - 500 if broker == stale else HIGH for broker in snapshot.views}
    return replace(on_kraft(snapshot), quorum=quorum({stale: 60.0}, offsets=offsets, topic_settings=settings))


def test_on_kraft_a_link_is_cut_where_both_ends_dropped_each_other() -> None:
    cut = found_in(with_quorum(clusters.link_cut()))
    assert cut is not None
    assert (cut.kind, cut.brokers, cut.peers) == (CutKind.LINK, (1,), (2,))


def test_on_kraft_a_broker_that_was_dropped_and_dropped_no_other_may_have_just_started() -> None:
    assert found_in(with_quorum(clusters.one_sided_link_cut())) is None


@for_each("make", [clusters.slow_link, clusters.slow_leader, clusters.one_moves, lambda: base().snapshot()])
def test_on_kraft_the_same_signs_with_another_cause_are_no_cut(make: Callable[[], Snapshot]) -> None:
    assert found_in(with_quorum(make())) is None


@for_each("stale", [1, 2, 3])
def test_on_kraft_one_view_of_an_older_moment_leaves_the_cut_unknown(stale: int) -> None:
    assert found_in(with_quorum(clusters.link_cut(), stale)) is None


@for_each("side", ["leader", "follower"])
def test_on_kraft_a_throttled_topic_or_settings_that_were_not_read_show_no_cut(side: str) -> None:
    throttled = {f"{side}.replication.throttled.replicas": "*"}
    topics = {facts.topic: throttled for facts in open_case(clusters.link_cut()).odd}
    assert found_in(with_quorum(clusters.link_cut(), settings=topics)) is None
    assert found_in(with_quorum(clusters.link_cut(), settings=None)) is None
