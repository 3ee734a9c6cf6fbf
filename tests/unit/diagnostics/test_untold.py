"""Partitions that ZooKeeper records and no broker knows."""

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import Severity
from kfix.diagnose.report.verdict import exit_code
from kfix_diagnostics.engine import diagnose, settle_seconds
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.created_cases import hidden, untold


def test_if_no_broker_knows_any_partition_the_controller_that_does_not_act_is_the_cause() -> None:
    snapshot = untold(base()).snapshot()
    [head] = diagnose(snapshot).findings
    assert (head.code, head.obj, head.worst) == ("KFX202", "controller 3", Severity.CRITICAL)
    [folded] = head.folded
    assert folded.code == "KFX121"
    assert {tp.topic for tp in folded.partitions} == {OFFSETS_TOPIC, "orders"}
    assert exit_code(diagnose(snapshot)) == 21


def test_one_topic_that_no_broker_knows_accuses_no_controller() -> None:
    snapshot = untold(base().topic("ghost", 3), "ghost").snapshot()
    assert [f.code for f in diagnose(snapshot).walk()] == ["KFX121"]


@pytest.mark.parametrize("source", ["topics of broker 1", "configs of broker 1"])
def test_where_topics_may_be_hidden_it_is_unknown(source: str) -> None:
    diagnosis = diagnose(hidden(untold(base()), source))
    assert [f.code for f in diagnosis.walk() if f.severity] == []
    assert exit_code(diagnosis) == 22


def test_a_controller_gets_the_time_of_a_second_snapshot_to_inform_the_brokers() -> None:
    first = untold(base().topic("ghost", 1), "ghost").snapshot()
    assert settle_seconds(first) == 10.0
    assert exit_code(diagnose(base().topic("ghost", 1).snapshot(), earlier=first)) == 0
    paper = untold(base().topic("ghost", 1), "ghost")
    paper.part("ghost", 0).version += 1
    assert [f.severity for f in diagnose(paper.snapshot(), earlier=first).walk()] == [Severity.INFO]
    assert [f.code for f in diagnose(first, earlier=first).walk()] == ["KFX121"]
