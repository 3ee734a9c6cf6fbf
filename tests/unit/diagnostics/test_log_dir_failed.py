"""A failed log directory of a live broker: no election helps, and the broker itself has to be restarted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.derive.partition_facts import derive
from kfix.core.diagnosis.finding import ChangeKind, Confidence, Severity
from kfix.core.snapshot.snapshot import LogEnd, TopicPartition
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics import disk_clusters
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.disk_clusters import LOGS
from tests.unit.diagnostics.test_incidents import find

LEADERLESS = {"KFX101", "KFX102", "KFX103", "KFX104", "KFX107", "KFX119"}


def codes(snapshot, tp=LOGS):
    return {f.code for f in diagnose(snapshot).walk() if tp in f.partitions and f.severity}


@pytest.mark.parametrize(
    "make",
    [
        disk_clusters.only_in_sync,
        lambda: disk_clusters.only_in_sync(asked=False),
        disk_clusters.only_eligible,
        lambda: disk_clusters.only_eligible(last_known=True),
    ],
    ids=["ISR", "log end not asked", "ELR", "last known leader"],
)
def test_the_disk_is_the_cause_and_no_finding_promises_an_election(make):
    found = diagnose(make())
    assert codes(make()).isdisjoint(LEADERLESS)
    finding = find(found, "KFX406")
    assert finding.severity is Severity.CRITICAL
    assert "producers and consumers of logs-0" in finding.blocked.who
    [restart] = [r for r in finding.remedies if ChangeKind.RESTART in r.changes]
    assert (restart.brokers, restart.after) == ((2,), "")
    assert "Repair the disk with its old data, then restart broker 2" in restart.text
    assert any("empty disk" in each for each in finding.never)
    said = [r.text for f in found.walk() for r in f.remedies]
    assert not [text for text in said if "Elect" in text or "quorum" in text]
    assert not [n for f in found.walk() for n in f.never if n.startswith("Do not restart broker 2:")]


def test_the_answer_of_the_broker_itself_is_proof():
    assert find(diagnose(disk_clusters.only_in_sync()), "KFX406").cause.confidence is Confidence.CERTAIN
    assert find(diagnose(disk_clusters.only_in_sync(asked=False)), "KFX406").cause.confidence is Confidence.LIKELY


def test_another_in_sync_replica_that_is_online_is_elected():
    snapshot = disk_clusters.only_in_sync(2, 3)
    assert codes(snapshot) == {"KFX102", "KFX406"}
    finding = find(diagnose(snapshot), "KFX102")
    assert "although in-sync replica 3 is alive" in finding.summary
    assert finding.facts["live_isr"] == (3,)


def test_another_in_sync_replica_that_is_dead_is_started():
    finding = find(diagnose(disk_clusters.only_in_sync(2, 3, dead=(3,))), "KFX406")
    assert finding.remedies[0].text == "Start broker 3 with its old disk, never with an empty one: it is in sync, too"


def test_where_others_lead_the_missing_replica_is_no_matter_of_a_link():
    found = diagnose(disk_clusters.led_by_others())
    [head] = [f for f in found.findings if f.code == "KFX406"]
    assert (head.severity, [f.code for f in head.folded]) == (Severity.WARNING, ["KFX302"])
    assert head.folded[0].cause.text == "a log directory of broker 2 failed, see KFX406"
    assert [r.text for r in head.folded[0].remedies] == ["Repair the failed log directory of broker 2: see KFX406"]
    assert "Repair or replace the disk, then restart broker 2" in head.remedies[0].text


def test_a_replica_whose_log_was_read_just_now_is_in_no_failed_directory():
    """A broker that shuts down: the controller counts its replicas as offline, and the broker still answers."""
    answered = replace(disk_clusters.only_in_sync(asked=False), log_ends={LOGS: {2: LogEnd(0, 90)}})
    codes = {f.code for f in diagnose(answered).findings}
    assert "KFX102" in codes
    assert "KFX406" not in codes
    [row] = [each for each in derive(answered) if each.tp == LOGS]
    assert (row.n_online_isr, row.n_failed_replicas) == (1, 0)


def test_a_replica_in_a_failed_directory_wins_no_unclean_election():
    paper = base().topic("logs", 1, replicas=[[3, 2, 1]]).kill(3)
    paper.parts[LOGS].write(leader=-1, isr=(3,), age=60)
    ends = {LOGS: {1: 40, 2: 50}}
    paper.log_ends = ends
    plain = find(diagnose(paper.snapshot()), "KFX103")
    assert any("makes broker 2 leader" in r.text for r in plain.remedies)
    paper.log_ends = {LOGS: {1: 40}}
    failed = find(diagnose(disk_clusters.offline(paper.snapshot(), 2, [LOGS])), "KFX103")
    assert any("makes broker 1 leader" in r.text for r in failed.remedies)
    paper.log_ends = {}
    none = disk_clusters.offline(disk_clusters.offline(paper.snapshot(), 2, [LOGS]), 1, [LOGS])
    assert not [r for r in find(diagnose(none), "KFX103").remedies if "unclean election" in r.text]


@pytest.mark.parametrize(
    ("make", "online", "failed"),
    [
        (disk_clusters.only_in_sync, 0, 1),
        (disk_clusters.unnoticed_return, 1, 0),
        (lambda: disk_clusters.only_in_sync(2, 3, dead=(3,)), 0, 1),
        (lambda: disk_clusters.offline(base().topic("logs", 1).snapshot(), 2, [LOGS], by=[1]), 3, 0),
    ],
    ids=["failed", "the controller has not acted", "the dead are not counted", "one broker alone reports it"],
)
def test_the_facts_count_what_every_broker_reports(make, online, failed):
    [row] = [each for each in derive(make()) if each.tp == LOGS]
    assert (row.n_online_isr, row.n_failed_replicas) == (online, failed)


def test_unknown_liveness_is_no_failure():
    snapshot = disk_clusters.only_in_sync()
    blind = replace(snapshot, zookeeper=None, views={})
    assert [each for each in derive(blind) if each.tp == TopicPartition("logs", 0)] == []


def test_a_replica_in_a_failed_directory_is_no_sign_of_a_cut_link():
    """Broker 2 is in sync with leader 3 and was removed by leader 1 alone, which a cut link shows as well."""
    paper = base().topic("logs", 1, replicas=[[1, 2, 3]])
    paper.parts[LOGS].write(leader=1, isr=(1, 3), age=600)
    for part in paper.parts.values():
        if part.leader == 1 and 2 in part.isr:
            part.write(leader=1, isr=tuple(b for b in part.isr if b != 2), age=600)
    lacking = [tp for tp, part in paper.parts.items() if 2 not in part.isr]
    assert "KFX801" in {f.code for f in diagnose(paper.snapshot()).walk()}
    assert "KFX801" not in {f.code for f in diagnose(disk_clusters.offline(paper.snapshot(), 2, lacking)).walk()}
