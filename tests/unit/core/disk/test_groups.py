"""The groups in a replica of the offsets topic: names, offsets, tombstones, transactions, compression."""

import struct
import sys
from pathlib import Path

import pytest

from kfix.core.disk.folder import Depth
from kfix.core.disk.groups import read_groups
from kfix.core.disk.logdir import read_log_dir
from kfix.core.disk.model import Grade
from kfix.core.kafka import records
from kfix.core.kafka.batches import HEADER
from tests.unit.core.disk.building import (
    CONTROL,
    NOON,
    TRANSACTIONAL,
    Disk,
    batch,
    group_key,
    group_value,
    log,
    offset_key,
    offset_value,
    old_batch,
    only,
)


@pytest.fixture
def groups_in(tmp_path):
    def read(*batches):
        disk = Disk(tmp_path / "b1")
        disk.partition("__consumer_offsets-3", log(*batches), epochs={0: 0})
        [replica] = read_log_dir(disk.path, lambda _: True, Depth()).replicas
        told = []
        return read_groups(replica, Path(replica.folder), told.append), told

    return read


def commit(group, topic, partition, offset=5, at=NOON, version=3):
    return offset_key(group, topic, partition), offset_value(offset, at, version)


def names(stored):
    return [g.name for g in stored.groups]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_groups_by_name_whatever_the_compression(groups_in, codec):
    pairs = [commit("payments", "orders", n, at=NOON + n) for n in range(3)] + [(group_key("payments"), group_value(2))]
    stored, told = groups_in(batch(0, pairs=pairs, codec=codec), batch(4, pairs=[commit("mail", "bills", 0)]))
    assert (told, stored.complete) == ([], True)
    mail, payments = stored.groups
    assert (payments.name, payments.offsets, payments.topics) == ("payments", 3, ("orders",))
    assert (payments.last_commit_ms, payments.members) == (NOON + 2, 2)
    assert (mail.name, mail.offsets, mail.members) == ("mail", 1, None)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_every_version_of_a_commit_and_of_a_group(groups_in, version):
    pairs = [commit("g", "orders", 0, at=NOON, version=version), (group_key("g"), group_value(3, version))]
    [group] = groups_in(batch(0, pairs=pairs))[0].groups
    assert (group.last_commit_ms, group.members) == (NOON, 3)


def test_tombstones_take_away(groups_in):
    gone = [(offset_key("old", "orders", 0), None), (group_key("old"), None), (offset_key("half", "orders", 1), None)]
    pairs = [commit("old", "orders", 0), (group_key("old"), group_value(0))]
    pairs += [commit("half", "orders", 0), commit("half", "orders", 1), *gone]
    [group] = groups_in(batch(0, pairs=pairs))[0].groups
    assert (group.name, group.offsets) == ("half", 1)


def test_offsets_of_a_transaction_count_when_it_commits(groups_in):
    def marker(base, producer, kind):
        return batch(
            base, pairs=[(struct.pack(">hh", 0, kind), b"......")], kind=TRANSACTIONAL | CONTROL, producer=producer
        )

    def open_one(base, producer, group):
        return batch(base, pairs=[commit(group, "orders", 0)], kind=TRANSACTIONAL, producer=producer)

    stored, _ = groups_in(
        open_one(0, 1, "done"),
        open_one(1, 2, "aborted"),
        open_one(2, 3, "open"),
        marker(3, 1, 1),
        marker(4, 2, 0),
    )
    assert names(stored) == ["done"]


def test_keys_of_newer_kinds_are_left_alone(groups_in):
    newer = [(struct.pack(">h", 3) + struct.pack(">h", 3) + b"kip", b"..."), (struct.pack(">h", 9) + b"??", b"..")]
    stored, told = groups_in(batch(0, pairs=newer))
    assert (names(stored), told) == (["kip"], [])


def test_what_cannot_be_read_is_reported_and_others_may_be_there(groups_in):
    torn_key = batch(1, pairs=[(b"\x00\x01\x00\xffgro", b"")])
    stored, [old, torn] = groups_in(old_batch(1, 0, 1), torn_key, batch(2, pairs=[commit("mail", "orders", 0)]))
    assert (names(stored), stored.complete) == (["mail"], False)
    assert "older than Kafka 0.11" in old.what
    assert torn.what == "the batch of offsets 1 to 1 has a record that is not of a group"
    assert torn.at == len(old_batch(1, 0, 1))


