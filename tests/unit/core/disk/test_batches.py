"""Headers of record batches, as kafka-python makes them; what is torn or false is told with its byte."""

import os
import struct

import pytest

from kfix.core.disk.batches import batches, good_crc
from kfix.core.disk.opening import DiskFile, NotReadError
from tests.unit.core.disk.building import CODECS, NOON, batch, old_batch, run


@pytest.fixture
def walked(tmp_path):
    def walk(raw):
        path = tmp_path / "00000000000000000000.log"
        path.write_bytes(raw)
        told = []
        with DiskFile(path) as file:
            found = list(batches(file, lambda at, what: told.append((at, what))))
            good = [good_crc(file, each) for each in found]
        return found, told, good

    return walk


def test_headers_are_read_and_records_are_not(walked):
    raw = batch(7, 3, epoch=2) + batch(10, 1, epoch=5)
    [first, second], told, good = walked(raw)
    assert (first.at, first.base, first.last, first.epoch, first.records) == (0, 7, 9, 2, 3)
    assert (first.first_ms, first.last_ms) == (NOON, NOON + 2)
    assert (second.at, second.size) == (first.size, len(raw) - first.size)
    assert (second.base, second.last, second.epoch) == (10, 10, 5)
    assert (told, good) == ([], [True, True])


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_batches_show_as_much(walked, codec):
    [found], told, good = walked(batch(0, 50, codec=codec))
    assert (found.last, found.records, found.codec) == (49, 50, codec)
    assert (told, good) == ([], [True])


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_walked_without_epochs(walked, magic):
    found, told, good = walked(old_batch(magic, 5, 3) + old_batch(magic, 8, 2, codec="gzip"))
    assert [(b.last, b.epoch, b.records) for b in found] == [(5, -1, 1), (6, -1, 1), (7, -1, 1), (9, -1, None)]
    assert {b.last_ms for b in found[:3]} == {-1 if magic == 0 else NOON}
    assert (told, all(good)) == ([], True)


def test_batches_larger_than_a_window_and_many_small_ones_are_all_found(walked):
    large = batch(0, pairs=[(None, os.urandom(300_000))])
    raw = large + b"".join(batch(o, 1) for o in range(1, 3000)) + batch(3000, pairs=[(None, bytes(70_000))] * 3)
    found, told, good = walked(raw)
    assert [b.base for b in found] == list(range(3001))
    assert (told, all(good)) == ([], True)


@pytest.mark.parametrize("cut", [1, 11, 12, 40, 60, 61, 70])
def test_a_torn_end_is_reported_with_its_byte(walked, cut):
    whole = batch(0, 2)
    found, [(at, what)], _ = walked(whole + batch(2, 2)[:cut])
    assert [b.last for b in found] == [1]
    assert at == len(whole)
    assert what.startswith("incomplete: ")


def damaged(place, packed, value):
    raw = bytearray(batch(0, 2) + batch(2, 2))
    struct.pack_into(packed, raw, len(raw) // 2 + place, value)
    return bytes(raw)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (damaged(8, ">i", 13), "invalid batch length 13"),
        (damaged(8, ">i", -5), "invalid batch length -5"),
        (damaged(16, ">b", 3), "magic 3"),
        (damaged(16, ">b", -1), "magic -1"),
        (damaged(0, ">q", -2), "invalid batch offset -2"),
        (damaged(23, ">i", -1), "invalid last offset"),
        (damaged(8, ">i", 1 << 30), "incomplete: the batch should have 1073741836 bytes"),
        (batch(0, 2) + bytes(500), "zeros from here on"),
    ],
)
def test_what_cannot_be_a_batch_ends_the_walk(walked, raw, words):
    found, [(at, what)], _ = walked(raw)
    assert [b.last for b in found] == [1]
    assert at == found[0].size
    assert words in what


def test_more_records_than_offsets_are_reported_and_the_walk_goes_on(walked):
    found, [(at, what)], _ = walked(damaged(57, ">i", 9))
    assert len(found) == 2
    assert (at, what) == (found[1].at, "9 records in the batch of offsets 2 to 3")


@pytest.mark.parametrize("place", [27, 61, 70])
def test_a_flipped_bit_breaks_the_crc(walked, place):
    raw = bytearray(batch(0, 3))
    raw[place] ^= 4
    assert walked(bytes(raw))[2] == [False]


def test_a_batch_that_is_just_written_is_waited_for(tmp_path, monkeypatch):
    path = tmp_path / "log"
    first, second = batch(0, 2), batch(2, 200)
    path.write_bytes(first + second[:5])
    pieces = [second[5:90], second[90:]]

    def broker(_seconds):
        with path.open("ab") as file:
            file.write(pieces.pop(0))

    monkeypatch.setattr("kfix.core.disk.batches.time.sleep", broker)
    told = []
    with DiskFile(path) as file:
        assert [b.last for b in batches(file, lambda *said: told.append(said))] == [1, 201]
    assert (told, pieces) == ([], [])


def test_a_file_that_is_cut_meanwhile_is_reported(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(run(0, 20_000, 0, size=1))
    with DiskFile(path) as file:
        walk = batches(file, lambda *_: None)
        next(walk)
        os.truncate(path, 200)
        with pytest.raises(NotReadError, match="was truncated while it was read"):
            list(walk)
