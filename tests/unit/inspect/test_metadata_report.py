"""`kfix inspect metadata-log`: the longest copy of a metadata log, what the others lack, and who votes."""

import json
import struct

import pytest
from typer.testing import CliRunner

from kfix.shell.app import app
from tests.unit.core.disk.building import CONTROL, Disk, batch

ONE, TWO = bytes(range(16)), bytes(range(16, 32))


def framed(kind, body=b""):
    return bytes((1, kind, 0)) + body + b"\0"


def compact(text):
    return bytes((len(text) + 1,)) + text.encode()


def topic(name, uuid):
    return None, framed(2, compact(name) + uuid)


def removed(uuid):
    return None, framed(9, uuid)


def voters(*ids):
    """A VotersRecord with one endpoint a voter, by KIP-853."""
    rows = b"".join(
        struct.pack(">i", node)
        + ONE
        + b"\2"
        + compact("CONTROLLER")
        + compact(f"c{node}")
        + struct.pack(">H", 9093)
        + b"\0"
        + struct.pack(">hh", 0, 1)
        + b"\0\0"
        for node in ids
    )
    return struct.pack(">hh", 0, 6), struct.pack(">h", 0) + bytes((len(ids) + 1,)) + rows + b"\0"


CHANGE, NO_OP = (None, framed(5)), (None, framed(20))
#: Offsets 0 to 5: the voters, two topics, a change, and a topic that is created and deleted.
BASE = batch(0, epoch=1, pairs=[voters(1, 2, 3)], kind=CONTROL) + batch(1, epoch=1, pairs=[topic("orders", ONE)])
LATER = batch(2, epoch=4, pairs=[topic("late", TWO), CHANGE, NO_OP]) + batch(5, epoch=4, pairs=[removed(TWO)])


@pytest.fixture
def kfix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, ["inspect", "metadata-log", *args], env={"COLUMNS": "120"})


def copy_of(node, raw, *, state=None, epochs=None, **disk):
    made = Disk(f"disks/n{node}", node, version=1, **disk)
    folder = made.partition("__cluster_metadata-0", raw, epochs=epochs or {}, flushed=None)
    if state is not None:
        (folder / "quorum-state").write_text(json.dumps(state))
    return folder


def test_the_longest_copy_is_first_and_the_others_say_what_they_lack(kfix):
    copy_of(11, BASE + LATER)
    copy_of(3, BASE, state={"leaderId": -1, "leaderEpoch": 28, "votedId": 3, "data_version": 0})
    said = kfix("disks", "--json")
    found = json.loads(said.stdout)
    assert (said.exit_code, found["newest_epoch"]) == (20, 28)
    assert [(each["node"], each["log_end"], each["own"]) for each in found["copies"]] == [(11, 6, 0), (3, 2, 0)]
    missing = found["copies"][1]["missing"]
    assert missing == {
        "start": 2,
        "end": 6,
        "created": ["late"],
        "deleted": ["late"],
        "others": 1,
        "complete": True,
        "records": 4,
    }
    assert [(each["node"], each["address"]) for each in found["copies"][1]["voters"]] == [
        (1, "c1:9093"),
        (2, "c2:9093"),
        (3, "c3:9093"),
    ]
    assert found["copies"][1]["state"] == {"epoch": 28, "leader": -1, "voted": 3}


def test_the_text_begins_with_the_verdict(kfix):
    copy_of(11, BASE + LATER)
    copy_of(3, BASE)
    lines = kfix("disks").stdout.splitlines()
    assert lines[0].endswith("2 copies of __cluster_metadata: 1 behind")
    assert lines[1].startswith("longest: node 11 (disks/n11/__cluster_metadata-0), epoch 4, log end 6")
    assert "  lacks nothing" in lines
    assert "  lacks 4 records from offset 2 on: topics created: late; topics deleted: late; 1 other change" in lines


def test_copies_with_records_of_their_own_have_diverged(kfix):
    copy_of(1, BASE + batch(2, epoch=3, pairs=[CHANGE]))
    copy_of(2, BASE + batch(2, epoch=5, pairs=[CHANGE, CHANGE]))
    said = kfix("disks")
    assert said.exit_code == 21
    assert "has diverged at offset 2: 1 record of its own; lacks 2 records from offset 2 on" in said.stdout


def test_equal_copies_lack_nothing(kfix):
    for node in (1, 2):
        copy_of(node, BASE + LATER, epochs={1: 0, 4: 2})
    said = kfix("disks")
    assert (said.exit_code, said.stdout.count("lacks nothing")) == (0, 2)


def test_a_static_quorum_has_its_voters_in_the_state_of_the_election(kfix):
    static = {"leaderId": 1, "leaderEpoch": 2, "votedId": -1, "currentVoters": [{"voterId": 1}, {"voterId": 2}]}
    copy_of(1, batch(0, epoch=2, pairs=[topic("orders", ONE)]), state=static)
    assert "voters: 1, 2" in kfix("disks").stdout


def test_a_damaged_state_is_a_remark_and_no_traceback(kfix):
    copy_of(1, BASE, state=["nothing"])
    said = kfix("disks")
    assert (said.exit_code, "quorum-state: has no epoch: not read" in said.stdout) == (22, True)


@pytest.mark.parametrize(
    "state",
    [
        {"leaderEpoch": float("inf")},
        {"leaderEpoch": 1, "leaderId": "one"},
        {"leaderEpoch": 1, "currentVoters": 5},
        {"leaderEpoch": 1, "currentVoters": [7, {"voterId": "x"}, {}]},
    ],
)
def test_a_hostile_state_is_no_traceback(kfix, state):
    copy_of(1, batch(0, epoch=1, pairs=[topic("orders", ONE)]), state=state)
    said = kfix("disks")
    assert said.exit_code in {20, 22}, said.output
    assert "voters:" not in said.stdout


def test_damaged_voters_are_a_remark(kfix):
    key, value = voters(1, 2)
    copy_of(1, batch(0, epoch=1, pairs=[(key, value[:9])], kind=CONTROL))
    said = kfix("disks")
    assert said.exit_code == 22, said.output
    assert "the voters at offset 0 are not those of a known version" in " ".join(said.stdout.split())


def test_a_record_that_is_none_of_metadata_leaves_the_list_open(kfix):
    copy_of(1, BASE + batch(2, epoch=4, pairs=[(None, b"\7what"), topic("late", TWO)]))
    copy_of(2, BASE)
    assert "topics created: late; and what could not be read" in kfix("disks").stdout


def test_without_a_copy_or_with_two_clusters_it_is_refused(kfix):
    Disk("disks/zk", 1).partition("orders-0", batch(0))
    said = kfix("disks")
    assert (said.exit_code, "no copy of __cluster_metadata" in said.output) == (2, True)
    copy_of(2, BASE, cluster="AAAAAAAAAAAAAAAAAAAAAA")
    assert kfix("disks").exit_code == 3
