"""Groups that do not exist, one for each offsets partition of which no group is known."""

from dataclasses import replace

import pytest

from kfix.core.collect.probes import representatives
from kfix.core.derive.coordinator import OFFSETS_TOPIC, java_hash, made_up_groups, partition_of_group
from kfix.core.snapshot.snapshot import CoordinatorProbe, TopicPartition
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics.clusters import base


@for_each(
    ("text", "value", "partition"),
    [
        ("", 0, 0),
        ("g2", 3243, 43),
        ("polygenelubricants", -(2**31), 0),
        ("\U0001f600-grp", 928_360_827, 27),
        ("caf\u00e9", 3_045_921, 21),
        ("my-group:\u4e2d\u6587", 173_396_694, 44),
    ],
)
def test_a_hash_is_that_of_java_whose_smallest_one_counts_as_0(text, value, partition):
    """The vectors of docs/facts/coordinators.md."""
    assert java_hash(text) == value
    assert partition_of_group(text, 50) == partition


@pytest.mark.parametrize("count", [1, 2, 5, 50, 300])
def test_a_group_is_made_up_for_every_partition_that_was_asked_for(count):
    for wanted in (set(), {0}, set(range(0, count, 2)), set(range(count))):
        found = made_up_groups(wanted, count)
        assert set(found.values()) == wanted
        assert len(found) == len(wanted)
        assert all(partition_of_group(name, count) == partition for name, partition in found.items())


def test_every_partition_is_probed_once_and_known_groups_come_first():
    found = representatives(("pay", "ship"), ("asked",), 50)
    assert {"pay", "ship", "asked"} <= found.keys()
    assert {probe.partition for probe in found.values()} == set(range(50))
    made_up = {group for group, probe in found.items() if probe.made_up}
    assert len(made_up) == 50 - len({found[group].partition for group in ("pay", "ship", "asked")})


def test_a_real_group_with_the_name_of_a_made_up_one_is_a_group():
    [name] = made_up_groups({7}, 50)
    known, asked = (representatives(*names, 50)[name] for names in (((name,), ()), ((), (name,))))
    assert (known.partition, known.made_up, asked.made_up) == (7, False, False)
    assert representatives((), (), 50)[name].made_up
    assert replace(known, find_error=15).asked_for == f"group {name}"


def test_a_coordinator_that_fails_without_a_known_group_is_a_finding_and_names_no_group():
    snapshot = base().snapshot()
    assert not [p for p in snapshot.probes if p.partition == 7], "no group of this partition is known"
    leader = snapshot.zookeeper.states[TopicPartition(OFFSETS_TOPIC, 7)].leader
    [name] = made_up_groups({7}, 50)
    probe = CoordinatorProbe(name, 7, 0, leader, 16, made_up=True)
    found = diagnose(replace(snapshot, probes=(*snapshot.probes, probe)))
    [silent] = [f for f in found.walk() if f.code == "KFX106"]
    assert silent.blocked.groups == ()
    assert silent.blocked.others_unknown
    assert "a group that does not exist" in str(silent.evidence)
    assert name not in str(silent)
