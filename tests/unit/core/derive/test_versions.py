"""A rule that not every release follows is asked of the broker that decides, by what shows its release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from kfix.core.derive.casefile import open_case
from kfix.core.derive.predicate import parse
from kfix.core.derive.versions import CAPS_MIN_ISR, RULES, Releases
from kfix.core.failures import masks
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.snapshot import NEWEST_PROTOCOL, PROTOCOL, Snapshot, TopicPartition
from tests.matrix.results import LINES
from tests.unit.diagnostics.build import Paper

PAIR = TopicPartition("pairs", 0)
KEY = "min.insync.replicas"


def pair(settings: Mapping[str, str] = MappingProxyType({}), quorum: QuorumView | None = None) -> Snapshot:
    """Two replicas in sync, a minimum of three, and these settings on every broker."""
    paper = Paper().topic("pairs", 1, rf=2)
    paper.topic_settings["pairs"] = {KEY: "3"}
    paper.broker_settings = {b: dict(settings) for b in paper.brokers}
    return replace(paper.snapshot(), quorum=quorum)


def newest(version: str) -> dict[str, str]:
    return {PROTOCOL: "2.7-IV2", NEWEST_PROTOCOL: version}


@pytest.mark.parametrize(
    ("snapshot", "follows"),
    [
        (pair(newest("2.7-IV2")), False),
        (pair(newest("3.6-IV2")), False),
        (pair(newest("3.7-IV4")), True),
        (pair(newest("3.9-IV0")), True),
        (pair({PROTOCOL: "3.7-IV4"}), True),
        (pair({PROTOCOL: "2.7-IV2"}), None),
        (pair(), None),
        (pair(quorum=QuorumView(supported={1: 14, 2: 14, 3: 14})), False),
        (pair(quorum=QuorumView(supported={1: 15, 2: 21, 3: 30})), True),
        (pair(quorum=QuorumView(features={"metadata.version": 15})), True),
        (pair(quorum=QuorumView(features={"metadata.version": 14})), None),
    ],
)
def test_what_shows_the_release_of_a_broker(snapshot: Snapshot, follows: bool | None) -> None:
    releases = Releases(snapshot)
    assert [releases.follows(CAPS_MIN_ISR, broker) for broker in (1, 2, 3)] == [follows] * 3
    assert releases.needed(3, 1, 2) == (2 if follows else 3)
    assert releases.needed(-1, 1, 2) == -1


def test_in_a_rolling_upgrade_each_leader_follows_the_rules_of_its_own_release() -> None:
    releases = Releases(pair(quorum=QuorumView(supported={1: 14, 2: 21})))
    assert [releases.follows(CAPS_MIN_ISR, broker) for broker in (1, 2, 3, -1)] == [False, True, None, None]


def test_a_broker_that_did_not_answer_is_as_those_that_did() -> None:
    assert Releases(pair(quorum=QuorumView(supported={1: 21, 2: 21}))).follows(CAPS_MIN_ISR, 3) is True


@pytest.mark.parametrize(("version", "needed"), [("2.7-IV2", 3), ("3.9-IV0", 2)])
def test_the_facts_the_ladder_and_the_forecast_require_the_same_number_of_in_sync_replicas(
    version: str, needed: int
) -> None:
    case = open_case(pair(newest(version)))
    [row] = case.partitions.where(parse("n_replicas > 0", "test"))
    assert row.min_isr == needed
    assert case.min_isr(PAIR) == needed
    [forecast_row] = masks.masks_of(case, frozenset({1, 2, 3})).rows
    assert forecast_row.min_isr == (needed, needed)


def test_every_rule_was_tried_on_every_line_and_holds_from_its_first_line_on() -> None:
    for rule in RULES:
        assert rule.tried.keys() == LINES.keys()
        for name, follows in rule.tried.items():
            major, minor = map(int, name.split(".")[:2])
            assert follows == ((major, minor) >= rule.since), name
