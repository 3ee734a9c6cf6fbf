"""One group: from its name to its coordinator, and why it waits."""

import json
import os
from collections.abc import Callable

import pytest

from kfix.model.cluster.snapshot import Snapshot
from kfix.report.findings.group_story import group_json, group_text
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.group_story import explain_group
from tests.places import GOLDEN
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.clusters import G2, base, coordinator_loading, coordinator_stuck, unread_zookeeper

GOLDEN_FOLDER = GOLDEN / "diagnose"

STORIES: dict[str, tuple[Callable[[], Snapshot], bool | None]] = {
    "group-blocked": (lambda: coordinator_stuck().snapshot(), True),
    "group-healthy": (lambda: base().snapshot(), False),
    "group-commits": (lambda: base().kill(1).kill(3).snapshot(), True),
}


@pytest.mark.parametrize("name", STORIES)
def test_the_story_is_the_golden_one(name: str) -> None:
    make, blocked = STORIES[name]
    snapshot = make()
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    said = group_text(story)
    path = GOLDEN_FOLDER / f"{name}.txt"
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        path.write_text(said)
    assert said == path.read_text(), "KFIX_UPDATE_GOLDEN=1 rewrites it"
    assert story.blocked is blocked
    assert story.partition == G2


def test_a_group_without_a_probe_is_judged_by_its_partition() -> None:
    paper = coordinator_stuck()
    paper.groups = ()
    snapshot = paper.snapshot()
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    assert story.blocked is True
    assert "KFX101" in story.verdict


def test_a_probe_of_a_neighbour_on_the_same_partition_counts() -> None:
    snapshot = base().snapshot()
    neighbour = next(f"n{i}" for i in range(9999) if _partition(f"n{i}") == G2.partition)
    story = explain_group(snapshot, diagnose(snapshot), neighbour)
    assert story.blocked is False
    assert any("probed with group g2" in step.value for step in story.steps)


def test_nobody_knows_is_not_healthy() -> None:
    paper = unread_zookeeper()
    paper.groups = ()
    snapshot = paper.snapshot()
    story = explain_group(snapshot, diagnose(snapshot), "unheard-of")
    assert story.blocked is None
    assert "was not probed" in story.verdict


def test_a_coordinator_that_loads_blocks() -> None:
    snapshot = coordinator_loading().snapshot()
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    assert story.blocked is True
    assert [f.code for f in story.findings] == ["KFX106"]


def test_without_an_offsets_topic_there_is_nothing_to_be_blocked_on() -> None:
    snapshot = Paper().topic("orders", 2).snapshot()
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    assert story.blocked is None
    assert story.partition is None
    assert "does not exist" in story.verdict


def test_the_story_as_json() -> None:
    snapshot = coordinator_stuck().snapshot()
    said = json.loads(group_json(explain_group(snapshot, diagnose(snapshot), "g2")))
    assert said["schema"] == "kfix.group/v1"
    assert said["partition"] == "__consumer_offsets-43"
    assert said["blocked"] is True
    assert said["findings"][0]["code"] == "KFX101"


def _partition(group: str) -> int:
    from kfix.derive.coordinator import partition_of_group

    return partition_of_group(group, 50)
