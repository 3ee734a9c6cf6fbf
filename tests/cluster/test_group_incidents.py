"""Why a consumer group hangs, on real brokers: the rungs of the ladder, and who is named as blocked."""

import json

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.commits import STEMS, Groups, name_for
from tests.cluster.test_incidents import looked_at_while_well


def blocked_for_a_client(lab):
    """Returns the groups, one in each offsets partition, whose committed offsets a client cannot read."""
    count = 5
    names = {number: name_for(number, count, STEMS[number % len(STEMS)]) for number in range(count)}
    with lab.access() as access:
        groups = Groups(access, names, "orders")
        return {name for number, name in names.items() if not groups.works(number)}


@pytest.mark.parametrize("incident", ["coordinator-stuck", "offsets-rf1", "coordinator-silent"])
def test_triage_names_every_group_that_a_client_finds_blocked(incident, kfix, lab):
    looked_at_while_well(kfix, lab)
    lab.break_(incident)
    blocked = blocked_for_a_client(lab)
    assert blocked
    said = kfix.diagnose()
    named = {group for finding in said.every for group in finding["blocked"]["groups"]}
    assert blocked <= named, said.out
    first = kfix.on("diagnose", "--debounce", "3", "--restart-grace", "0").out.partition("cause")[0]
    assert "\nblocked: " in first
    assert all(group in first for group in sorted(blocked)[:3]), first


def test_the_group_question_answers_why_this_group_hangs_and_another_does_not(kfix, lab):
    broken = lab.break_("coordinator-stuck")
    hanging = kfix.on("diagnose", "--debounce", "1", "--group", broken.group)
    assert hanging.code == 21
    assert f"{OFFSETS_TOPIC}-{broken.partitions[0][1]}" in hanging.out
    assert "blocked" in hanging.out.splitlines()[0]
    other = next(g for p, g in ((p["partition"], p["group"]) for p in probes(kfix)) if p != broken.partitions[0][1])
    healthy = kfix.on("diagnose", "--debounce", "1", "--group", other)
    assert "healthy" in healthy.out.splitlines()[0]


def probes(kfix):
    path = kfix.home.parent / "probes.json"
    kfix.on("snapshot", "save", path, "--overwrite")
    return json.loads(path.read_text())["probes"]


def states_of(story):
    """{rung: its state} of a ladder in JSON."""
    return {rung["name"]: rung["state"] for rung in story.json["rungs"]}


def test_the_ladder_of_a_group_that_works_is_clear_and_a_saved_snapshot_gives_the_same(kfix, lab, tmp_path):
    broken = lab.break_("healthy")
    live = kfix.on("diagnose", "--json", "--group", broken.group)
    assert live.code == 0
    assert set(states_of(live).values()) == {"not the cause"}
    path = tmp_path / "s.json"
    kfix.on("snapshot", "save", path, "--group", broken.group)
    saved = kfix.run("diagnose", "--json", "--from", path, "--group", broken.group)
    assert states_of(saved) == states_of(live)


def test_an_offset_outside_the_log_and_a_partition_without_a_leader_are_rungs_of_the_ladder(kfix, lab):
    broken = lab.break_("offset-outside-log")
    story = kfix.on("diagnose", "--json", "--debounce", "1", "--group", broken.group)
    assert (story.code, [f["code"] for f in story.json["findings"]]) == (21, ["KFX113"])
    assert states_of(story)["position"] == "fails"
    lab.mend()
    stuck = lab.break_("isr-gone")
    [where] = stuck.partitions
    number, group = next((p["partition"], p["group"]) for p in probes(kfix))
    with lab.access() as access:
        assert Groups(access, {number: group}, where[0]).commit(number, {TopicPartition(*where): 5}) == 0
    story = kfix.on("diagnose", "--json", "--debounce", "1", "--group", group)
    assert story.code == 21
    assert "blocked by KFX103" in story.json["verdict"]
    assert states_of(story)["partitions"] == "fails"
    assert "KFX112" in {folded["code"] for f in story.json["findings"] for folded in f["folded"]}
