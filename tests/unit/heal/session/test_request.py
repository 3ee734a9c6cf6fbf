"""What a person asks for stands in the place of a finding; findings of other topics are left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.diagnosis.finding import REQUEST, Confidence, Diagnosis, Severity
from kfix.core.errors import RefusedError, UnreachableError, UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.incidents import ALL
from kfix.heal.planning.matching import findings_for, request, topics_of
from tests import shipped

RAISE, SWEEP, STUCK = map(shipped.runbook, ("raise-topic-rf", "sweep-throttles", "coordinator-stuck"))


def test_a_topic_with_all_of_its_partitions() -> None:
    snapshot = ALL["weak-topic"]().cluster.snapshot()
    asked = request(RAISE, "orders", snapshot, "alice")
    assert (asked.code, asked.key, asked.severity) == (REQUEST, "REQUEST:orders", Severity.INFO)
    assert asked.summary == "requested by alice"
    assert (asked.cause.text, asked.cause.confidence) == ("an operator's request", Confidence.CERTAIN)
    assert asked.partitions == tuple(TopicPartition("orders", p) for p in range(6))
    assert asked.facts == {"topic": "orders"}


def test_the_whole_cluster() -> None:
    asked = request(SWEEP, "", ALL["left-over-throttles"]().cluster.snapshot(), "alice")
    assert (asked.obj, asked.partitions, asked.facts) == ("cluster", (), {})


def test_what_is_not_there_cannot_be_asked_for() -> None:
    snapshot = ALL["weak-topic"]().cluster.snapshot()
    with pytest.raises(UsageError, match="no topic 'order' on memory-cluster, did you mean 'orders'"):
        request(RAISE, "order", snapshot, "alice")
    with pytest.raises(UsageError, match="name the topic"):
        request(RAISE, "", snapshot, "alice")
    with pytest.raises(UnreachableError, match="the list of topics could not be read"):
        request(RAISE, "orders", replace(snapshot, zookeeper=None), "alice")


def test_a_default_that_is_no_topic_here_is_not_blamed_on_the_person() -> None:
    cancel = shipped.runbook("cancel-reassignment")
    with pytest.raises(UsageError, match="to run it without one, name the topic"):
        request(cancel, str(cancel.params["topic"].default), ALL["weak-topic"]().cluster.snapshot(), "alice")


def test_findings_of_a_topic() -> None:
    stuck, orders = ALL["coordinator-stuck"]().finding, ALL["partition-stuck"]().finding
    both = Diagnosis("c", 0.0, (stuck, orders))
    assert findings_for(STUCK, both, None) == (stuck, orders)
    assert findings_for(STUCK, both, None, "orders") == (orders,)
    assert findings_for(STUCK, both, None, "other") == ()
    assert topics_of(orders) == {"orders"}


def test_a_finding_that_a_request_runbook_is_not_for_is_refused_by_its_purpose() -> None:
    stuck = ALL["coordinator-stuck"]().finding
    with pytest.raises(RefusedError, match=r"is for requests \(topic\), not for KFX101"):
        findings_for(RAISE, Diagnosis("c", 0.0, (stuck,)), stuck.key)
