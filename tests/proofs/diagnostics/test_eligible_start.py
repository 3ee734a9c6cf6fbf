"""No advice that loses a record where a start loses none: the advice is carried out on a model of Kafka's own rules."""

from __future__ import annotations

import copy
import re
import shlex
from collections.abc import Iterable, Iterator

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import ChangeKind, Diagnosis, Finding, Remedy
from kfix.heal.actions.elections import longest, put_first
from kfix_diagnostics.engine import diagnose
from tests.proofs.diagnostics.leaderless_model import BROKERS, UNCLEAN, Cluster, Partition, clusters, happen, history

WITHOUT_LEADER = {"KFX103", "KFX104", "KFX119"}
#: What makes brokers register.
REGISTER = {ChangeKind.START, ChangeKind.RESTART, ChangeKind.REGISTRATION}
WOULD_NOT_WIN = re.compile(r"unclean election of (\S+) makes .* Broker (\d+) would not win")
LED_LAST = re.compile(r"puts broker (\d+), which led last, first")


def judged(cluster: Cluster) -> Diagnosis:
    return diagnose(cluster.snapshot(), criteria=Criteria(prevention=True))


def about(part: Partition, diagnosis: Diagnosis) -> Finding:
    return next(f for f in diagnosis.walk() if part.tp in f.partitions and f.code in WITHOUT_LEADER)


def next_advice(part: Partition, diagnosis: Diagnosis) -> Remedy:
    """Returns the first remedy for the partition, or that of the finding which has to be resolved before."""
    by_key = {finding.key: finding for finding in diagnosis.walk()}
    finding, seen = about(part, diagnosis), set[str]()
    while (remedy := finding.remedies[0]).after:
        assert finding.key not in seen, "findings wait for each other"
        seen.add(finding.key)
        finding = by_key[remedy.after]
    return remedy


def follow(remedy: Remedy, cluster: Cluster) -> None:
    if remedy.command.endswith(f"{UNCLEAN}=false"):
        words = shlex.split(remedy.command)
        cluster.forbid_unclean(words[words.index("--entity-name") + 1])
        return
    assert {ChangeKind.START, ChangeKind.REGISTRATION} & set(remedy.changes), remedy
    assert remedy.brokers, remedy
    for broker in remedy.brokers:
        cluster.start(broker)


@settings(max_examples=500, deadline=None)
@given(clusters(), st.data())
def test_the_advice_is_followed_until_every_partition_has_a_leader_with_every_record(
    cluster: Cluster, data: st.DataObject
) -> None:
    """The first remedy for one of the partitions, whichever, and again: none that may lose a record comes before."""
    for _ in range(2 * len(BROKERS) + len(cluster.parts)):
        if not cluster.leaderless:
            break
        diagnosis = judged(cluster)
        follow(next_advice(data.draw(st.sampled_from(cluster.leaderless)), diagnosis), cluster)
        assert all(part.whole for part in cluster.parts)
    assert not cluster.leaderless, "the advice was followed, and no leader was elected"


def registering(diagnosis: Diagnosis) -> Iterator[tuple[Finding, Remedy]]:
    """Yields the remedies that make brokers register, which no finding holds back and no setting precedes."""
    for finding in diagnosis.walk():
        for remedy in finding.remedies:
            if remedy.command.endswith(f"{UNCLEAN}=false"):
                break
            if REGISTER & set(remedy.changes) and not remedy.after:
                yield finding, remedy


def carry_out(remedy: Remedy, brokers: Iterable[int], cluster: Cluster) -> None:
    for broker in brokers:
        if ChangeKind.RESTART in remedy.changes:
            cluster.restart(broker)
        else:
            cluster.start(broker)
        assert all(part.whole for part in cluster.parts), (remedy, broker)


@settings(max_examples=1000, deadline=None)
@given(clusters() | clusters(waits=True) | clusters(forgets=True), st.data())
def test_no_remedy_of_any_finding_that_makes_brokers_register_loses_a_record(
    cluster: Cluster, data: st.DataObject
) -> None:
    """In any order, and followed in part."""
    found = [*registering(judged(cluster))]
    for _, remedy in found:
        assert ChangeKind.START not in remedy.changes or not set(remedy.brokers) & cluster.brokers.fenced, "it runs"
    if found:
        finding, remedy = data.draw(st.sampled_from(found))
        event(f"{finding.code} {', '.join(remedy.changes)}")
        carry_out(remedy, data.draw(st.permutations(remedy.brokers or BROKERS)), cluster)


