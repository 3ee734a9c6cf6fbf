"""The records of `__cluster_metadata` that name topics, and the control records that name the voters.

A metadata record is framed: the version of the frame, its type and its version, each an unsigned varint. All are
flexible. Source: the schemas of metadata records, `VotersRecord` and `ControlRecordType` of Kafka 3.9.2 and 4.3.1.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from kfix.core.kafka.codec import ByteReader, ProtocolError, decoder
from kfix.core.kafka.records import Record

METADATA_TOPIC: Final = "__cluster_metadata"
TOPIC, REMOVE_TOPIC, NO_OP = 2, 9, 20
_FRAME: Final = 1
_VOTERS: Final = 6
_CONTROL_KEY: Final = struct.Struct(">hh")
_TOPIC_VALUE: Final = "name:str id:uuid"
_REMOVED_VALUE: Final = "id:uuid"
_VOTERS_VALUE: Final = (
    "_version:i16 voters:[id:i32 directory:uuid endpoints:[_name:str host:str port:u16] _range:{_low:i16 _high:i16}]"
)


class MetadataChange(NamedTuple):
    """`kind` is Kafka's type of the record. A creation has the topic's name and id, a deletion its id."""

    kind: int
    topic: str = ""
    topic_id: bytes = b""


class LoggedVoter(NamedTuple):
    """A voter of a quorum whose voters may change (KIP-853). `address` is of its first endpoint, "" without one."""

    node: int
    directory: bytes
    address: str


def change_of(record: Record) -> MetadataChange:
    """Returns what a metadata record changes. Raises ProtocolError for one that is not framed as such."""
    r = ByteReader(record.value or b"")
    if (frame := r.uvarint()) != _FRAME:
        raise ProtocolError(f"is framed as version {frame}, not as a metadata record")
    kind = r.uvarint()
    r.uvarint()
    if kind == TOPIC:
        return MetadataChange(kind, *decoder(_TOPIC_VALUE, flexible=True).read(r))
    if kind == REMOVE_TOPIC:
        return MetadataChange(kind, "", *decoder(_REMOVED_VALUE, flexible=True).read(r))
    return MetadataChange(kind)


def voters_of(record: Record) -> tuple[LoggedVoter, ...] | None:
    """Returns the voters of a control record; None for another one. Raises ProtocolError for one that is damaged."""
    key = record.key or b""
    if len(key) < _CONTROL_KEY.size or _CONTROL_KEY.unpack_from(key)[1] != _VOTERS:
        return None
    (voters,) = decoder(_VOTERS_VALUE, flexible=True).read(ByteReader(record.value or b""))
    return tuple(
        LoggedVoter(node, directory, next((f"{host}:{port}" for host, port in endpoints), ""))
        for node, directory, endpoints in voters
    )
