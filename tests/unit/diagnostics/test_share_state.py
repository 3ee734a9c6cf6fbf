"""`__share_group_state` of Kafka 4 is an internal topic: what share groups acknowledge is written there."""

from __future__ import annotations

from kfix.core.derive.casefile import open_case
from kfix.core.derive.coordinator import SHARE_TOPIC
from kfix.core.diagnosis.finding import Diagnosis, Finding
from kfix.core.failures.judging import forecast
from kfix.core.failures.scenarios import failure_of
from kfix.core.snapshot.snapshot import TopicPartition
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.build import Paper

STATE = TopicPartition(SHARE_TOPIC, 0)


def sharing(rf: int = 3) -> Paper:
    return kraft_clusters.kraft(Paper().offsets(6).topic(SHARE_TOPIC, 1, rf))


def judged(paper: Paper) -> Diagnosis:
    return diagnose(paper.snapshot(quorum=kraft_clusters.quorum(fenced=tuple({1, 2, 3} - paper.registered.keys()))))


def finding(paper: Paper, code: str) -> Finding:
    return next(f for f in judged(paper).walk() if f.code == code and STATE in f.partitions)


def test_without_a_leader_it_blocks_share_groups_and_not_producers_of_a_topic() -> None:
    found = finding(sharing(1).kill(1), "KFX104")
    assert found.blocked is not None
    assert found.blocked.who == "share groups that read a partition whose state hashes to these partitions"


def test_below_min_isr_acknowledgements_fail_and_commits_are_not_mentioned() -> None:
    paper = sharing().kill(2)
    paper.min_isr = 3
    found = finding(paper, "KFX304")
    assert found.summary.startswith(
        "commits of groups and transactions, and acknowledgements of share groups, fail for"
    )
    alone = kraft_clusters.kraft(Paper().topic(SHARE_TOPIC, 1)).kill(2)
    alone.min_isr = 3
    found = finding(alone, "KFX304")
    assert found.summary.startswith(f"acknowledgements of share groups fail for {STATE}, while reads work: ")
    assert found.blocked is not None
    assert found.blocked.who == "share groups that read a partition whose state hashes to these partitions"
    assert not found.blocked.others_unknown


def test_with_one_replica_the_runbook_of_internal_topics_is_offered() -> None:
    found = finding(sharing(1), "KFX303")
    assert found.remedies[0].runbook == "raise-offsets-rf"
    assert "share.coordinator.state.topic.replication.factor" in found.cause.text


def test_a_forecast_names_the_partitions_of_share_groups_that_stop() -> None:
    case = open_case(sharing(1).snapshot(quorum=kraft_clusters.quorum()))
    [one] = forecast(case, [failure_of("broker=1", case)]).failures
    assert one.share_states == (0,)
    assert one.transactions == ()
