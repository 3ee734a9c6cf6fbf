"""What a look from a vantage asks beside the rest: what only another place can compare."""

from kfix.core.collect.logs import claims, epochs_before, suspicious
from kfix.core.derive.record import record_of
from kfix.core.snapshot.snapshot import TopicPartition
from tests.unit.core.derive.places import seen_by
from tests.unit.diagnostics import cut_clusters
from tests.unit.diagnostics.clusters import healthy

LED_BY_1 = [TopicPartition("orders", p) for p in (0, 3, 6, 9)]


def test_an_isolated_broker_is_asked_for_the_logs_of_what_it_calls_its_own() -> None:
    here = seen_by(cut_clusters.zone_isolated(), "az1", {1}, zookeeper=False)
    live = frozenset(here.views)
    alone = suspicious(None, here.views, live)
    assert not alone.keys() & set(LED_BY_1)
    assert suspicious(None, here.views, live, apart=True).keys() >= {*alone, *LED_BY_1}


def test_the_others_are_asked_for_the_same_logs_and_where_the_epoch_before_ended() -> None:
    there = seen_by(cut_clusters.zone_isolated(), "az2", {2, 3})
    assert there.zookeeper is not None
    live = frozenset(there.zookeeper.registrations)
    assert suspicious(record_of(there), there.views, live) == {}
    wanted = suspicious(record_of(there), there.views, live, apart=True)
    assert [tp for tp in wanted if tp.topic == "orders"][:4] == LED_BY_1
    asked = epochs_before(claims(wanted, there.views), there.views)
    assert {tp: epoch for found in asked.values() for tp, epoch in found.items() if tp in LED_BY_1} == dict.fromkeys(
        LED_BY_1, 0
    )


def test_a_whole_cluster_is_asked_for_nothing_more() -> None:
    whole = healthy()
    assert whole.zookeeper is not None
    live = frozenset(whole.zookeeper.registrations)
    assert suspicious(record_of(whole), whole.views, live, apart=True) == {}
    assert epochs_before(claims({TopicPartition("orders", 0): (1, 2, 3)}, whole.views), whole.views) == {}
