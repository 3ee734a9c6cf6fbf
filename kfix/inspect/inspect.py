"""The use case of `kfix inspect`: reads log directories, compares them, and measures possible losses on the disks."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.divergence import Comparison, compare, with_tails
from kfix.core.disk.folder import Depth
from kfix.core.disk.groups import read_groups
from kfix.core.disk.logdir import find_log_dirs, read_log_dir, require_one_cluster
from kfix.core.disk.model import Oddity, Replica, Tail
from kfix.core.disk.opening import shown
from kfix.core.disk.segments import read_tails
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.inspect.inspection import Inspection

__all__ = ["Chosen", "Depth", "inspect_log_dirs"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The selected partitions; all of them if `topics` and `partitions` are empty. `groups`: where to read groups."""

    topics: Collection[str] = ()
    partitions: Collection[TopicPartition] = ()
    groups: Collection[TopicPartition] = ()
    all_groups: bool = False

    def wants(self, tp: TopicPartition) -> bool:
        if self.topics or self.partitions:
            return tp.topic in self.topics or tp in self.partitions or self.wants_groups(tp)
        if self.groups or self.all_groups:
            return self.wants_groups(tp)
        return True

    def wants_groups(self, tp: TopicPartition) -> bool:
        return tp in self.groups or (self.all_groups and tp.topic == OFFSETS_TOPIC)


def inspect_log_dirs(paths: Iterable[Path], chosen: Chosen, depth: Depth) -> Inspection:
    """Returns the comparison of all log directories.

    Raises UsageError if a path is not a log directory or a selected partition is missing, RefusedError if the
    directories belong to different clusters.
    """
    folders = {shown(folder): folder for folder in find_log_dirs(paths)}
    require_one_cluster(folders)
    dirs = tuple(read_log_dir(folder, chosen.wants, depth) for folder in folders.values())
    compared = compare(dirs)
    _require_present(compared, chosen, folders)
    odd: list[Oddity] = []
    groups = tuple(
        read_groups(winner, _folder(winner, folders), odd.append)
        for each in compared
        if chosen.wants_groups(each.tp) and (winner := next(iter(each.replicas), None)) is not None
    )
    return Inspection(dirs, tuple(_measured(each, folders) for each in compared), groups, tuple(odd))


def _require_present(compared: Iterable[Comparison], chosen: Chosen, folders: Iterable[str]) -> None:
    there = {each.tp for each in compared}
    topics = {tp.topic for tp in there}
    missing = [str(tp) for tp in (*chosen.partitions, *chosen.groups) if tp not in there]
    missing += [topic for topic in chosen.topics if topic not in topics]
    if chosen.all_groups and OFFSETS_TOPIC not in topics:
        missing.append(OFFSETS_TOPIC)
    if missing:
        raise UsageError(f"no replica of {', '.join(missing)} in {', '.join(folders)}")


def _folder(replica: Replica, folders: Mapping[str, Path]) -> Path:
    return folders[replica.directory] / Path(replica.folder).name


def _measured(comparison: Comparison, folders: Mapping[str, Path]) -> Comparison:
    """Counts the records that would be lost; reads each replica once for all possible leaders."""
    points: defaultdict[Replica, set[int]] = defaultdict(set)
    for loss in comparison.losses:
        points[loss.replica].add(loss.kept)
    tails: dict[tuple[str, int], Tail] = {}
    for replica, kept in points.items():
        found = read_tails(_folder(replica, folders), kept, replica.log_start, replica.log_end)
        tails |= {(replica.folder, point): tail for point, tail in found.items()}
    return with_tails(comparison, tails)
