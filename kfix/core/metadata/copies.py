"""The copies of a KRaft cluster's metadata log on disks: controllers' and brokers', and what each one lacks."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from kfix.core.collect.quorum_rows import directory_text
from kfix.core.derive.divergence import kept_offset
from kfix.core.diagnosis.finding import CANNOT_TELL, CRITICAL, HEALTHY, WARNINGS
from kfix.core.disk.batches import batches
from kfix.core.disk.folder import Depth
from kfix.core.disk.logdir import find_log_dirs, is_held, read_log_dir, read_meta_of, require_one_cluster
from kfix.core.disk.model import Grade, Oddity, Replica
from kfix.core.disk.opening import DiskFile, NotReadError, read_small, shown
from kfix.core.disk.segments import Report, batches_from, segments_in
from kfix.core.errors import UsageError
from kfix.core.kafka.batches import HEADER, Batch
from kfix.core.kafka.codec import ProtocolError
from kfix.core.kafka.metadata_records import (
    METADATA_TOPIC,
    NO_OP,
    REMOVE_TOPIC,
    TOPIC,
    LoggedVoter,
    change_of,
    voters_of,
)
from kfix.core.kafka.records import Record, UnreadBatchError, records, require_readable
from kfix.core.snapshot.recovery import CopyRead
from kfix.core.snapshot.snapshot import TopicPartition

LOG: Final = TopicPartition(METADATA_TOPIC, 0)
CHECKPOINT: Final = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
QUORUM_STATE: Final = "quorum-state"
_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class MetadataVoter:
    """A voter by one copy. `directory` and `address` are empty where the quorum is static."""

    node: int
    directory: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class LastElection:
    """What a controller remembers of elections: the epoch that it has seen, its leader and its vote (-1: none)."""

    epoch: int
    leader: int
    voted: int


@dataclass(frozen=True, slots=True)
class Missing:
    """What a copy lacks against the longest one, by records. `complete` is False if not all of them could be read."""

    start: int
    end: int
    created: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    others: int = 0
    complete: bool = True

    @property
    def offsets(self) -> int:
        return max(0, self.end - self.start)


@dataclass(frozen=True, slots=True)
class MetadataCopy:
    """One copy. `node` is the id of its node, None if it is unknown; `directory_id` that of its disk.

    `snapshot` is (end offset, epoch) of the newest checkpoint. `own` are offsets that the longest copy does not have:
    the logs have diverged there.
    """

    replica: Replica
    node: int | None
    directory_id: str
    clean: bool
    snapshot: tuple[int, int] | None
    voters: tuple[MetadataVoter, ...]
    state: LastElection | None
    missing: Missing
    own: int = 0

    @property
    def seen_epoch(self) -> int:
        """The newest epoch of its log, or of an election that it remembers."""
        return max(self.replica.last_epoch, -1 if self.state is None else self.state.epoch)


@dataclass(frozen=True)
class MetadataLogs:
    """All copies, the longest first."""

    cluster: str
    copies: tuple[MetadataCopy, ...]
    oddities: tuple[Oddity, ...] = field(default=())

    @property
    def best(self) -> MetadataCopy:
        return self.copies[0]

    @cached_property
    def newest_epoch(self) -> int:
        return max(each.seen_epoch for each in self.copies)

    @property
    def exit_code(self) -> int:
        if any(each.own for each in self.copies):
            return CRITICAL
        if any(each.grade is Grade.UNREAD for each in self.oddities):
            return CANNOT_TELL
        behind = any(each.missing.offsets for each in self.copies)
        return WARNINGS if behind or any(each.grade is Grade.ODD for each in self.oddities) else HEALTHY


def inspect_metadata(paths: Iterable[Path]) -> MetadataLogs:
    """Returns the copies of `__cluster_metadata` below the paths, compared with the longest one.

    Raises UsageError if a path is not a log directory, or none has a copy; RefusedError if they belong to different
    clusters.
    """
    folders = {shown(folder): folder for folder in find_log_dirs(paths)}
    require_one_cluster(folders)
    odd: list[Oddity] = []
    found: list[tuple[Replica, Path, bool]] = []
    for folder in folders.values():
        disk = read_log_dir(folder, lambda tp: tp == LOG, Depth(crc=True))
        odd += disk.oddities
        found += [(each, folder, disk.clean) for each in disk.replicas if not each.state]
    if not found:
        raise UsageError(f"no copy of {METADATA_TOPIC} in {', '.join(folders)}", hint="of ZooKeeper there is none")
    found.sort(key=lambda each: (-each[0].last_epoch, -each[0].log_end, each[0].folder))
    best, best_folder, _ = found[0]
    kept = {replica.folder: kept_offset(replica, best) for replica, _, _ in found}
    changes = list(_changes(best_folder / str(LOG), min(kept.values()), odd.append))
    copies = (
        MetadataCopy(
            replica,
            replica.broker,
            read_meta_of(folder).directory,
            clean,
            _newest_checkpoint(folder / str(LOG)),
            _voters(folder / str(LOG), odd.append),
            _quorum_state(folder / str(LOG) / QUORUM_STATE, odd.append),
            _missing(kept[replica.folder], best, changes),
            replica.log_end - kept[replica.folder],
        )
        for replica, folder, clean in found
    )
    cluster = next((c for folder in folders.values() if (c := read_meta_of(folder).cluster)), "")
    return MetadataLogs(cluster, tuple(copies), tuple(dict.fromkeys(odd)))


def copies_read(paths: Iterable[Path]) -> tuple[CopyRead, ...]:
    """Returns what a recovery of the quorum has to know of these log directories, the longest copy first.

    Raises as `inspect_metadata`.
    """
    found = inspect_metadata(paths)
    unread = [
        odd for odd in found.oddities if odd.grade is Grade.UNREAD or (odd.grade is Grade.ODD and odd.at is not None)
    ]
    return tuple(
        CopyRead(
            folder=one.replica.directory,
            cluster=found.cluster,
            node=-1 if one.node is None else one.node,
            epoch=one.replica.last_epoch,
            end=one.replica.log_end,
            seen_epoch=one.seen_epoch,
            own=one.own,
            held=is_held(Path(one.replica.directory)),
            voters=tuple(each.node for each in one.voters),
            changeable=any(each.directory for each in one.voters),
            unread=next(
                (f"{odd.file}: {odd.what}" for odd in unread if Path(odd.file).is_relative_to(one.replica.directory)),
                "",
            ),
        )
        for one in found.copies
    )


_Changes = list[tuple[int, Record | None]]


def _changes(folder: Path, start: int, report: Report) -> Iterator[tuple[int, Record | None]]:
    """Yields the metadata records of a log from an offset on, each with its offset; None where one was not read."""
    for file, batch in _batches(folder, start, report):
        if batch.control:
            continue
        for record in _records(file, batch, report):
            offset = batch.base + (record.delta if record is not None else 0)
            if offset >= start:
                yield offset, record


def _missing(start: int, best: Replica, changes: _Changes) -> Missing:
    """Returns what the longest copy has from `start` on. A deleted topic is named if its creation is there, too."""
    created: dict[bytes, str] = {}
    deleted: list[str] = []
    others, complete = 0, start >= best.log_start
    for offset, record in changes:
        if offset < start:
            continue
        try:
            change = None if record is None else change_of(record)
        except ProtocolError:
            change = None
        if change is None:
            complete = False
        elif change.kind == TOPIC:
            created[change.topic_id] = change.topic
        elif change.kind == REMOVE_TOPIC:
            deleted.append(created.get(change.topic_id) or directory_text(change.topic_id))
        elif change.kind != NO_OP:
            others += 1
    return Missing(start, best.log_end, tuple(sorted(created.values())), tuple(sorted(deleted)), others, complete)


def _voters(folder: Path, report: Report) -> tuple[MetadataVoter, ...]:
    """Returns the voters by the last record that names them, else the static ones."""
    if found := logged_voters(folder, report):
        return tuple(MetadataVoter(each.node, directory_text(each.directory), each.address) for each in found)
    static = _state_of(folder / QUORUM_STATE).get("currentVoters")
    rows = (each.get("voterId") for each in static if isinstance(each, dict)) if isinstance(static, list) else ()
    return tuple(MetadataVoter(node) for node in rows if type(node) is int)


def logged_voters(folder: Path, report: Report) -> tuple[LoggedVoter, ...]:
    """Returns the voters by the last record of the log that names them, else by its newest checkpoint; else none."""
    found: tuple[LoggedVoter, ...] = ()
    newest = _newest_checkpoint(folder)
    paths = [] if newest is None else [folder / f"{newest[0]:020d}-{newest[1]:010d}.checkpoint"]
    for file, batch in chain(_in_files(paths, report), _batches(folder, 0, report)):
        if batch.control:
            found = _voters_in(file, batch, report) or found
    return found


def _voters_in(file: DiskFile, batch: Batch, report: Report) -> tuple[LoggedVoter, ...]:
    """Returns the voters that a control batch names; none if it names none, or could not be read."""
    found: tuple[LoggedVoter, ...] = ()
    for record in _records(file, batch, report):
        try:
            found = (None if record is None else voters_of(record)) or found
        except ProtocolError:
            what = f"the voters at offset {batch.base} are not those of a known version"
            report(Oddity(file.name, batch.at, what, Grade.UNREAD))
    return found


def _in_files(paths: Iterable[Path], report: Report) -> Iterator[tuple[DiskFile, Batch]]:
    for path in paths:
        try:
            with DiskFile(path) as file:
                for batch in batches(file, partial(_report_at, file.name, report)):
                    yield file, batch
        except NotReadError as error:
            report(error.oddity)


def _report_at(name: str, report: Report, at: int, what: str) -> None:
    report(Oddity(name, at, what))


def _batches(folder: Path, start: int, report: Report) -> Iterator[tuple[DiskFile, Batch]]:
    try:
        yield from batches_from(segments_in(folder), start, report)
    except NotReadError as error:
        report(error.oddity)


def _records(file: DiskFile, batch: Batch, report: Report) -> Iterator[Record | None]:
    try:
        require_readable(batch)
        yield from records(batch, file.read(batch.at + HEADER, batch.size - HEADER))
    except (UnreadBatchError, ProtocolError) as error:
        what = f"the batch of offsets {batch.base} to {batch.last} {error}"
        report(Oddity(file.name, batch.at, what, Grade.UNREAD))
        yield None


def _newest_checkpoint(folder: Path) -> tuple[int, int] | None:
    found = (CHECKPOINT.fullmatch(each.name) for each in folder.glob("*.checkpoint"))
    return max(((int(each[1]), int(each[2])) for each in found if each), default=None)


def _quorum_state(path: Path, report: Report) -> LastElection | None:
    if not path.exists():
        return None
    state = _state_of(path)
    epoch, leader, voted = state.get("leaderEpoch"), state.get("leaderId", -1), state.get("votedId", -1)
    if type(epoch) is int and type(leader) is int and type(voted) is int:
        return LastElection(epoch, leader, voted)
    report(Oddity(shown(path), None, "has no epoch: not read", Grade.UNREAD))
    return None


def _state_of(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(read_small(path, _MOST_BYTES))
    except (NotReadError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
