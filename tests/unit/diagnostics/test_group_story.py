"""One group: from its name to its coordinator, and why it waits."""

import json
import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from kfix.derive.coordinator import partition_of_group
from kfix.model.cluster.snapshot import CoordinatorProbe, Group, Snapshot
from kfix.report.findings.group_story import group_json, group_text
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.group_story import explain_group
from tests.places import GOLDEN
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.clusters import (
    G2,
    base,
    coordinator_loading,
    coordinator_stuck,
    offsets_not_loaded,
    pending_offsets,
    text,
    unread_zookeeper,
)

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
    neighbour = _neighbour()
    snapshot = base().snapshot(groups=(Group("g2", (1,)), Group(neighbour, (1,))))
    story = explain_group(snapshot, diagnose(snapshot), neighbour)
    assert story.blocked is False
    assert any("probed with group g2" in step.value for step in story.steps)


@pytest.mark.parametrize(
    ("probed", "said"), [(True, "no source names it and it has no committed offset"), (False, "no source names it,")]
)
def test_a_group_that_no_source_names_is_unknown_and_not_healthy(probed: bool, said: str) -> None:
    name = _neighbour()
    snapshot = base().snapshot()
    if probed:
        own = replace(next(p for p in snapshot.probes if p.group == "g2"), group=name, committed=0)
        snapshot = replace(snapshot, probes=(*snapshot.probes, own))
    story = explain_group(snapshot, diagnose(snapshot), name)
    assert story.blocked is None
    assert said in story.verdict
    assert f"the coordinator of {G2} responds" in story.verdict


def test_a_misspelt_group_is_told_the_name_that_is_nearest() -> None:
    probe = CoordinatorProbe("paymnets", partition_of_group("paymnets", 50), 0, 1, 0, 0)
    snapshot = base().snapshot(remembered_groups=("payments",), probes=(probe,))
    assert "Did you mean 'payments'?" in explain_group(snapshot, diagnose(snapshot), "paymnets").verdict


_STUCK = "Topic: __consumer_offsets\tPartition: {0}\tLeader: none\tReplicas: 1,2\tIsr: 2"
_HEADER = "Topic: __consumer_offsets\tPartitionCount: 50\tReplicationFactor: 2\tConfigs:\n"


def test_the_partition_of_a_group_comes_from_the_stated_count_not_from_the_rows_of_a_text() -> None:
    rows = "\n".join(_STUCK.format(number) for number in (3, 17, 43))
    snapshot = text(_HEADER + rows)
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    assert story.partition == G2
    assert story.blocked is True


def test_without_a_stated_count_the_partition_is_unknown_and_the_usual_one_is_named() -> None:
    snapshot = text("\n".join(_STUCK.format(number) for number in (3, 17, 43)))
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    assert (story.blocked, story.partition) == (None, None)
    assert f"it would be {G2} if there are 50, Kafka's default, and KFX107 reports that one" in story.verdict
    assert "PartitionCount" in story.next_steps[0].text


@pytest.mark.parametrize(("make", "code"), [(pending_offsets, "KFX108"), (offsets_not_loaded, "KFX109")])
def test_a_fault_of_one_group_blocks_that_group_and_no_other_of_its_partition(
    make: Callable[[], Snapshot], code: str
) -> None:
    snapshot = make()
    diagnosis = diagnose(snapshot)
    story = explain_group(snapshot, diagnosis, "g2")
    assert (story.blocked, [f.code for f in story.findings]) == (True, [code])
    assert code in story.verdict
    neighbour = _neighbour()
    other = replace(next(p for p in snapshot.probes if p.group == "g2"), group=neighbour)
    beside = replace(snapshot, probes=(*snapshot.probes, other))
    assert explain_group(beside, diagnosis, neighbour).blocked is False


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


def _neighbour() -> str:
    """Returns the name of another group on the partition of g2."""
    return next(f"n{i}" for i in range(9999) if partition_of_group(f"n{i}", 50) == G2.partition)
