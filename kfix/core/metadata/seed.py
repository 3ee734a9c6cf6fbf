"""Writes the log directory with which the only voter of a recovered quorum starts.

No file that exists is changed: a new folder is filled beside its place, read again, and then renamed into it. It holds
the records of the chosen copy, and a fence: an epoch far above all others. Where the log names the voters, one more
control record names the only one, in that epoch; else `quorum-state` does (docs/facts/kraft.md).
"""

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from itertools import groupby, takewhile
from pathlib import Path
from typing import BinaryIO, Final, NoReturn

from kfix.core.collect.quorum_rows import directory_text
from kfix.core.disk.batches import good_crc
from kfix.core.disk.checkpoints import LEADER_EPOCH, META, PARTITION
from kfix.core.disk.logdir import read_meta_of
from kfix.core.disk.model import Oddity
from kfix.core.disk.opening import DiskFile, NotReadError, read_small
from kfix.core.disk.segments import batches_from, segments_in
from kfix.core.kafka.batches import Batch
from kfix.core.kafka.metadata_records import voters_batch
from kfix.core.metadata.copies import CHECKPOINT, LOG, QUORUM_STATE, copies_read, logged_voters
from kfix.core.private import new_folder, new_private
from kfix.core.snapshot.recovery import NewLog, is_written

#: The records with which a cluster begins; Kafka 3.x reads them beside the log.
_BOOTSTRAP: Final = "bootstrap.checkpoint"
_MOST_BYTES: Final = 4 << 30


class NotWrittenError(Exception):
    """Nothing was written; the message is the reason."""


def write_log(wanted: NewLog) -> None:
    """Writes the log directory. Raises NotWrittenError, and then nothing is at its place."""
    into = Path(wanted.into)
    if os.path.lexists(into):
        raise NotWrittenError(f"{into} exists already")
    beside = into.with_name(f".kfix-{os.urandom(8).hex()}.tmp")
    try:
        new_folder(beside)
        _fill(beside, Path(wanted.folder), wanted)
        _require_as_wanted(beside, wanted)
        beside.rename(into)
        _sync_folder(into.parent)
    except (OSError, NotReadError) as error:
        raise NotWrittenError(f"{into}: {error}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _fill(new: Path, source: Path, wanted: NewLog) -> None:
    directory = _new_directory()
    meta = f"version=1\ncluster.id={read_meta_of(source).cluster}\nnode.id={wanted.node}\n"
    _write(new / META, [f"{meta}directory.id={directory_text(directory)}\n".encode()])
    _copy(source / _BOOTSTRAP, new / _BOOTSTRAP)
    log = source / str(LOG)
    to = new / str(LOG)
    new_folder(to)
    for name in (LEADER_EPOCH, PARTITION):
        _copy(log / name, to / name)
    for each in log.glob("*.checkpoint"):
        if (named := CHECKPOINT.fullmatch(each.name)) and int(named[1]) <= wanted.end:
            _copy(each, to / each.name)
    last = _copy_segments(log, to, wanted.end)
    voter = next((each for each in logged_voters(log, _raise) if each.node == wanted.node), None)
    if voter is None:
        _write(to / QUORUM_STATE, [_static_state(wanted)])
    else:
        batch = voters_batch([voter._replace(directory=directory)], wanted.end, wanted.fence, int(time.time() * 1000))
        with last.open("ab") as file:
            file.write(batch)
            _sync(file)
    for folder in (to, new):
        _sync_folder(folder)


def _copy_segments(log: Path, to: Path, end: int) -> Path:
    """Copies the batches before `end`, one after the other, each with its CRC checked. Returns the last segment."""
    segments = segments_in(log)
    if not segments:
        raise NotWrittenError(f"{log} has no segment")
    at, last = segments[0].base, to / segments[0].path.name

    def raw(found: Iterable[tuple[DiskFile, Batch]]) -> Iterator[bytes]:
        nonlocal at
        for file, batch in found:
            if batch.base != at or not good_crc(file, batch):
                raise NotWrittenError(f"{file.name}: the batch at offset {at} is damaged or missing")
            at = batch.last + 1
            yield file.read(batch.at, batch.size)

    before = takewhile(lambda found: found[1].last < end, batches_from(segments, segments[0].base, _raise))
    for path, found in groupby(before, lambda each: each[0].path):
        last = to / path.name
        _write(last, raw(found))
    if at != end:
        raise NotWrittenError(f"{log} ends at offset {at}, not at {end}")
    if not last.exists():
        _write(last, ())
    return last


def _static_state(wanted: NewLog) -> bytes:
    """Returns what a follower of the epoch `fence` remembers: one that has voted for itself would not start."""
    state = {
        "clusterId": "",
        "leaderId": -1,
        "leaderEpoch": wanted.fence,
        "votedId": -1,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": wanted.node}],
        "data_version": 0,
    }
    return json.dumps(state, separators=(",", ":")).encode()


def _require_as_wanted(folder: Path, wanted: NewLog) -> None:
    [made] = copies_read([folder])
    if made.unread or not is_written(made, wanted):
        raise NotWrittenError(f"{wanted.into}: what was written is not what was wanted: {made.unread or made}")


def _new_directory() -> bytes:
    """Returns a directory id. Kafka makes none whose text begins with a dash."""
    while directory_text(found := secrets.token_bytes(16)).startswith("-"):
        pass
    return found


def _copy(source: Path, to: Path) -> None:
    if source.exists():
        _write(to, [read_small(source, _MOST_BYTES)])


def _write(path: Path, parts: Iterable[bytes]) -> None:
    with os.fdopen(new_private(path), "wb") as file:
        for part in parts:
            file.write(part)
        _sync(file)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _raise(oddity: Oddity) -> NoReturn:
    raise NotReadError(oddity)
