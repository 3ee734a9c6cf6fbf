"""The rows every partition check looks at."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.derive.background import background_of
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.elections import UNCLEAN
from kfix.core.derive.partition_facts import FACT_TYPES, PartitionFacts, _Recorded, derive, partitions_of
from kfix.core.snapshot.snapshot import Mode, PartitionView, Snapshot, Source, TopicPartition
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.clusters import (
    base,
    coordinator_stuck,
    metadata_divergence,
    no_zookeeper,
    rack_packed,
    stale_view,
    stuck_reassignment,
    text,
    zone_isolated_with_leader,
)
from tests.unit.diagnostics.papers import papers


def row(snapshot: Snapshot, topic: str, partition: int = 0) -> PartitionFacts:
    return next(r for r in derive(snapshot) if (r.topic, r.partition) == (topic, partition))


def test_facts_are_scalars_and_never_null() -> None:
    for paper in (base(), coordinator_stuck(), no_zookeeper(base()), stuck_reassignment(), stale_view()):
        for facts in derive(paper.snapshot()):
            for name, value in zip(PartitionFacts._fields, facts, strict=True):
                assert type(value) is FACT_TYPES[name], (name, value)


def test_a_healthy_partition() -> None:
    facts = row(base().snapshot(), "orders")
    assert (facts.leader, facts.leader_epoch, facts.view_leader, facts.preferred) == (1, 0, 1, 1)
    assert (facts.n_replicas, facts.n_isr, facts.n_live_replicas, facts.n_live_isr) == (3, 3, 3, 3)
    assert (facts.min_isr, facts.target_rf, facts.advised_rf, facts.n_views) == (2, 3, 3, 3)
    assert facts.leader_live
    assert facts.leader_in_isr
    assert facts.preferred_in_live_isr
    assert facts.zk_known
    assert facts.zk_agrees
    assert facts.views_agree
    assert facts.replicas_agree
    assert not any((facts.leaderless, facts.internal, facts.deleting, facts.reassigning, facts.zk_lacks))
    assert facts.state_age == 86_400


def test_zookeeper_is_the_truth_where_it_was_read() -> None:
    facts = row(metadata_divergence().snapshot(), OFFSETS_TOPIC, 43)
    assert (facts.leader, facts.n_isr, facts.view_leader) == (1, 2, 2)
    assert not facts.zk_agrees
    assert facts.views_agree


def test_without_zookeeper_the_newest_view_is() -> None:
    facts = row(no_zookeeper(zone_isolated_with_leader()).snapshot(), "orders")
    assert (facts.leader, facts.leader_epoch, facts.n_isr) == (2, 1, 2)
    assert (facts.zk_leader, facts.zk_leader_epoch, facts.zk_version, facts.state_age) == (-2, -2, -1, -1)
    assert facts.zk_agrees
    assert not facts.views_agree


def test_while_a_migration_runs_the_znodes_are_no_authority() -> None:
    snapshot = metadata_divergence().snapshot()
    assert snapshot.zookeeper is not None
    facts = row(replace(snapshot, zookeeper=replace(snapshot.zookeeper, migrating=True)), OFFSETS_TOPIC, 43)
    assert not facts.zk_known
    assert facts.leader == 2


def test_a_leader_that_is_not_registered_is_no_leader() -> None:
    paper = base()
    paper.forget(1)
    facts = row(paper.snapshot(), "orders")
    assert facts.leader == 1
    assert facts.leaderless
    assert facts.zk_agrees  # the brokers' -1 is how they show a leader that is dead


def test_alive_without_zookeeper_is_who_most_brokers_call_alive() -> None:
    snapshot = no_zookeeper(base()).snapshot()
    stale = replace(snapshot.views[1], alive={1: snapshot.views[1].alive[1]})
    facts = row(replace(snapshot, views={**snapshot.views, 1: stale}), "orders")
    assert facts.liveness_known
    assert facts.n_live_replicas == 3


def test_in_a_text_liveness_is_unknown() -> None:
    facts = row(text("Topic: x Partition: 0 Leader: none Replicas: 1,2 Isr: 2"), "x")
    assert not facts.liveness_known
    assert facts.leaderless
    assert (facts.n_live_replicas, facts.n_live_isr, facts.min_isr) == (-1, -1, -1)


def test_a_leader_of_unknown_liveness_is_a_leader() -> None:
    facts = row(text("Topic: x Partition: 0 Leader: 1 Replicas: 1,2 Isr: 1,2"), "x")
    assert not facts.liveness_known
    assert (facts.leader, facts.leaderless, facts.leader_live) == (1, False, False)


def test_replicas_being_added_are_not_missing() -> None:
    facts = row(stuck_reassignment().snapshot(), "orders")
    assert facts.reassigning
    assert (facts.n_replicas, facts.target_rf, facts.n_isr) == (4, 3, 3)


def test_racks_count_only_where_all_are_known() -> None:
    known = row(rack_packed(racks={1: "a", 2: "a", 3: "a", 4: "b"}).snapshot(), "orders")
    partly = row(rack_packed(racks={1: "a", 2: "a", 4: "b"}).snapshot(), "orders")
    assert (known.n_racks, known.racks_known, known.cluster_racks) == (1, True, 2)
    assert not partly.racks_known


def test_a_topics_own_setting_wins_over_the_leaders_default() -> None:
    paper = base()
    paper.topic_settings = {"orders": {"min.insync.replicas": "3", "unclean.leader.election.enable": "true"}}
    paper.broker_settings = {1: {"min.insync.replicas": "1"}}
    facts = row(paper.snapshot(), "orders")
    assert (facts.min_isr, facts.unclean, facts.unclean_known) == (3, True, True)
    assert row(paper.snapshot(), OFFSETS_TOPIC).min_isr == 1
    assert row(paper.snapshot(), OFFSETS_TOPIC, 1).min_isr == 2


def test_what_one_broker_reports_to_be_in_force_is_not_the_default_of_another() -> None:
    paper = base()
    paper.broker_settings = {1: {"min.insync.replicas": "1", UNCLEAN: "true"}, 2: {UNCLEAN: "false"}}
    shown = {"orders": {"min.insync.replicas": "1", UNCLEAN: "true"}}
    snapshot = replace(paper.snapshot(), topic_configs=shown)
    assert snapshot.zookeeper is not None
    led = {row(snapshot, "orders", n).leader: row(snapshot, "orders", n).min_isr for n in range(3)}
    assert led[1] == 1
    assert {least for leader, least in led.items() if leader != 1} == {2}
    # The controller's default decides, and no other broker's.
    for controller, allowed in ((1, True), (2, False)):
        node = replace(snapshot.zookeeper.controller, broker=controller)
        at = replace(snapshot, zookeeper=replace(snapshot.zookeeper, controller=node))
        assert (row(at, "orders").unclean, row(at, "orders").unclean_known) == (allowed, True)
    nobody = replace(snapshot, zookeeper=replace(snapshot.zookeeper, controller=replace(node, broker=None)))
    assert (row(nobody, "orders").unclean, row(nobody, "orders").unclean_known) == (True, False)


def test_a_topic_whose_settings_zookeeper_could_not_give_is_unknown() -> None:
    snapshot = base().snapshot()
    source = Source("znode /config/topics/orders", ok=False, error="no JSON")
    unread = replace(
        snapshot, sources=(*snapshot.sources, source), topic_configs={"orders": {"min.insync.replicas": "1"}}
    )
    facts = row(unread, "orders")
    assert (facts.min_isr, facts.unclean_known) == (-1, False)
    assert row(unread, OFFSETS_TOPIC).min_isr == 2


def test_clocks_that_disagree_give_no_age() -> None:
    paper = base()
    paper.part("orders", 0).age = -30.0
    assert row(paper.snapshot(), "orders").state_age == -1


def test_a_topic_that_left_the_metadata_is_still_judged() -> None:
    paper = base()
    paper.deleting = frozenset({"orders"})
    facts = row(paper.snapshot(), "orders")
    assert facts.deleting
    assert facts.n_views == 0
    assert facts.view_leader == -2


def test_a_broker_that_misses_a_partition_disagrees() -> None:
    paper = base()
    paper.part("orders", 0).seen_by = {2: None}
    facts = row(paper.snapshot(), "orders")
    assert facts.n_views == 2
    assert not facts.views_agree


def test_the_order_of_an_isr_is_no_disagreement() -> None:
    paper = base()
    paper.part("orders", 0).seen_by = {2: (1, 0, (3, 2, 1))}
    assert row(paper.snapshot(), "orders").views_agree


def test_kraft_has_no_znode_that_counts() -> None:
    paper = no_zookeeper(base(), Mode.KRAFT)
    assert not any(r.zk_known for r in derive(paper.snapshot()))


def test_rows_come_sorted() -> None:
    rows = derive(Paper().topic("b", 2).topic("a", 2).snapshot())
    assert [str(r.tp) for r in rows] == ["a-0", "a-1", "b-0", "b-1"]


def test_the_states_of_an_unassigned_topic_are_rows_too() -> None:
    snapshot = base().snapshot()
    tp = TopicPartition("lone", 0)
    view = replace(snapshot.views[1], partitions={tp: PartitionView(1, 0, (1,), (1,), ())})
    facts = row(replace(snapshot, views={1: view}, zookeeper=None), "lone")
    assert facts.n_replicas == 1
    assert facts.state_age == -1


def test_the_age_of_a_record_counts_for_nothing_where_no_broker_knows_the_partition() -> None:
    paper = base()
    paper.part("orders", 0).seen_by = dict.fromkeys(paper.brokers)
    facts = row(paper.snapshot(), "orders")
    assert (facts.n_views, facts.stable_for) == (0, -1)
    paper.answering.clear()
    assert row(paper.snapshot(), "orders").stable_for == 86_400


def widened(snapshot: Snapshot, copies: int) -> Snapshot:
    """Returns the snapshot with each topic several times, so that many partitions have one shape."""

    def more(found):
        return {
            TopicPartition(f"{tp.topic}{n or ''}", tp.partition): v for n in range(copies) for tp, v in found.items()
        }

    zookeeper = snapshot.zookeeper
    if zookeeper is not None:
        zookeeper = replace(
            zookeeper,
            assignments=more(zookeeper.assignments),
            states={
                tp: state._replace(version=number % 7, mtime_ms=state.mtime_ms - 977 * number)
                for number, (tp, state) in enumerate(more(zookeeper.states).items())
            },
        )
    views = {b: replace(view, partitions=more(view.partitions)) for b, view in snapshot.views.items()}
    if views:
        first = next(iter(views.values())).partitions
        views = {b: replace(v, partitions=first) if v.partitions == first else v for b, v in views.items()}
    return replace(snapshot, zookeeper=zookeeper, views=views)


@settings(max_examples=40)
@given(papers(), st.integers(1, 4))
def test_partitions_that_are_judged_together_have_the_rows_of_partitions_judged_one_by_one(paper, copies):
    snapshot = widened(paper.snapshot(), copies)
    background = background_of(snapshot)
    alone = [_Recorded(snapshot, background).row(tp) for tp in partitions_of(snapshot)]
    assert list(derive(snapshot, background)) == alone == sorted(alone)


def test_the_copies_of_a_partition_are_judged_once():
    judged = []
    for copies in (2, 100):
        snapshot = widened(base().snapshot(), copies)
        recorded = _Recorded(snapshot, background_of(snapshot))
        assert len([*map(recorded.row, partitions_of(snapshot))]) > 50 * copies
        judged.append(len(recorded._judged))
    assert judged[0] == judged[1]