def test_without_the_package_a_compressed_batch_is_named(groups_in, monkeypatch):
    monkeypatch.setitem(sys.modules, "cramjam", None)
    stored, [odd] = groups_in(batch(0, pairs=[commit("mail", "orders", 0)], codec="zstd"))
    assert not stored.complete
    assert "is compressed with zstd: cannot be read without cramjam (kafka-kfix[inspect])" in odd.what


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_a_batch_that_unpacks_without_end_takes_no_memory(groups_in, monkeypatch, codec):
    monkeypatch.setattr(records, "MOST_BYTES", 1 << 17)
    stored, [odd] = groups_in(batch(0, pairs=[(b"\x00\x02\x00\x01g", bytes(1 << 20))], codec=codec))
    assert not stored.complete
    assert "too large" in odd.what


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_a_damaged_compressed_batch_is_reported(groups_in, codec):
    raw = bytearray(batch(0, pairs=[commit("mail", "orders", n) for n in range(20)], codec=codec))
    raw[70:90] = b"\xff" * 20
    stored, [odd] = groups_in(bytes(raw))
    assert not stored.complete
    assert "is compressed with" in odd.what or "holds a" in odd.what or "too large" in odd.what


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("missing", [1, 4, 8])
def test_a_compressed_batch_without_its_end_is_not_read(codec, missing):
    whole = batch(0, pairs=[commit("mail", "orders", n) for n in range(20)], codec=codec)[HEADER:]
    assert records.unpacked(codec, whole)
    with pytest.raises(records.UnreadBatchError, match=codec):
        records.unpacked(codec, whole[:-missing])


def test_groups_behind_a_damaged_place_may_be_there(disk):
    one, two = (batch(n, pairs=[commit(f"g{n}", "orders", 0)]) for n in (0, 1))
    folder = disk.partition("__consumer_offsets-3", one + two[:-9], (2, two), epochs={0: 0})
    replica, _ = only(disk)
    told = []
    stored = read_groups(replica, folder, told.append)
    assert (names(stored), stored.complete) == (["g0", "g1"], False)
    assert [(odd.at, odd.grade) for odd in told] == [(len(one), Grade.UNREAD)]
    (folder / f"{2:020d}.log").write_bytes(two + one[:-9])
    (folder / f"{0:020d}.log").write_bytes(one)
    assert read_groups(replica, folder, told.append).complete, "what is torn at the end is no part of the log"


def typed(kind, *names, value=b"\0\0\0\0\0\7\0"):
    """A record of Kafka 4: its key is the type and these names; its value is not read."""
    key = struct.pack(">h", kind) + b"".join(struct.pack(">h", len(n)) + n.encode() for n in names)
    return key, value


def test_groups_of_every_type_have_their_members_counted(groups_in):
    pairs = [
        *(
            typed(3, "modern"),
            typed(5, "modern", "m-1"),
            typed(5, "modern", "m-2"),
            typed(5, "modern", "m-1", value=None),
        ),
        *(typed(10, "shared", "s-1"), typed(11, "shared")),
        *(typed(17, "topology"), typed(19, "topology", "t-1"), commit("topology", "orders", 0)),
        *((group_key("old"), group_value(2)), commit("plain", "orders", 0)),
    ]
    stored, told = groups_in(batch(0, pairs=pairs))
    assert told == []
    assert {g.name: (g.type, g.members, g.offsets) for g in stored.groups} == {
        "modern": ("consumer", 1, 0),
        "shared": ("share", 1, 0),
        "topology": ("streams", 1, 1),
        "old": ("classic", 2, 0),
        "plain": ("", None, 1),
    }


def test_a_group_that_became_another_type_is_of_that_type(groups_in):
    classic = (group_key("g"), group_value(2))
    pairs = [
        *(classic, (group_key("g"), None), typed(3, "g"), typed(5, "g", "m-1")),
        *((group_key("h"), group_value(2)), typed(3, "h"), (group_key("h"), None)),
        *(typed(3, "i"), typed(3, "i", value=None), (group_key("i"), group_value(2))),
        *(typed(11, "gone"), typed(11, "gone", value=None)),
    ]
    stored, _ = groups_in(batch(0, pairs=pairs))
    assert [(g.name, g.type, g.members) for g in stored.groups] == [
        ("g", "consumer", 1),
        ("h", "consumer", 0),
        ("i", "classic", 2),
    ]
