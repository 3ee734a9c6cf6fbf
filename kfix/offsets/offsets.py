"""The use cases of `kfix offsets`: committed offsets read from the log, without their coordinator, into a file."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kfix import __version__
from kfix.core.access import Access
from kfix.core.collect.offsets_saving import (
    PartitionOffsets,
    only_groups,
    partition_count,
    read_partition,
    saved,
)
from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.derive.divergence import compare
from kfix.core.disk.folder import Depth
from kfix.core.disk.groups import read_records
from kfix.core.disk.logdir import find_log_dirs, read_log_dir
from kfix.core.disk.model import Grade, Oddity, Replica
from kfix.core.disk.opening import shown
from kfix.core.errors import RefusedError, UnreachableError, UsageError
from kfix.core.harmless import lines
from kfix.core.saved.offsets import encode_offsets, read_offsets, write_offsets
from kfix.core.snapshot.offsets import Rescued, SavedOffsets, SavedSource
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.diagnose.snapshots import read_cluster

__all__ = ["Wanted", "encode_offsets", "read_offsets", "save_from_disks", "save_live", "write_offsets"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to save: the named partitions of the offsets topic, all of them, or the partitions of `groups`."""

    partitions: Collection[int] = ()
    every: bool = False
    groups: Collection[str] = ()


def save_live(access: Access, selection: Wanted, now: float) -> Rescued:
    """Reads the partitions from brokers. It changes nothing.

    Raises UsageError for a partition that does not exist, UnreachableError if no partition could be read.
    """
    target = access.target()
    snapshot = read_cluster(target, keep=False)
    count = partition_count(snapshot)
    if not count:
        raise UnreachableError(
            f"the partitions of {OFFSETS_TOPIC} are unknown: the topic does not exist, or was not read"
        )
    numbers = _numbers(selection, count)
    found: list[PartitionOffsets] = []
    unread: list[str] = []
    for number in numbers:
        try:
            found.append(only_groups(read_partition(target, snapshot, number), selection.groups))
        except UnreachableError as error:
            unread.append(str(error))
    if not found:
        raise UnreachableError(
            lines(*unread),
            hint="on a broker with a replica: kfix offsets save --partition P --log-dir DIR --output-file FILE",
        )
    return _rescued(found, snapshot.cluster.id, now, selection.groups, unread)


def _numbers(selection: Wanted, count: int) -> list[int]:
    high = [number for number in selection.partitions if number >= count]
    if high:
        raise UsageError(f"--partition {high[0]}: {OFFSETS_TOPIC} has partitions 0 to {count - 1}")
    of_groups = {partition_of_group(group, count) for group in selection.groups}
    return sorted(range(count) if selection.every else {*selection.partitions, *of_groups})


def save_from_disks(paths: Sequence[Path], selection: Wanted, now: float) -> Rescued:
    """Reads the partitions from log directories on this machine: of each one the replica with the most records.

    Raises UsageError if a path is not a log directory or a partition is missing, RefusedError if the directories belong
    to different clusters.
    """

    def chosen(tp: TopicPartition) -> bool:
        return tp.topic == OFFSETS_TOPIC and (selection.every or tp.partition in selection.partitions)

    dirs = tuple(read_log_dir(folder, chosen, Depth()) for folder in find_log_dirs(paths))
    clusters = sorted({each.cluster for each in dirs} - {""})
    if len(clusters) > 1:
        raise RefusedError(
            f"directories of different clusters: {', '.join(clusters)}", hint="read those of one cluster together"
        )
    compared = {each.tp: each.replicas for each in compare(dirs) if each.replicas}
    missing = [f"{OFFSETS_TOPIC}-{n}" for n in selection.partitions if TopicPartition(OFFSETS_TOPIC, n) not in compared]
    if missing or not compared:
        raise UsageError(f"no replica of {', '.join(missing) or OFFSETS_TOPIC} in {', '.join(map(shown, paths))}")
    read = [only_groups(_from_disk(replicas[0]), selection.groups) for _, replicas in sorted(compared.items())]
    return _rescued(read, clusters[0] if clusters else "", now, selection.groups)


def _from_disk(replica: Replica) -> PartitionOffsets:
    unread: list[str] = []

    def hear(oddity: Oddity) -> None:
        if oddity.grade is Grade.UNREAD:
            unread.append(f"{oddity.file}: {oddity.what}")

    state, _ = read_records(replica, Path(replica.directory) / Path(replica.folder).name, hear)
    source = SavedSource(
        replica.tp.partition,
        "log directory",
        f"{replica.name}, {replica.folder}" if replica.broker is not None else replica.folder,
        replica.log_start,
        replica.log_end,
        replica.log_end,
        missing=tuple(unread),
    )
    return saved(source, state)


def _rescued(
    found: Iterable[PartitionOffsets], cluster: str, now: float, named: Collection[str], unread: Iterable[str] = ()
) -> Rescued:
    parts = tuple(found)
    sources = tuple(part.source for part in parts)
    groups = tuple(group for part in parts for group in part.groups)
    tried = tuple(
        f"{OFFSETS_TOPIC}-{part.source.partition}: {text}"
        for part in parts
        for text in part.tried
        if text.partition(":")[0] != part.source.name
    )
    missing = sorted({*named} - {group.name for group in groups})
    not_saved = (*unread, *(f"group {name} has no committed offset in what was read" for name in missing))
    return Rescued(SavedOffsets(now, __version__, cluster, sources, groups, not_saved), tried)
