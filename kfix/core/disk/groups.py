"""Reads the consumer groups in a replica of `__consumer_offsets` from its records."""

from dataclasses import replace
from pathlib import Path

from kfix.core.disk.model import Grade, Oddity, Replica, StoredGroup, StoredGroups
from kfix.core.disk.opening import DiskFile, NotReadError
from kfix.core.disk.segments import Report, batches_from, segments_in
from kfix.core.kafka.batches import HEADER, Batch
from kfix.core.kafka.codec import ProtocolError
from kfix.core.kafka.group_records import GroupRecords
from kfix.core.kafka.records import UnreadBatchError, records, require_readable

_MOST_REPORTED = 5


def read_groups(replica: Replica, folder: Path, report: Report) -> StoredGroups:
    """Returns the groups from all records below the log end; `report` receives the errors."""
    state, unread = read_records(replica, folder, report)
    return StoredGroups(replica, _stored_groups(state), complete=not unread)


def read_records(replica: Replica, folder: Path, report: Report) -> tuple[GroupRecords, int]:
    """Returns (the content of all records below the log end, number of batches or files that could not be read)."""
    state, unread = GroupRecords(), 0

    def count_unread(oddity: Oddity) -> None:
        nonlocal unread
        unread += 1
        if unread <= _MOST_REPORTED:
            report(oddity)

    try:
        segments = segments_in(folder)
    except NotReadError as error:
        segments = []
        count_unread(error.oddity)
    for file, batch in batches_from(segments, 0, lambda odd: count_unread(replace(odd, grade=Grade.UNREAD))):
        _read_batch(file, batch, state, count_unread)
    if unread > _MOST_REPORTED:
        report(Oddity(replica.folder, None, f"{unread - _MOST_REPORTED} more batches with unread groups", Grade.UNREAD))
    return state, unread


def _read_batch(file: DiskFile, batch: Batch, state: GroupRecords, report: Report) -> None:
    try:
        require_readable(batch)
        state.add(batch, records(batch, file.read(batch.at + HEADER, batch.size - HEADER)))
    except (UnreadBatchError, ProtocolError) as error:
        why = str(error) if isinstance(error, UnreadBatchError) else "has a record that is not of a group"
        what = f"the batch of offsets {batch.base} to {batch.last} {why}"
        report(Oddity(file.name, batch.at, what, Grade.UNREAD))


def _stored_groups(state: GroupRecords) -> tuple[StoredGroup, ...]:
    return tuple(
        StoredGroup(
            name=name,
            offsets=len(group.offsets),
            topics=tuple(sorted({topic for topic, _ in group.offsets})),
            last_commit_ms=max(
                (each.committed_ms for each in group.offsets.values() if each is not None), default=None
            ),
            members=group.members,
            type=group.type,
        )
        for name, group in sorted(state.groups.items())
        if group.there
    )
