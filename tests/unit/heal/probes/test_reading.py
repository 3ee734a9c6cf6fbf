"""Probes tell what they saw, and never take unknown for well."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kfix.core.args import ArgKind, Args, coerce, parse_duration, parse_partition
from kfix.core.derive.coordinator import partition_of_group
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.incidents import ALL, STUCK
from kfix.heal.model.answer import Verdict, together
from kfix.heal.model.facts import about, split_key
from kfix.heal.model.plan import CheckCall
from kfix.heal.probes.coordinators import freeze, group_on
from kfix.heal.probes.facts import FactReader, read_facts
from kfix.heal.probes.registry import ask
from tests.each import for_each

ON_STUCK = Args({"partition": str(STUCK)})


@for_each("partitions", [1, 5, 31, 50, 62, 93, 155, 186])
def test_a_group_can_be_made_up_for_every_partition(partitions: int) -> None:
    """31 and its multiples are the hard ones: the hash multiplies by 31."""
    for partition in range(partitions):
        assert partition_of_group(group_on(partition, partitions), partitions) == partition


def test_no_group_lives_on_a_partition_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="there is no partition 50 of 50"):
        group_on(50, 50)


def test_a_topic_that_does_not_exist_has_no_coordinator() -> None:
    cluster = ALL["coordinator-stuck"]().cluster
    with pytest.raises(RefusedError, match="does not exist"):
        freeze(Args({"partition": "none-0"}), FactReader(cluster))


@pytest.mark.parametrize(
    ("incident", "verdict"), [("metadata-divergence", "pass"), ("metadata-divergence-short-log", "fail")]
)
def test_the_heir_must_hold_the_whole_log_of_the_followed_leader(incident: str, verdict: str) -> None:
    assert ask(CheckCall("isr_holds_leader_log", ON_STUCK), ALL[incident]().cluster).verdict == verdict


def test_an_heir_that_catches_up_while_being_looked_at_holds_the_log() -> None:
    cluster = ALL["metadata-divergence-short-log"]().cluster
    cluster.faults.before("log_ends", lambda: cluster.append(STUCK, 7, (1,)), after_calls=3)
    answer = ask(CheckCall("isr_holds_leader_log", ON_STUCK), cluster)
    assert answer.passed
    assert answer.observed == "broker 1 holds what [1, 2, 3] hold"


def test_a_log_as_long_but_of_an_older_epoch_is_another_log() -> None:
    cluster = ALL["metadata-divergence"]().cluster
    cluster.append(STUCK, 7, (3,), epoch=2)
    cluster.append(STUCK, 7, (1,), epoch=1)
    answer = ask(CheckCall("isr_holds_leader_log", ON_STUCK), cluster)
    assert answer.verdict is Verdict.FAIL
    assert answer.observed == "the last record of broker 1 is of epoch 1, that of broker 3 of epoch 2: the logs differ"
    cluster.logs.epochs[STUCK][1] = -1
    assert ask(CheckCall("isr_holds_leader_log", ON_STUCK), cluster).verdict is Verdict.INCONCLUSIVE
    cluster.logs.epochs[STUCK].update({2: -1, 3: -1})
    assert ask(CheckCall("isr_holds_leader_log", ON_STUCK), cluster).passed


def test_a_registered_broker_that_gives_no_view_may_follow_a_leader_of_its_own() -> None:
    cluster = ALL["metadata-divergence"]().cluster
    del cluster.brokers[2].views[STUCK]
    answer = ask(CheckCall("isr_holds_leader_log", ON_STUCK), cluster)
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "broker 2 does not report which leader it follows" in answer.observed


def test_the_leader_that_a_phantom_replaced_is_known_by_its_log_alone() -> None:
    """All name the phantom, so no view differs; clients that have not heard of it still write to the old leader."""
    incident = ALL["coordinator-silent"]()
    cluster, [tp] = incident.cluster, incident.finding.partitions
    call = CheckCall("isr_holds_leader_log", Args({"partition": str(tp)}))
    assert ask(call, cluster).passed
    phantom = cluster.records.states[tp].leader
    old = next(b for b in cluster.records.assignments[tp].replicas if b != phantom)
    cluster.append(tp, 5, (old,))
    assert ask(call, cluster).verdict is Verdict.FAIL


def test_an_heir_that_is_dead_inherits_nothing() -> None:
    cluster = ALL["coordinator-stuck"]().cluster
    cluster.control.inform([])
    answer = ask(CheckCall("isr_holds_leader_log", ON_STUCK), cluster)
    assert answer.verdict is not Verdict.PASS


def test_a_group_that_moved_since_the_plan_proves_nothing() -> None:
    cluster = ALL["metadata-divergence"]().cluster
    elsewhere = Args({"partition": str(STUCK), "group": group_on(3, 50)})
    assert ask(CheckCall("coordinator_answers", elsewhere), cluster).verdict is Verdict.INCONCLUSIVE


def test_views_that_differ_fail_even_where_another_broker_is_silent() -> None:
    cluster = ALL["metadata-divergence"]().cluster
    cluster.silence(2)
    assert ask(CheckCall("views_agree", ON_STUCK), cluster).verdict is Verdict.FAIL


def test_one_failure_outweighs_what_is_unknown_and_nothing_at_all_is_unknown() -> None:
    assert together([Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL]) is Verdict.FAIL
    assert together([Verdict.PASS, Verdict.INCONCLUSIVE]) is Verdict.INCONCLUSIVE
    assert together([]) is Verdict.INCONCLUSIVE


def test_facts_read_together_come_from_one_reading() -> None:
    cluster = ALL["coordinator-stuck"]().cluster
    keys = about(STUCK, "leader", "leader_epoch", "isr", "live_isr", "assignment", "live_replicas")
    assert read_facts(cluster, keys).keys() == set(keys)
    assert cluster.faults.reads == ["partition"]


def test_a_partition_that_does_not_exist_has_absent_facts_and_a_silent_source_has_none() -> None:
    cluster = ALL["coordinator-stuck"]().cluster
    (key,) = about(TopicPartition("none", 0), "isr")
    assert read_facts(cluster, [key])[key].value is None
    cluster.faults.unreadable["zookeeper"] = "gone"
    with pytest.raises(UnreachableError, match="gone"):
        read_facts(cluster, [key])


@pytest.mark.parametrize(("text", "seconds"), [("200ms", 0.2), ("90s", 90), ("2m", 120), ("1h", 3600), ("0.5s", 0.5)])
def test_durations_carry_their_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("value", ["5", 5, "5 s", "", None, "-1s", "1d"])
def test_what_carries_no_unit_is_no_duration(value: object) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(value)


@given(st.text("abzAZ019._-", min_size=1), st.integers(0, 10**6))
def test_a_partition_is_read_back_from_its_own_text(topic: str, number: int) -> None:
    tp = TopicPartition(topic, number)
    assert parse_partition(str(tp)) == tp
    parts = split_key(about(tp, "isr")[0])
    assert (parts.tp, parts.name) == (tp, "isr")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ArgKind.INT, True),
        (ArgKind.INT, "1"),
        (ArgKind.BOOL, 1),
        (ArgKind.TEXT, 1),
        (ArgKind.BROKERS, ["1"]),
        (ArgKind.PARTITION, "orders"),
    ],
)
def test_a_value_of_another_kind_is_refused(kind: ArgKind, value: object) -> None:
    with pytest.raises(ValueError, match="is not"):
        coerce(kind, value)
