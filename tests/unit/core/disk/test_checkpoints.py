"""Checkpoint files and properties: what Kafka writes is read, what it never writes is told with its byte."""

import pytest

from kfix.core.disk.checkpoints import Meta, read_epochs, read_meta, read_offsets, read_topic_id
from kfix.core.disk.model import Epoch
from kfix.core.disk.opening import NotReadError
from kfix.core.snapshot.snapshot import TopicPartition


@pytest.fixture
def file(tmp_path):
    def write(raw):
        path = tmp_path / "file"
        path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
        return path

    return write


def test_offsets_of_partitions(file):
    found, odd = read_offsets(file("0\n3\norders 0 100\n__consumer_offsets 49 7\na.b-c 2\t9\n"))
    assert found[TopicPartition("a.b-c", 2)] == 9
    assert (len(found), odd) == (3, [])


def test_epochs_of_a_log(file):
    assert read_epochs(file("0\n3\n0 0\n1 50\n2 100\n")) == ((Epoch(0, 0), Epoch(1, 50), Epoch(2, 100)), [])


@pytest.mark.parametrize("raw", ["", "\n", "0\n0\n"])
def test_an_empty_file_has_no_entries(file, raw):
    assert read_epochs(file(raw)) == ((), [])
    assert read_offsets(file(raw)) == ({}, [])


@pytest.mark.parametrize(
    ("raw", "at", "words", "left"),
    [
        ("1\n1\norders 0 5\n", 0, "version '1'", 0),
        ("garbage", 0, "version 'garbage'", 0),
        ("0\n", 2, "number of entries", 0),
        ("0\nmany\norders 0 5\n", 2, "number of entries", 0),
        ("0\n2\norders 0 5\n", 2, "states 2 entries, but has 1", 1),
        ("0\n1\norders 0 5\norders 1 5\n", 2, "states 1 entry, but has 2", 2),
        ("0\n2\norders 0 5\norders 1\n", 15, "not an entry: 'orders 1'", 1),
        ("0\n2\norders 0 5\norders 1 -3\n", 15, "not an entry", 1),
        ("0\n2\norders 0 5\norders 1 99999999999999999999\n", 15, "not an entry", 1),
        ("0\n2\norders 0 5\norders \u0661 3\n", 15, "not an entry", 1),
        (b"0\n2\norders 0 5\n\xff\xfe\x00 1 3\n", 15, "not an entry", 1),
        ("0\n2\norders 0 5\norders 0 6\n", None, "1 duplicate partition", 1),
    ],
)
def test_what_is_wrong_is_reported_with_its_byte(file, raw, at, words, left):
    found, [odd] = read_offsets(file(raw))
    assert (odd.at, len(found)) == (at, left)
    assert words in odd.what


@pytest.mark.parametrize("raw", ["0\n2\n3 10\n2 20\n", "0\n2\n3 10\n4 5\n", "0\n2\n3 10\n3 20\n"])
def test_epochs_that_do_not_grow_end_the_list(file, raw):
    found, [odd] = read_epochs(file(raw))
    assert found == (Epoch(3, 10),)
    assert "follows 3 from 10" in odd.what


def test_a_file_no_checkpoint_can_be_as_large_as_is_not_read(file):
    path = file("0\n")
    with path.open("r+b") as raw:
        raw.truncate(1 << 33)
    with pytest.raises(NotReadError, match="too large for such a file"):
        read_offsets(path)


def test_meta_properties_of_zookeepers_time_and_of_kraft(file):
    old = "#\n#Thu\nbroker.id=1001\nversion=0\ncluster.id=Px\\=w\n"
    assert read_meta(file(old)) == (Meta(1001, "Px=w"), [])
    new = "version=1\nnode.id=3\ncluster.id=Pxw\ndirectory.id=dir\n"
    assert read_meta(file(new)) == (Meta(3, "Pxw", "dir"), [])


@pytest.mark.parametrize(
    ("raw", "words", "meta"),
    [
        ("broker.id=1\n", "version ''", Meta()),
        ("version=7\nbroker.id=1\n", "version '7'", Meta()),
        ("version=0\ncluster.id=c\n", "broker.id is ''", Meta(None, "c")),
        ("version=0\nbroker.id=-1\ncluster.id=c\n", "broker.id is '-1'", Meta(None, "c")),
        ("version=1\nbroker.id=1\ncluster.id=c\n", "node.id is ''", Meta(None, "c")),
        ("version=0\nbroker.id=4\n", "has no cluster.id", Meta(4)),
        (b"\x00\xff\n", "version ''", Meta()),
    ],
)
def test_odd_meta_properties(file, raw, words, meta):
    found, [odd] = read_meta(file(raw))
    assert found == meta
    assert words in odd.what


def test_the_topic_id_of_a_partition(file):
    assert read_topic_id(file("version: 0\ntopic_id: MQCO0r6DSOqpHbT1OYUzFQ\n")) == ("MQCO0r6DSOqpHbT1OYUzFQ", [])
    assert read_topic_id(file("")) == ("", [])
    [odd] = read_topic_id(file("version: 0\ntopic_id: no\n"))[1]
    assert "has no topic id" in odd.what
