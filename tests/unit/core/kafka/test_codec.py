"""Numbers and counts of the protocol: all valid lengths are read, and no count is believed beyond the data."""

from functools import partial

import pytest

from kfix.core.kafka import group_messages
from kfix.core.kafka.codec import ByteReader, ProtocolError, decoder
from tests.each import for_each
from tests.wire import Writer

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
    """An element that takes no bytes, as one of no field of its version, would otherwise be made that many times."""
    for declared, flexible in (("rows:[x:i8]", False), ("rows:[x:i8@1]", False), ("rows:strs", True)):
        read = decoder(declared, flexible=flexible).read
        count = partial(Writer.uvarint if flexible else Writer.i32, Writer())
        (rows,) = read(ByteReader(count(10 + flexible).raw(bytes(10)).done()))
        assert len(rows) == 10
        count = partial(Writer.uvarint if flexible else Writer.i32, Writer())
        with pytest.raises(ProtocolError, match="an impossible number of elements"):
            read(ByteReader(count(10 + more + flexible).raw(bytes(10)).done()))


@for_each(("offsets", "committed"), [([], 0), ([-1], 0), ([0], 1), ([-1, 0, 5], 2)])
def test_an_offset_of_0_is_committed_and_one_below_is_none(offsets, committed):
    rows = Writer().i32(0).i32(1).string("t").i32(len(offsets))
    for index, offset in enumerate(offsets):
        rows.i32(index).i64(offset).i32(-1).string("").i16(0)
    error, found = group_messages.offset_fetch("g").decode(ByteReader(rows.i16(0).done()))
    assert (error, sum(each.offset >= 0 for each in found.values())) == (0, committed)
