"""The records of `__cluster_metadata` that name topics, and the control records that name the voters.

A metadata record is framed: the version of the frame, its type and its version, each an unsigned varint. All are
flexible. Source: the schemas of metadata records, `VotersRecord` and `ControlRecordType` of Kafka 3.9.2 and 4.3.1.
"""

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from kfix.core.kafka.codec import ByteReader, ProtocolError, decoder, encoder
from kfix.core.kafka.records import Record, control_batch
from kfix.core.snapshot.reading import NodeName, NodeRole

METADATA_TOPIC: Final = "__cluster_metadata"
TOPIC, REMOVE_TOPIC, NO_OP = 2, 9, 20
#: The records by which a node registers when it has started; each begins with its id.
_REGISTRATIONS: Final = {0: NodeRole.BROKER, 27: NodeRole.CONTROLLER}
_FRAME: Final = 1
_VOTERS: Final = 6
_CONTROL_KEY: Final = struct.Struct(">hh")
_TOPIC_VALUE: Final = "name:str id:uuid"
_REMOVED_VALUE: Final = "id:uuid"
_VOTERS_VALUE: Final = (
    "_version:i16 voters:[id:i32 directory:uuid endpoints:[name:str host:str port:u16] range:{low:i16 high:i16}]"
)


class MetadataChange(NamedTuple):
    """`kind` is Kafka's type of the record. A creation has the topic's name and id, a deletion its id."""

    kind: int
    topic: str = ""
    topic_id: bytes = b""


class LoggedVoter(NamedTuple):
    """A voter of a quorum whose voters may change (KIP-853), with its listeners (name, host, port).

    `versions` are the lowest and the highest kraft.version that it supports.
    """

    node: int
    directory: bytes
    endpoints: tuple[tuple[str, str, int], ...]
    versions: tuple[int, int]

    @property
    def address(self) -> str:
        """Returns host:port of its first listener, "" without one."""
        return next((f"{host}:{port}" for _, host, port in self.endpoints), "")


def change_of(record: Record) -> MetadataChange:
    """Returns what a metadata record changes. Raises ProtocolError for one that is not framed as such."""
    kind, r = _framed(record)
    if kind == TOPIC:
        return MetadataChange(kind, *decoder(_TOPIC_VALUE, flexible=True).read(r))
    if kind == REMOVE_TOPIC:
        return MetadataChange(kind, "", *decoder(_REMOVED_VALUE, flexible=True).read(r))
    return MetadataChange(kind)


def registered_in(record: Record) -> NodeName | None:
    """Returns the node that a metadata record registers; None for another record. Raises ProtocolError."""
    kind, r = _framed(record)
    return (_REGISTRATIONS[kind], r.i32()) if kind in _REGISTRATIONS else None


def _framed(record: Record) -> tuple[int, ByteReader]:
    """Returns Kafka's type of a metadata record, and its value. Raises ProtocolError if it is not framed as one."""
    r = ByteReader(record.value or b"")
    if (frame := r.uvarint()) != _FRAME:
        raise ProtocolError(f"is framed as version {frame}, not as a metadata record")
    kind = r.uvarint()
    r.uvarint()
    return kind, r


def voters_of(record: Record) -> tuple[LoggedVoter, ...] | None:
    """Returns the voters of a control record; None for another one. Raises ProtocolError for one that is damaged."""
    key = record.key or b""
    if len(key) < _CONTROL_KEY.size or _CONTROL_KEY.unpack_from(key)[1] != _VOTERS:
        return None
    (voters,) = decoder(_VOTERS_VALUE, flexible=True).read(ByteReader(record.value or b""))
    return tuple(
        LoggedVoter(node, directory, tuple(endpoints), versions) for node, directory, endpoints, versions in voters
    )


def voters_batch(voters: Iterable[LoggedVoter], offset: int, epoch: int, now_ms: int) -> bytes:
    """Returns the batch of one control record that names the voters from this offset on, in this epoch."""
    value = encoder(_VOTERS_VALUE, flexible=True).write((tuple(voters),))
    return control_batch(_CONTROL_KEY.pack(0, _VOTERS), value, offset, epoch, now_ms)
