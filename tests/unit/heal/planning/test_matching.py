"""Which findings one plan covers, and the keys that name it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import Cause, Diagnosis, Finding, Severity
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.diagnose.report.screen import in_groups
from kfix.heal.planning.matching import findings_for, in_plans
from kfix_diagnostics.engine import diagnose
from tests import shipped
from tests.shipped import changed
from tests.unit.diagnostics.all_cases import CASES
from tests.unit.diagnostics.clusters import base

STUCK = shipped.runbook("coordinator-stuck")


def finding(code: str, obj: str, *partitions: TopicPartition) -> Finding:
    return Finding(obj, "stuck", Cause("why"), Severity.CRITICAL, code, partitions=partitions)


ONE = finding("KFX101", "__consumer_offsets-1", TopicPartition("__consumer_offsets", 1))
THREE = finding("KFX101", "__consumer_offsets-3", TopicPartition("__consumer_offsets", 3))
ORDERS = finding("KFX102", "orders-2", TopicPartition("orders", 2))


def test_one_cause_is_one_plan_for_all_partitions() -> None:
    [plan] = in_plans((ONE, THREE, ORDERS), STUCK)
    assert plan.partitions == (*ONE.partitions, *THREE.partitions, *ORDERS.partitions)
    assert (plan.key, plan.obj) == ("KFX101:all", "__consumer_offsets, orders (3 partitions)")


def test_more_partitions_than_a_plan_may_change_are_several_plans() -> None:
    tight = changed(STUCK, limits=changed(STUCK.limits, max_partitions=2))
    assert [plan.key for plan in in_plans((ONE, THREE, ORDERS), tight)] == [
        "KFX101:__consumer_offsets",
        "KFX102:orders-2",
    ]


def test_a_runbook_without_that_setting_has_one_plan_per_topic() -> None:
    other = changed(STUCK, on=changed(STUCK.on, together=False))
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


def diverged() -> Diagnosis:
    """One foreign writer changed the records of two offsets partitions and of a user topic."""
    paper = base()
    for tp in ((OFFSETS_TOPIC, 4), (OFFSETS_TOPIC, 43), ("orders", 2)):
        leader = paper.part(*tp).replicas[1]
        paper.forge(*tp, leader=leader, isr=(leader, paper.part(*tp).replicas[2]))
    return diagnose(paper.snapshot())


def test_the_screen_shows_one_finding_only_where_one_plan_covers_all_its_partitions() -> None:
    """Its only command is what a person pastes: a plan for a part of it would be proved, and the rest stay sick."""
    sick = {name: make for name, make in CASES.items() if "sick" in name or name.startswith("memory")}
    for name, diagnosis in (("diverged", diverged()), *((name, diagnose(make())) for name, make in sick.items())):
        for shown in in_groups(diagnosis).findings:
            acts = shown.remedies[0].runbook if shown.remedies else ""
            if acts and shown not in diagnosis.findings:
                runbook = shipped.runbook(acts)
                plans = in_plans(findings_for(runbook, diagnosis, None), runbook)
                assert any(set(shown.partitions) <= set(plan.partitions) for plan in plans), (name, shown.key)


def test_a_divergence_of_a_user_topic_beside_two_offsets_partitions_is_one_plan() -> None:
    runbook = shipped.runbook("metadata-divergence")
    [plan] = in_plans(findings_for(runbook, diverged(), None), runbook)
    assert [str(tp) for tp in plan.partitions] == ["__consumer_offsets-4", "__consumer_offsets-43", "orders-2"]


def test_two_transactions_of_one_topic_are_two_plans_since_the_proof_of_one_does_not_see_the_other() -> None:
    abort = shipped.runbook("abort-transaction")
    held = [replace(ORDERS, code="KFX116", obj=name, facts={"transactional_id": name, "producer": n})
            for n, name in enumerate(("tx-1", "tx-2"))]  # fmt: skip
    assert [plan.facts["transactional_id"] for plan in in_plans(tuple(held), abort)] == ["tx-1", "tx-2"]
