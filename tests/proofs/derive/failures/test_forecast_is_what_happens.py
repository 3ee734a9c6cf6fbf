"""The forecast of random clusters in memory, written down first, against what the brokers' deaths really do."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.derive.casefile import open_case
from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.diagnosis.forecast import Failure, Fate
from kfix.core.failures.judging import Judge
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.configs import MIN_ISR
from tests.proofs.derive.failures.clusters import GROUPS, clusters, failures

EXAMPLES = settings(max_examples=200)


def actual(cluster, tp):
    """Leader (-1: none) and live in-sync replicas, by ZooKeeper's record."""
    state, live = cluster.records.states[tp], cluster.control.live
    return state.leader if state.leader in live else -1, tuple(sorted(b for b in state.isr if b in live))


def min_isr_at(cluster, tp, leader):
    own = cluster.records.topic_configs.get(tp.topic, {}).get(MIN_ISR)
    return int(own or cluster.settings.of_broker(cluster.brokers[leader])[MIN_ISR])


def under(cluster, tp):
    leader, isr = actual(cluster, tp)
    return leader != -1 and len(isr) < min_isr_at(cluster, tp, leader)


def last(cluster, tp):
    leader, isr = actual(cluster, tp)
    return leader != -1 and len(isr) == 1 and len(cluster.records.assignments[tp].replicas) > 1


def coordinated(cluster):
    """{group: whether its coordinator's partition has a leader}."""
    count = sum(tp.topic == OFFSETS_TOPIC for tp in cluster.records.assignments)
    at = {group: TopicPartition(OFFSETS_TOPIC, partition_of_group(group, count)) for group in GROUPS}
    return {group: actual(cluster, tp)[0] != -1 for group, tp in at.items()}


@EXAMPLES
@given(clusters(), st.data())
def test_every_partition_and_group_ends_as_forecast(cluster, data):
    down = failures(data.draw, cluster)
    judge = Judge(open_case(cluster.snapshot()))
    failure = Failure(frozenset(down))
    expected, total = judge.every_partition(failure), judge.judge(failure, named=True)
    assert expected.keys() == cluster.records.states.keys()
    before = {tp: (actual(cluster, tp), under(cluster, tp), last(cluster, tp)) for tp in expected}
    served, controller = coordinated(cluster), cluster.records.controller

    cluster.kill(*down)

    for tp, foretold in expected.items():
        leader, isr = actual(cluster, tp)
        was, was_under, was_last = before[tp]
        if foretold.leader is None:
            assert len({b.configs.get("unclean.leader.election.enable") for b in cluster.brokers.values()}) > 1
            continue
        assert (foretold.leader, foretold.isr) == (leader, isr), (tp, foretold)
        stopped = was[0] == -1
        assert foretold.under_min_isr == under(cluster, tp), (tp, foretold)
        assert foretold.falls_under == (not stopped and under(cluster, tp) and not was_under), (tp, foretold)
        assert foretold.last_in_sync == last(cluster, tp)
        assert foretold.left_with_last == (not stopped and last(cluster, tp) and not was_last)
        assert (foretold.fate is Fate.STOPPED) == stopped
        assert (foretold.fate in {Fate.STOPS, Fate.STRANDED}) == (not stopped and leader == -1)
        assert (foretold.fate is Fate.STRANDED) == (not stopped and leader == -1 and bool(isr))
        assert (foretold.fate is Fate.UNCLEAN) == (not stopped and leader != -1 and leader not in was[1])
    named = {p.tp for p in total.partitions}
    assert named == {p.tp for p in expected.values() if p.changed}
    assert total.controller_moves == (controller in down)
    if not total.unjudged:
        assert set(total.groups) == {g for g, has in coordinated(cluster).items() if not has and served[g]}


@EXAMPLES
@given(clusters(edited=False, alike=True), st.data())
def test_brokers_that_die_one_after_the_other_leave_the_same_leaders(cluster, data):
    """The order matters only for edited records, and where each controller has its own default of unclean elections."""
    down = failures(data.draw, cluster)
    expected = Judge(open_case(cluster.snapshot())).every_partition(Failure(frozenset(down)))
    for broker in down:
        cluster.kill(broker)
    for tp, foretold in expected.items():
        if foretold.leader is not None:
            assert (foretold.leader, foretold.isr) == actual(cluster, tp), (tp, foretold)


@settings(max_examples=60)
@given(clusters(), st.data())
def test_what_one_failure_counts_is_the_sum_of_its_partitions(cluster, data):
    judge = Judge(open_case(cluster.snapshot()))
    failure = Failure(frozenset(failures(data.draw, cluster)))
    each, total = judge.every_partition(failure).values(), judge.judge(failure)
    assert total.stops == sum(p.fate in {Fate.STOPS, Fate.STRANDED} for p in each)
    assert total.moves == sum(p.fate is Fate.MOVES for p in each)
    assert total.stopped == sum(p.fate is Fate.STOPPED for p in each)
    assert total.under_min_isr == sum(p.falls_under is True for p in each)
    assert total.last_in_sync == sum(p.left_with_last for p in each)
    assert total.unjudged == sum(p.fate is Fate.UNKNOWN or p.falls_under is None for p in each)
