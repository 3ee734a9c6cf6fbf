"""The file of one saved record, format `kfix.record`, version 1: JSON; keys, values and headers are base64."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, to_builtins

from kfix.core.documents.checked import read_shape
from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.private import new_private
from kfix.core.snapshot.offsets import LoggedRecord
from kfix.core.snapshot.snapshot import TopicPartition

FORMAT: Final = "kfix.record"
_HINT = "wanted: a file that kfix offsets record wrote"


class _HeaderShape(Struct, forbid_unknown_fields=True):
    key: bytes
    value: bytes | None


class SavedRecordShape(Struct, forbid_unknown_fields=True, kw_only=True):
    """The file as JSON."""

    format: Literal["kfix.record"]
    version: Literal[1]
    kfix: str
    cluster: str
    topic: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]
    partition: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    offset: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    leader_epoch: Annotated[int, Meta(ge=-1, le=2**31 - 1)]
    timestamp_ms: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    timestamp_type: Literal["CreateTime", "LogAppendTime"]
    key: bytes | None
    value: bytes | None
    headers: list[_HeaderShape]
    sha256: str


def encode_record(record: LoggedRecord, cluster: str, version: str) -> Any:
    """Returns the content of the file as JSON types; `version` is that of kfix."""
    shape = SavedRecordShape(
        format=FORMAT,
        version=1,
        kfix=version,
        cluster=cluster,
        topic=record.tp.topic,
        partition=record.tp.partition,
        offset=record.offset,
        leader_epoch=record.leader_epoch,
        timestamp_ms=record.timestamp_ms,
        timestamp_type="LogAppendTime" if record.appended else "CreateTime",
        key=record.key,
        value=record.value,
        headers=[_HeaderShape(*each) for each in record.headers],
        sha256=record.sha256,
    )
    return to_builtins(shape)


def write_record(content: Any, path: Path) -> None:
    """Writes a new file with mode 0600. Raises UsageError if the path exists or cannot be written."""
    try:
        handle = new_private(path)
    except OSError as error:
        raise UsageError(f"{path}: the record cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(json.dumps(content, indent=1).encode() + b"\n")
            out.flush()
            os.fsync(handle)
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise UsageError(f"{path}: the record cannot be written: {error.strerror}") from None


def read_record(path: Path) -> LoggedRecord:
    """Returns the record. Raises UsageError if the file is not whole, or not of this format."""
    shape = read_shape(path, SavedRecordShape, "the record", _HINT)
    record = LoggedRecord(
        TopicPartition(shape.topic, shape.partition),
        shape.offset,
        shape.leader_epoch,
        shape.timestamp_ms,
        shape.timestamp_type == "LogAppendTime",
        shape.key,
        shape.value,
        tuple((each.key, each.value) for each in shape.headers),
    )
    if record.sha256 != shape.sha256:
        raise InvalidFileError((f"{path}: its content has changed: sha256 is another one",), hint=_HINT)
    return record
