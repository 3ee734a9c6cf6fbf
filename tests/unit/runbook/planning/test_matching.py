"""Which findings one plan covers, and the keys that name it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.errors import UsageError
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Cause, Confidence, Diagnosis, Finding, Severity
from kfix.runbook.planning.matching import findings_for, in_plans
from tests import shipped

STUCK = shipped.runbook("coordinator-stuck")


def finding(code: str, obj: str, *partitions: TopicPartition) -> Finding:
    return Finding(code, Severity.CRITICAL, obj, "stuck", Cause("why", Confidence.LIKELY), partitions=partitions)


ONE = finding("KFX101", "__consumer_offsets-1", TopicPartition("__consumer_offsets", 1))
THREE = finding("KFX101", "__consumer_offsets-3", TopicPartition("__consumer_offsets", 3))
ORDERS = finding("KFX102", "orders-2", TopicPartition("orders", 2))


def test_one_cause_is_one_plan_for_all_partitions() -> None:
    [plan] = in_plans((ONE, THREE, ORDERS), STUCK)
    assert plan.partitions == (*ONE.partitions, *THREE.partitions, *ORDERS.partitions)
    assert (plan.key, plan.obj) == ("KFX101:all", "__consumer_offsets, orders (3 partitions)")


def test_more_partitions_than_a_plan_may_change_are_several_plans() -> None:
    tight = replace(STUCK, caps=replace(STUCK.caps, max_partitions=2))
    assert [plan.key for plan in in_plans((ONE, THREE, ORDERS), tight)] == [
        "KFX101:__consumer_offsets",
        "KFX102:orders-2",
    ]


def test_a_runbook_that_does_not_say_so_has_one_plan_per_topic() -> None:
    other = replace(STUCK, together=False)
    assert [plan.key for plan in in_plans((ONE, THREE, ORDERS), other)] == [
        "KFX101:__consumer_offsets",
        "KFX102:orders-2",
    ]


def test_the_key_of_a_plan_can_be_named_again() -> None:
    diagnosis = Diagnosis("c", 0.0, (ONE, THREE, ORDERS))
    [plan] = in_plans((ONE, THREE, ORDERS), STUCK)
    assert findings_for(STUCK, diagnosis, plan.key) == (plan,)
    # Also when two of them are healed in the meantime.
    assert findings_for(STUCK, Diagnosis("c", 0.0, (ORDERS,)), plan.key) == (ORDERS,)
    assert findings_for(STUCK, diagnosis, ONE.key) == (ONE,)
    with pytest.raises(UsageError, match="there is no finding"):
        findings_for(STUCK, diagnosis, "KFX101:__consumer_offsets-9")