def heals(part: Partition, cluster: Cluster) -> bool:
    """Whether the partition gets a leader with every record when all brokers come back, without an unclean election."""
    tried = copy.deepcopy(cluster)
    for each in tried.parts:
        each.unclean = False
    for broker in BROKERS:
        tried.start(broker)
    [same] = [each for each in tried.parts if each.tp == part.tp]
    return same.leader >= 0 and same.whole


@settings(max_examples=500, deadline=None)
@given(clusters() | clusters(waits=True) | clusters(forgets=True))
def test_no_unclean_election_comes_before_a_start_that_heals(cluster: Cluster) -> None:
    diagnosis = judged(cluster)
    for part in cluster.leaderless:
        for finding in (f for f in diagnosis.walk() if part.tp in f.partitions):
            kinds = [r for r in finding.remedies if not r.after]
            at = [n for n, r in enumerate(kinds) if ChangeKind.UNCLEAN_ELECTION in r.changes]
            if not at:
                continue
            event(finding.code)
            assert cluster.eligible_read or part.isr, "it is not known who may lead"
            before, after = kinds[: at[0]], kinds[at[0] :]
            assert not any(ChangeKind.START in r.changes for r in after), finding.remedies
            starts = any(REGISTER & set(r.changes) for r in before)
            assert starts or not heals(part, cluster), finding.remedies


@settings(max_examples=500, deadline=None)
@given(clusters(unread=False) | clusters(waits=True, unread=False) | clusters(forgets=True))
def test_only_where_no_start_helps_a_finding_states_that_no_replica_is_eligible(cluster: Cluster) -> None:
    diagnosis = judged(cluster)
    for part in cluster.leaderless:
        finding = about(part, diagnosis)
        event(finding.code)
        nobody = "Kafka knows no replica that is eligible to lead" in finding.summary
        assert heals(part, cluster) or nobody or not cluster.eligible_read
        assert not (nobody and heals(part, cluster))


@settings(max_examples=500, deadline=None)
@given(clusters(unread=False) | clusters(waits=True, unread=False))
def test_the_replica_that_is_to_come_first_has_the_longest_log(cluster: Cluster) -> None:
    diagnosis = judged(cluster)
    parts = {str(part.tp): part for part in cluster.leaderless}
    for finding in diagnosis.walk():
        text = " ".join(remedy.text for remedy in finding.remedies)
        for name, broker in WOULD_NOT_WIN.findall(text):
            event("the longest log")
            assert parts[name].tails()[int(broker)] == max(parts[name].tails().values())
        for broker in LED_LAST.findall(text):
            event("the last leader")
            for tp in finding.partitions:
                tails = parts[str(tp)].tails()
                assert tails[int(broker)] == max(tails.values())


@settings(max_examples=300, deadline=None)
@given(clusters(unread=False, forgets=True))
def test_where_no_replica_is_eligible_the_longest_of_all_logs_is_elected_and_keeps_every_record(
    cluster: Cluster,
) -> None:
    lost = [part for part in cluster.leaderless if not part.isr]
    if not lost:
        return
    part = lost[0]
    for _ in range(2 * len(BROKERS) + len(cluster.parts)):
        diagnosis = judged(cluster)
        first = [next_advice(each, diagnosis) for each in cluster.leaderless]
        remedy = next((r for r in first if r.command.endswith(f"{UNCLEAN}=false")), next_advice(part, diagnosis))
        if remedy.runbook == "unclean-election":
            break
        follow(remedy, cluster)
    assert remedy.runbook == "unclean-election"
    assert remedy.command
    tails = part.tails()
    best = longest(part.tp, part.replicas, tails)
    part.replicas = put_first(part.replicas, best)
    part.elect(unclean=True)
    assert part.leader == best
    assert tails[best] == max(tails.values())
    assert part.whole


@settings(max_examples=300, deadline=None)
@given(clusters(), history(8))
def test_whatever_happens_no_record_is_lost_before_an_unclean_election(
    cluster: Cluster, happenings: list[tuple[str, int]]
) -> None:
    """The model itself: whoever is elected without an unclean election has every acknowledged record."""
    for part in cluster.parts:
        part.unclean = False
    for what, broker in happenings:
        happen(cluster, what, broker)
        assert all(part.whole for part in cluster.parts)
