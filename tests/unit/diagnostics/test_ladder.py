"""One group: the ladder of questions from its coordinator's address to its rights, and the verdict."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.derive.coordinator import partition_of_group
from kfix.core.snapshot.group_reading import GroupPartition, GroupReading
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import CoordinatorProbe, Group, LoggedGroup, OffsetsLog, Snapshot
from kfix.diagnose.report.group_story import group_json, group_text
from kfix.diagnose.snapshots import load_snapshot, save_snapshot
from kfix_diagnostics.engine import diagnose, settle_seconds
from kfix_diagnostics.ladder.ladder import explain_group
from tests.each import for_each
from tests.places import GOLDEN
from tests.unit.diagnostics.build import NOW, Paper
from tests.unit.diagnostics.clusters import (
    G2,
    base,
    coordinator_loading,
    coordinator_stuck,
    offsets_not_loaded,
    offsets_uncompacted,
    offsets_withheld,
    pending_offsets,
    text,
    unread_zookeeper,
)
from tests.unit.diagnostics.group_readings import (
    AT_END,
    MEMBER,
    ORDERS,
    assigned_partition_leaderless,
    coordinator_unreachable,
    held,
    marker_lost,
    not_reconciled,
    paced,
    position,
    read,
    reading,
    rebalance_held,
    share_group,
    stands_at_a_record,
)

GOLDEN_FOLDER = GOLDEN / "diagnose"

STORIES: dict[str, tuple[Callable[[], Snapshot], bool | None]] = {
    "group-blocked": (lambda: coordinator_stuck().snapshot(), True),
    "group-healthy": (lambda: base().snapshot(), False),
    "group-unreachable": (coordinator_unreachable, True),
    "group-rebalance": (rebalance_held, True),
    "group-leaderless": (assigned_partition_leaderless, True),
    "group-outside": (lambda: read(reading(partitions=position(committed=30))), True),
    "group-member": (lambda: read(reading(partitions=position(committed=5)), reading()), False),
    "group-reconciling": (not_reconciled, True),
    "group-record": (stands_at_a_record, True),
    "group-slow": (lambda: paced(((0, 500), (0, 400), (0, 600)), ((9, 530), (9, 430), (9, 630))), False),
    "group-share": (lambda: read(share_group(partitions=position(committed=5)), share_group()), False),
    "group-not-answered": (
        lambda: read(
            reading(members=None, partitions=None, errors=dict.fromkeys(("members", "offsets"), "no answer in time"))
        ),
        None,
    ),
    "group-streams": (lambda: read(reading(kind="", group_type="streams", epoch=2, members=None)), None),
    "group-withheld": (offsets_withheld, True),
    "group-commits": (lambda: base().kill(1).kill(3).snapshot(), True),
}


@for_each("name", STORIES)
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
    assert any("probed with group g2" in rung.said for rung in story.rungs)


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


def test_for_a_misspelt_group_the_nearest_name_is_suggested() -> None:
    probe = CoordinatorProbe("paymnets", partition_of_group("paymnets", 50), 0, 1, 0, 0)
    snapshot = base().snapshot(memory=Memory(("payments",)), probes=(probe,))
    assert "Did you mean 'payments'?" in explain_group(snapshot, diagnose(snapshot), "paymnets").verdict


_STUCK = "Topic: __consumer_offsets\tPartition: {0}\tLeader: none\tReplicas: 1,2\tIsr: 2"
_HEADER = "Topic: __consumer_offsets\tPartitionCount: 50\tReplicationFactor: 2\tConfigs:\n"


def test_the_partition_of_a_group_comes_from_the_stated_count_not_from_the_rows_of_a_text() -> None:
    rows = "\n".join(_STUCK.format(number) for number in (3, 17, 43))
    snapshot = text(_HEADER + rows)
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    assert story.partition == G2
    assert story.blocked is True


_FAILED = "[Consumer clientId=c, groupId={}] Offset commit failed: The coordinator is not available."


def test_a_text_without_the_offsets_topic_never_states_that_there_is_none() -> None:
    rows = "Topic: x Partition: 0 Leader: 1 Replicas: 1,2 Isr: 1,2"
    story = explain_group(text(rows), diagnose(text(rows)), "g2")
    assert (story.blocked, story.partition) == (None, None)
    assert "does not show __consumer_offsets" in story.verdict


def test_an_error_of_the_group_itself_blocks_it_and_no_other() -> None:
    for rows in ("", "\n" + _HEADER + "Topic: __consumer_offsets Partition: 0 Leader: 1 Replicas: 1,2 Isr: 1,2"):
        snapshot = text(_FAILED.format("g2") + rows)
        story = explain_group(snapshot, diagnose(snapshot), "g2")
        assert story.blocked is True
        assert "KFX117" in story.verdict
        assert explain_group(snapshot, diagnose(snapshot), "other").blocked is None


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


def test_an_unknown_state_is_not_healthy() -> None:
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


def test_a_coordinator_that_loads_a_log_without_compaction_is_left_to_finish() -> None:
    snapshot = offsets_uncompacted(coordinator_loading())
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    [found] = story.findings
    assert (found.code, found.remedies[0].text[:13]) == ("KFX106", "Let it finish")
    assert "419.4 MB" in found.cause.text
    assert not any(remedy.runbook for remedy in found.remedies)
    assert any("loading would start again" in text for text in found.never)


def test_without_an_offsets_topic_there_is_nothing_to_be_blocked_on() -> None:
    snapshot = Paper().topic("orders", 2).snapshot()
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    assert story.blocked is None
    assert story.partition is None
    assert "does not exist" in story.verdict


def rungs_of(snapshot: Snapshot) -> dict[str, tuple[str, str]]:
    """Returns {rung: (state, what it says)} for g2."""
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    return {rung.name: (rung.state.value, rung.said) for rung in story.rungs}


def test_a_healthy_group_with_a_member_clears_every_rung_and_leaves_rights_to_the_user() -> None:
    snapshot = read(reading())
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    assert story.blocked is False
    assert {name: state for name, (state, _) in rungs_of(snapshot).items() if state != "not the cause"} == {
        "rights": "not read"
    }
    with_authorizer = {b: {"authorizer.class.name": "", "min.insync.replicas": "2"} for b in (1, 2, 3)}
    open_to_all = replace(snapshot, broker_configs=with_authorizer)
    assert rungs_of(open_to_all)["rights"] == ("not the cause", "no broker has an authorizer.class.name")


def test_a_group_beyond_a_hanging_transaction_waits_for_it() -> None:
    """An unclean election has moved the last stable offset back, so the group does not read uncommitted records."""
    seen = marker_lost()
    beyond = replace(held(), partitions=position(committed=19, stable=18))
    status, text = rungs_of(replace(seen, group_readings=(beyond,)))["last stable offset"]
    assert status == "fails"
    assert "KFX122" in text


LADDERS: dict[str, tuple[tuple[GroupReading, ...], str, str, str]] = {
    "lag that falls": (
        (reading(partitions=position(committed=5)), reading(partitions=position(committed=15))),
        "lag",
        "not the cause",
        "5 records behind the committed offsets; committed offsets advanced by 10 in 10 s",
    ),
    "lag that stands": (
        (reading(partitions=position(committed=5)),) * 2,
        "lag",
        "in doubt",
        "15 records behind the committed offsets, and no committed offset advanced in 10 s: check what the members do",
    ),
    "lag once": ((reading(partitions=position(committed=5)),), "lag", "in doubt", "one snapshot does not show"),
    "lag without members": (
        (reading(partitions=position(committed=5), members=(), state="Empty"),),
        "lag",
        "not the cause",
        "no member reads them",
    ),
    "pending": ((reading(partitions=position(commit_error=88)),), "stable offsets", "fails", "orders-0"),
    "before 2.5": (
        (reading(errors={"stable offsets": "brokers before 2.5 cannot be asked for stable offsets"}),),
        "stable offsets",
        "not read",
        "before 2.5",
    ),
    "no connection": ((reading(unconnected="connection refused"),), "address", "fails", "connection refused"),
    "open transaction at the position": (
        (reading(partitions=position(committed=18, stable=18)),) * 2,
        "last stable offset",
        "in doubt",
        "orders-0 has had the last stable offset 18 for 10 s",
    ),
    "open transaction below the committed offset": (
        (reading(partitions=position(committed=19, stable=18)),) * 2,
        "last stable offset",
        "in doubt",
        "it reads uncommitted records, or an unclean election has moved the offset back and its consumers wait",
    ),
    "one partition stands while others move": (
        (
            reading(partitions={ORDERS[0]: AT_END._replace(committed=3), ORDERS[1]: AT_END._replace(committed=4)}),
            reading(partitions={ORDERS[0]: AT_END._replace(committed=3), ORDERS[1]: AT_END._replace(committed=19)}),
        ),
        "lag",
        "fails",
        "KFX123: group g2 stands in orders-0 at offset 3 for 10 s or longer, 17 records behind, and reads its other",
    ),
    "a partition that had nothing to read before": (
        (
            reading(partitions={ORDERS[0]: AT_END, ORDERS[1]: AT_END._replace(committed=4)}),
            reading(partitions={ORDERS[0]: AT_END._replace(end=21), ORDERS[1]: AT_END._replace(committed=19)}),
        ),
        "lag",
        "not the cause",
        "2 records behind the committed offsets; committed offsets advanced by 15 in 10 s",
    ),
    "only a marker of a transaction is left": (
        (reading(partitions=position(committed=19, only_markers=True)),) * 2,
        "lag",
        "not the cause",
        "no record waits in 3 partitions",
    ),
    "rebalances between which it reads": (
        (
            reading(state="PreparingRebalance", partitions=position(committed=5)),
            reading(state="PreparingRebalance", partitions=position(committed=15)),
        ),
        "rebalance",
        "in doubt",
        "it rebalances again and again, and reads between: 10 records in 10 s",
    ),
    "short open transaction": (
        (held(since=5), held(since=15)),
        "last stable offset",
        "in doubt",
        "the transaction of producer id 4000 holds it, has been open for 15 s",
    ),
    "old open transaction": ((held(since=95), held(since=95)), "last stable offset", "fails", "KFX116"),
    "transactions that end": (
        (reading(partitions=position(stable=12)), reading(partitions=position(stable=18))),
        "last stable offset",
        "not the cause",
        "it advances",
    ),
    "members unread": (
        (reading(members=None, state="", errors={"group members": "no answer in time"}),),
        "rebalance",
        "not read",
        "no answer in time",
    ),
    "rebalance once": ((reading(state="PreparingRebalance"),), "rebalance", "in doubt", "one snapshot"),
    "logs unread": (
        (reading(partitions=position() | dict.fromkeys(ORDERS, GroupPartition(5, 0, -1, -1, -1, "not read"))),),
        "position",
        "not read",
        "were not read",
    ),
}


@for_each("name", LADDERS)
def test_a_rung_states_what_is_known(name: str) -> None:
    readings, rung, state, said = LADDERS[name]
    found = rungs_of(read(*readings))[rung]
    assert found[0] == state, found
    assert said in found[1]


def test_the_first_rung_that_fails_is_the_verdict_and_later_ones_still_state_what_is_known() -> None:
    snapshot = read(reading(unconnected="connection refused", partitions=position(commit_error=88)))
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    assert story.blocked is True
    assert story.cause is not None
    assert story.cause.name == "address"
    said = group_text(story)
    assert "address            THE CAUSE" in said
    assert "stable offsets     fails, too" in said


def test_the_last_generation_in_the_log_rules_out_members_that_came_after_it() -> None:
    two = reading(state="PreparingRebalance", members=(MEMBER, MEMBER._replace(id="c2-uuid", client="c2")))
    log = OffsetsLog(43, 2, 0, 90, 90, 0, 90, (LoggedGroup("g2", 3, (), (), ("c1-uuid", "gone")),))
    assert "one of the members c1 on 10.0.0.7, c2 on" in rungs_of(read(two, two))["rebalance"][1]
    assert "member c1 on 10.0.0.7 is holding it up" in rungs_of(read(two, two, offsets_logs=(log,)))["rebalance"][1]


def test_a_doubt_is_unknown_and_never_healthy() -> None:
    snapshot = read(*(reading(partitions=position(committed=5)),) * 2)
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    assert story.blocked is None
    assert "no rung fails, but one leaves a doubt" in story.verdict


@pytest.mark.parametrize(
    ("age", "committed", "state", "said"),
    [
        (30, 2, "not the cause", "15 records behind the committed offsets; committed offsets advanced by 3 in 30 s"),
        (30, 5, "in doubt", "no committed offset advanced in 30 s"),
        (1800, 2, "in doubt", "one snapshot does not show whether a member reads them"),
    ],
)
def test_one_snapshot_shows_by_what_was_read_shortly_before_that_members_read(
    age: float, committed: int, state: str, said: str
) -> None:
    was = replace(reading(partitions=position(committed=committed)), taken_at=NOW - age)
    snapshot = read(reading(partitions=position(committed=5)), memory=Memory(("g2",), positions=(was,)))
    found = rungs_of(snapshot)["lag"]
    assert (found[0], said in found[1]) == (state, True), found


def test_a_saved_snapshot_gives_the_same_ladder(tmp_path: Path) -> None:
    snapshot = read(reading(partitions=position(committed=5)), reading(partitions=position(committed=7), left_out=2))
    save_snapshot(snapshot, tmp_path / "s.json")
    saved = load_snapshot(tmp_path / "s.json")
    assert saved.group_readings == snapshot.group_readings
    assert group_text(explain_group(saved, diagnose(saved), "g2")) == group_text(
        explain_group(snapshot, diagnose(snapshot), "g2")
    )


@pytest.mark.parametrize("first", [reading(partitions=position(committed=5)), reading(state="PreparingRebalance")])
def test_a_group_in_motion_asks_for_a_second_snapshot(first: GroupReading) -> None:
    assert settle_seconds(read(first)) == 10
    assert settle_seconds(read(reading())) == 0


def test_the_story_as_json() -> None:
    snapshot = coordinator_stuck().snapshot()
    said = json.loads(group_json(explain_group(snapshot, diagnose(snapshot), "g2")))
    assert said["schema"] == "kfix.group/v1"
    assert said["partition"] == "__consumer_offsets-43"
    assert said["blocked"] is True
    assert said["findings"][0]["code"] == "KFX101"
    assert said["rungs"][1] | {"evidence": [], "next_steps": []} == {
        "name": "leader", "state": "fails", "said": f"KFX101: {said['findings'][0]['summary']}", "code": "KFX101",
        "evidence": [], "next_steps": [],
    }  # fmt: skip


def _neighbour() -> str:
    """Returns the name of another group on the partition of g2."""
    return next(f"n{i}" for i in range(9999) if partition_of_group(f"n{i}", 50) == G2.partition)
