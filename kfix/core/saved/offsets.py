"""The file of saved committed offsets, format `kfix.offsets`, version 1: JSON for kfix and for people."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, convert, to_builtins

from kfix.core.documents.checked import read_shape
from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.numbers import LAST_MOMENT
from kfix.core.private import write_private
from kfix.core.snapshot.offsets import LoggedOffset, SavedGroup, SavedOffsets, SavedSource, StoredOffset
from kfix.core.snapshot.snapshot import TopicPartition

FORMAT: Final = "kfix.offsets"
VERSION: Final = 1
_Topic = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]
_Offset = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Epoch = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
_Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_Moment = Annotated[float, Meta(ge=0, le=LAST_MOMENT)]
_Partition = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class _OffsetShape(Struct, forbid_unknown_fields=True):
    topic: _Topic
    partition: _Partition
    offset: _Offset
    leader_epoch: _Epoch = -1
    metadata: str = ""
    committed_ms: _Int64 = -1


class _GroupShape(Struct, forbid_unknown_fields=True):
    group: str
    partition: _Partition
    offsets: list[_OffsetShape]


class _SourceShape(Struct, forbid_unknown_fields=True):
    partition: _Partition
    kind: Literal["leader", "replica", "log directory"]
    name: str
    start: _Int64
    end: _Int64
    log_end: _Int64
    missing: list[str]
    pending: list[str]


class SavedOffsetsShape(Struct, forbid_unknown_fields=True, kw_only=True):
    """The file as JSON."""

    format: Literal["kfix.offsets"]
    version: Literal[1]
    kfix: str
    saved_at: _Moment
    cluster: str
    complete: bool
    not_saved: list[str] = []
    sources: list[_SourceShape]
    groups: list[_GroupShape]


def encode_offsets(saved: SavedOffsets) -> Any:
    """Returns the content of the file as JSON types."""
    groups = [
        _GroupShape(g.name, g.partition, [_offset(*each) for each in sorted(g.offsets.items())]) for g in saved.groups
    ]
    shape = SavedOffsetsShape(
        format=FORMAT,
        version=VERSION,
        kfix=saved.kfix,
        saved_at=saved.saved_at,
        cluster=saved.cluster,
        complete=saved.complete,
        not_saved=list(saved.not_saved),
        sources=[convert(source, _SourceShape, from_attributes=True) for source in saved.sources],
        groups=groups,
    )
    return to_builtins(shape)


def _offset(tp: TopicPartition, each: LoggedOffset) -> _OffsetShape:
    stored = each.stored
    return _OffsetShape(tp.topic, tp.partition, stored.offset, stored.leader_epoch, stored.metadata, each.committed_ms)


def write_offsets(saved: SavedOffsets, path: Path) -> None:
    """Writes the file with mode 0600, whole or not at all. Raises UsageError if it cannot be written."""
    text = json.dumps(encode_offsets(saved), indent=1) + "\n"
    try:
        write_private(path, text.encode())
    except OSError as error:
        raise UsageError(f"{path}: the offsets cannot be written: {error.strerror}") from None


def read_offsets(path: Path) -> SavedOffsets:
    """Returns the content of a file. Raises UsageError if it cannot be read or is not of this format."""
    shape = read_shape(path, SavedOffsetsShape, "the saved offsets", _HINT)
    groups = tuple(SavedGroup(g.group, g.partition, _offsets(g, path)) for g in shape.groups)
    counted = Counter(group.name for group in groups)
    if twice := next((name for name, times in counted.items() if times > 1), None):
        raise InvalidFileError((f"{path}: group {twice!r} is listed more than once",), hint=_HINT)
    sources = tuple(
        SavedSource(s.partition, s.kind, s.name, s.start, s.end, s.log_end, tuple(s.missing), tuple(s.pending))
        for s in shape.sources
    )
    return SavedOffsets(shape.saved_at, shape.kfix, shape.cluster, sources, groups, tuple(shape.not_saved))


def _offsets(group: _GroupShape, path: Path) -> Mapping[TopicPartition, LoggedOffset]:
    found: dict[TopicPartition, LoggedOffset] = {}
    for each in group.offsets:
        tp = TopicPartition(each.topic, each.partition)
        if tp in found:
            raise InvalidFileError((f"{path}: group {group.group!r}: {tp} is listed more than once",), hint=_HINT)
        found[tp] = LoggedOffset(StoredOffset(each.offset, each.leader_epoch, each.metadata), each.committed_ms)
    return found


_HINT = "wanted: a file that kfix offsets save wrote"
