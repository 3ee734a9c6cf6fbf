"""Replicas that are missing: what explains them, and from when on they are an alarm."""

from __future__ import annotations

from kfix.core.derive.casefile import open_case
from kfix.core.derive.partition_facts import derive
from kfix.core.diagnosis.finding import Severity
from kfix_diagnostics.durability._missing import explained
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics.build import NOW, Paper, remembering
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.test_incidents import find


@for_each(("missing", "why"), [((3,), ("KFX401:broker 3",)), ((2,), ()), ((2, 3), ()), ((), ())])
def test_a_dead_broker_explains_its_own_replicas_and_not_those_of_one_that_lags(
    missing: tuple[int, ...], why: tuple[str, ...]
) -> None:
    paper = base().kill(3)
    for part in paper.parts.values():
        if part.leader == 1:
            part.isr = (1,)
    snapshot = paper.snapshot()
    case, rows = open_case(snapshot), tuple(row for row in derive(snapshot) if row.n_isr < row.target_rf)
    assert rows
    assert explained(missing, rows, case) == why


@for_each(("well", "alarm"), [({}, "111 s"), ({3: 100.0}, "111 s"), ({3: 4.0}, "116 s")])
def test_the_time_until_the_alarm_counts_from_the_latest_sign_of_a_restart(well: dict[int, float], alarm: str) -> None:
    paper = base().kill(3, 60).back(3, 9)
    remembered = {broker: NOW - age for broker, age in well.items()}
    finding = find(diagnose(remembering(paper.snapshot(), well=remembered)), "KFX302")
    assert finding.headline == f"broker 3 came back 9 s ago and is catching up, an alarm in {alarm}"


def test_a_broker_that_starts_again_and_again_is_an_alarm() -> None:
    [loop] = [f for f in diagnose(base().kill(3, 600).back(3, 9).snapshot()).walk() if f.code == "KFX302"]
    assert (loop.severity, loop.headline) == (Severity.WARNING, "")
    assert "broker 3 has been out of sync for at least 10 min" in loop.summary


def test_the_age_is_that_of_what_is_listed() -> None:
    paper = base().kill(3, 30)
    paper.part("orders", 2).age = 600
    [found] = [f for f in diagnose(paper.snapshot()).walk() if f.code == "KFX302"]
    assert found.summary.endswith("broker 3 has been out of sync for at least 30 s, at orders-2 for at least 10 min")


def test_a_broker_that_has_just_left_an_isr_does_not_hide_behind_one_that_left_it_long_ago() -> None:
    then, now = (Paper((1, 2, 3, 4)).topic("orders", 1, rf=4).kill(4, 300) for _ in range(2))
    now.part("orders", 0).isr = (1, 2)
    found = [f for f in diagnose(now.snapshot(), earlier=then.snapshot()).walk() if f.code == "KFX302"]
    assert {(f.obj, f.unsettled) for f in found} == {
        ("without broker 4", False),
        ("without broker 3 (just now)", True),
    }


def test_each_of_two_dead_brokers_has_a_bound_on_both_sides_and_its_witness() -> None:
    snapshot = remembering(base().kill(3, 300).kill(2, 100).snapshot(), alive={3: NOW - 320, 2: NOW - 112})
    both = find(diagnose(snapshot), "KFX401")
    assert "brokers 2, 3 are not registered and have been gone for at least 100 s and at most 6 min" in both.summary
    seen = [str(row.value).rpartition("; ")[2] for row in both.evidence[:2]]
    assert seen == ["it answered an earlier snapshot 112 s ago", "it answered an earlier snapshot 5 min ago"]
