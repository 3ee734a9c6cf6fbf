"""Numbers and counts of the protocol: all valid lengths are read, and no count is believed beyond the data."""

import pytest

from kfix.adapters.kafka import responses
from kfix.adapters.kafka.codec import ByteReader, ProtocolError, Writer
from tests.each import for_each

ENDS = [0, 1, *(edge for bits in (7, 14, 21, 28) for edge in (2**bits - 1, 2**bits)), 2**32 - 1]


@for_each("value", ENDS)
def test_a_varint_of_one_to_five_bytes_is_read_as_it_was_written(value):
    reader = ByteReader(Writer().uvarint(value).i8(7).done())
    assert (reader.uvarint(), reader.i8()) == (value, 7)


def test_a_varint_of_six_bytes_is_invalid():
    with pytest.raises(ProtocolError, match="an invalid length"):
        ByteReader(b"\x80" * 5 + b"\x01").uvarint()


@for_each("more", [1, 2, 100, 2**31 - 20])
def test_no_count_beyond_the_data_is_used(more):
    """An element that takes no bytes would otherwise be made that many times."""
    made = []
    for write, read in ((Writer.i32, ByteReader.array), (lambda w, n: w.uvarint(n + 1), ByteReader.compact_array)):
        few = ByteReader(write(Writer(), 10).raw(bytes(10)).done())
        assert read(few, few.i8) == [0] * 10
        many = ByteReader(write(Writer(), 10 + more).raw(bytes(10)).done())
        with pytest.raises(ProtocolError, match="more elements than it has bytes"):
            read(many, lambda: made.append(1))
    assert made == []


@for_each(("offsets", "committed"), [([], 0), ([-1], 0), ([0], 1), ([-1, 0, 5], 2)])
def test_an_offset_of_0_is_committed_and_one_below_is_none(offsets, committed):
    rows = Writer().i32(0).i32(1).string("t").i32(len(offsets))
    for offset in offsets:
        rows.i32(0).i64(offset).i32(-1).string("").i16(0)
    assert responses.offset_fetch(ByteReader(rows.i16(0).done())) == (0, committed)
