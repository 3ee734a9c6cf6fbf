"""When one member of a fault is gone, what remains keeps its key: it is neither fixed nor new."""

import random
from collections.abc import Set as AbstractSet

import pytest

from kfix.core.criteria import Criteria
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.build import Paper

WIDE = Criteria(prevention=True)
#: Findings about brokers that are away; those about single partitions end with their partition.
ABOUT_BROKERS = ("KFX301", "KFX302", "KFX401", "KFX404", "KFX501")


def cluster(seed: int, min_isr: int, dead: set[int], lagging: AbstractSet[int] = frozenset()) -> Paper:
    """Six brokers, 80 partitions of 4 replicas. `dead` are killed; `lagging` are alive and in no ISR."""
    dice = random.Random(seed)
    paper = Paper(range(1, 7))
    paper.topic("orders", 80, replicas=[dice.sample(range(1, 7), 4) for _ in range(80)])
    paper.min_isr = min_isr
    for broker in sorted(dead):
        paper.kill(broker)
    for part in paper.parts.values():
        if part.leader not in lagging:
            part.isr = tuple(b for b in part.isr if b not in lagging)
    return paper


def keys(paper: Paper) -> set[str]:
    return {f.key for f in diagnose(paper.snapshot(), criteria=WIDE).walk() if f.code in ABOUT_BROKERS}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("min_isr", [1, 4])
def test_the_findings_of_the_brokers_that_stay_away_keep_their_keys(seed, min_isr):
    dice = random.Random(seed)
    away = dice.sample(range(1, 7), 3)
    dead, lagging = (
        ({*away}, set()) if seed % 3 == 0 else ({away[0]}, {*away[1:]}) if seed % 3 == 1 else (set(), {*away})
    )
    all_of_it = keys(cluster(seed, min_isr, dead, lagging))
    assert all_of_it
    for back in away:
        rest = keys(cluster(seed, min_isr, dead - {back}, lagging - {back}))
        assert rest
        assert rest <= all_of_it, (back, rest - all_of_it)
        assert all(key.endswith((f"broker {back}", "missing replicas")) for key in all_of_it - rest), all_of_it - rest


def test_brokers_that_die_together_are_one_head_and_every_key_stays():
    found = diagnose(cluster(1, 1, {2, 3, 5}).snapshot())
    [head] = [f for f in found.findings if f.code == "KFX401"]
    assert (head.key, head.obj) == ("KFX401:broker 2", "brokers 2, 3, 5")
    assert "brokers 2, 3, 5 are not registered" in head.summary
    assert {f.key for f in head.folded} >= {"KFX401:broker 3", "KFX401:broker 5", "KFX302:without broker 3"}
    [after] = [f for f in diagnose(cluster(1, 1, {3, 5}).snapshot()).findings if f.code == "KFX401"]
    assert after.key == "KFX401:broker 3"


@pytest.mark.parametrize(("min_isr", "code"), [(1, "KFX302"), (3, "KFX301")])
def test_partitions_that_two_live_brokers_lag_behind_are_one_head(min_isr, code):
    paper = Paper(range(1, 5)).topic("orders", 6, replicas=[[1, 2, 3, 4]] * 6)
    paper.min_isr = min_isr
    for part in paper.parts.values():
        part.isr = (1, 2)
    [head] = [f for f in diagnose(paper.snapshot()).findings if f.code == code]
    assert [f.key for f in head.folded if f.code == code] == ([f"{code}:without broker 4"] if min_isr == 1 else [])


@pytest.mark.parametrize("left", [6, 5, 1])
def test_a_missing_rack_keeps_its_key(left):
    paper = Paper(range(1, 7), dict.fromkeys(range(1, 7 - left), "a"))
    assert {f.key for f in diagnose(paper.snapshot(), criteria=WIDE).walk() if f.code == "KFX606"} == {"KFX606:racks"}


def test_many_partitions_keep_one_key_whatever_their_topics_are():
    def found(*topics: str) -> set[str]:
        paper = Paper()
        for topic in topics:
            paper.topic(topic, 30, replicas=[[3, 1, 2]] * 30)
            for p in range(30):
                paper.part(topic, p).write(leader=-1, isr=(2,), age=60)
        paper.forget(1)
        return {f.key for f in diagnose(paper.snapshot()).walk() if f.code == "KFX102"}

    assert found("a", "b") == found("a") == {"KFX102:many partitions"}
