"""The word healthy is for healthy: what is missing, left over or under way stands in the first lines."""

from __future__ import annotations

import pytest

from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.diagnose.report.json_findings import as_dict
from kfix.diagnose.report.screen import screen_lines
from kfix.diagnose.report.table import findings_text
from kfix.diagnose.report.verdict import exit_code, nagios_line
from kfix.front.lines import lines_text
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.clusters import base, deleting, stuck_reassignment
from tests.unit.diagnostics.throttle_cases import throttled

HERE, FEW = TopicPartition("few", 0), TopicPartition("few", 1)


def few() -> Paper:
    """`few` has two replicas, where three are advised."""
    return base().topic("few", 2, replicas=[[1, 2], [2, 3]])


def commands(diagnosis: Diagnosis, runbook: str) -> list[str]:
    return [r.command for f in diagnosis.walk() for r in f.remedies if r.runbook == runbook]


@pytest.mark.parametrize(
    ("paper", "words"),
    [
        (base().kill(3, 12), "no alarm, but broker 3 has been gone for at most 27 s, an alarm in 93 s"),
        (base().kill(3, 95), "no alarm, but broker 3 has been gone for at most 110 s, an alarm in 10 s"),
        (base().kill(3, 200).back(3, 9), "no alarm, but broker 3 came back 9 s ago and is catching up, an alarm in"),
        (deleting().kill(3, 12), "the deletion of old waits for broker 3"),
        (throttled(lists={}), "no alarm, but replication throttles are left over"),
    ],
)
def test_the_first_line_states_what_is_missing_and_when_it_becomes_an_alarm(paper: Paper, words: str) -> None:
    for prevention in (False, True):
        diagnosis = diagnose(paper.snapshot(), criteria=Criteria(prevention=prevention))
        if prevention and exit_code(diagnosis):
            continue  # latent risks of the test's cluster are warnings
        first = " ".join(findings_text(diagnosis, width=400).splitlines()[:1])
        assert exit_code(diagnosis) == 0
        assert words in first
        assert "healthy" not in first
        assert words in nagios_line(diagnosis)
        assert as_dict(diagnosis)["headlines"] == list(diagnosis.headlines)


def test_a_cluster_that_one_more_failure_would_stop_is_degraded_during_restarts() -> None:
    paper = base().kill(3, 95).kill(2, 12)
    paper.min_isr = 1
    diagnosis = diagnose(paper.snapshot())
    first, what, *_ = lines_text(screen_lines(diagnosis, 400), 400).splitlines()
    left = "62 partitions have one in-sync replica left, an alarm in 10 s"
    down = "2 of 3 brokers are down: 2 (at most 27 s), 3 (at most 110 s)"
    assert f"DEGRADED (1 warning, 2 info): {down}; {left}" in first
    assert what.startswith("what: brokers 2, 3 are not registered")
    assert exit_code(diagnosis) == 20


def test_a_healthy_cluster_with_advice_is_called_healthy() -> None:
    assert "healthy, with advice" in findings_text(diagnose(few().snapshot())).splitlines()[0]
    assert "healthy (" in findings_text(diagnose(base().snapshot())).splitlines()[0]


def test_a_reassignment_that_waits_for_a_restarting_broker_is_in_the_first_line() -> None:
    paper = stuck_reassignment()
    paper.kill(4, 12)
    for part in paper.parts.values():
        part.age = min(part.age, 12.0)
    first = findings_text(diagnose(paper.snapshot(), criteria=Criteria(restart_grace=10_000)), width=400).splitlines()[
        0
    ]
    assert "healthy" not in first


def test_a_running_reassignment_is_mentioned() -> None:
    paper = base()
    paper.part("orders", 0).adding = (3,)
    paper.part("orders", 1).adding = (3,)
    diagnosis = diagnose(paper.snapshot())
    assert "orders (2 partitions) is being reassigned." in findings_text(diagnosis, width=400).splitlines()[2]
    assert as_dict(diagnosis)["notes"] == ["orders (2 partitions) is being reassigned"]


def test_no_other_factor_is_advised_for_a_topic_that_is_being_reassigned() -> None:
    moving = few().snapshot(reassignments={HERE: Assignment((1, 2, 3), (3,))})
    for prevention in (False, True):
        diagnosis = diagnose(moving, criteria=Criteria(prevention=prevention))
        assert not [c for c in commands(diagnosis, "raise-topic-rf") if "topic=few" in c]
        texts = [r.text for f in diagnosis.walk() for r in f.remedies if r.runbook == "raise-topic-rf"]
        assert any("Wait until the reassignment of few has ended" in text for text in texts)
    assert [c for c in commands(diagnose(few().snapshot()), "raise-topic-rf") if "topic=few" in c]


def test_no_reassignment_is_advised_for_a_topic_with_a_partition_that_has_no_leader() -> None:
    paper = few().topic("other", 1, replicas=[[1, 2]])
    part = paper.part("few", 0)
    part.write(leader=-1, isr=(2,), age=60)
    [command] = commands(diagnose(paper.snapshot()), "raise-topic-rf")
    assert "topic=other" in command
    del paper.parts[TopicPartition("other", 0)]
    diagnosis = diagnose(paper.snapshot())
    assert commands(diagnosis, "raise-topic-rf") == [""]
    assert "until every partition of few has a leader: a reassignment hangs before" in findings_text(diagnosis, 400)
