"""Every plan that a shipped runbook makes is found to be its own, and a plan with fewer conditions is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.api import carry_out
from kfix.core.errors import KfixError, RefusedError
from kfix.heal import testing
from kfix.heal.memory.incidents import ALL
from kfix.heal.model.plan import Gate, OnFailure, Phase, Plan
from kfix.heal.model.runbook import Runbook
from kfix.heal.plan.planfile import seal
from kfix.heal.planning.origin import refuse_forged
from kfix.heal.runbook.catalogue import load_all
from tests.unit.heal.safety.test_door import SOMEWHERE, Site

RUNBOOKS = {runbook.id: runbook for runbook in load_all(None)}
Forge = Callable[[Plan], Plan]


def made(runbook: Runbook) -> Iterator[Plan]:
    for test in runbook.tests:
        try:
            plan = testing._plan(runbook, test, ALL[test.cluster]())
        except KfixError:
            continue
        if isinstance(plan, Plan):
            yield plan


@pytest.mark.parametrize("name", RUNBOOKS)
def test_the_plans_of_a_runbook_are_its_own_and_weaker_ones_are_not(name: str) -> None:
    plans = [*made(RUNBOOKS[name])]
    assert plans or name == "move-replicas"  # whose moves a person gives
    for plan in plans:
        refuse_forged(plan, RUNBOOKS[name])
        for forge in FORGED.values():
            forged = seal(forge(plan))
            if forged != plan:
                with pytest.raises(RefusedError):
                    refuse_forged(forged, RUNBOOKS[name])


FORGED: dict[str, Forge] = {
    "a shorter proof": lambda p: replace(p, goal=replace(p.goal, consecutive=p.goal.consecutive - 1)),
    "no cooldown": lambda p: replace(p, caps=replace(p.caps, cooldown=0.0)),
    "a wider limit": lambda p: replace(p, caps=replace(p.caps, max_partitions=10**6)),
    "another runbook": lambda p: replace(p, runbook=replace(p.runbook, sha256="0" * 64)),
    "a step of its own": lambda p: replace(p, steps=(*p.steps, replace(p.steps[0], id="more"))),
    "another phase": lambda p: replace(p, steps=tuple(replace(s, phase=Phase.AFTER_GOAL) for s in p.steps)),
}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


ATTACKS: dict[str, Forge] = {
    **FORGED,
    "no goal": lambda p: replace(p, goal=replace(p.goal, checks=())),
    "no preconditions": lambda p: replace(p, preconditions=()),
    "a lower gate": lambda p: replace(p, steps=tuple(replace(s, gate=Gate.PLAN) for s in p.steps)),
    "goes on": lambda p: replace(p, steps=tuple(replace(s, on_failure=OnFailure.CONTINUE) for s in p.steps)),
}


@pytest.mark.parametrize("how", ATTACKS)
def test_a_forged_plan_with_a_right_hash_changes_nothing(site: Site, how: str) -> None:
    forged = seal(ATTACKS[how](site.plan))
    if forged == site.plan:
        pytest.skip("the plan has no such part")
    site.plan, site.approval = forged, replace(site.approval, approve=(f"step:{forged.short_id}",))
    with pytest.raises(KfixError):
        site.carry_out()
    assert site.sent == []


def test_the_approval_of_one_plan_does_not_carry_out_another(site: Site) -> None:
    other = replace(site.plan, title="another plan", plan_id=site.plan.plan_id)
    with pytest.raises(RefusedError, match="its id is not that of its content; nothing was changed"):
        carry_out(other, SOMEWHERE, approval=site.approval, app=site.app)
    assert site.sent == []
