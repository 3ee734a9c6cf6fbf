"""Which saved offsets to commit again, and why not the others: a pure comparison with the present cluster."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kfix.core.snapshot.offsets import GroupOffsets, SavedOffsets, StoredOffset
from kfix.core.snapshot.snapshot import LogEnd, TopicPartition


class Restoring(StrEnum):
    """What happens to one saved offset; the value is the word for people."""

    COMMIT = "commit"
    SAME = "already committed"
    NEWER = "kept: the committed offset is newer"
    MEMBERS = "left out: the group has members"
    PENDING = "left out: an open transaction holds the offset"
    OUTSIDE = "left out: outside the log"
    GONE = "left out: the partition does not exist"
    UNREAD = "left out: the log range is unknown"


@dataclass(frozen=True, slots=True)
class Restoration:
    """One saved offset and its outcome. `now` is the committed offset at present, `note` explains the outcome."""

    group: str
    tp: TopicPartition
    now: StoredOffset | None
    saved: StoredOffset
    verdict: Restoring
    note: str = ""

    @property
    def commits(self) -> bool:
        return self.verdict is Restoring.COMMIT


@dataclass(frozen=True, slots=True)
class RestoreRules:
    """`back` also replaces newer offsets, `outside` also commits offsets outside the log; `groups` empty: all."""

    back: bool = False
    outside: bool = False
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OffsetsItem:
    """The offsets of one group in one topic, which one request commits."""

    group: str
    topic: str
    offsets: Mapping[TopicPartition, StoredOffset]


def restorations(
    saved: SavedOffsets,
    now: Mapping[str, GroupOffsets],
    logs: Mapping[TopicPartition, LogEnd | None],
    rules: RestoreRules,
) -> tuple[Restoration, ...]:
    """Returns one row per saved offset of the groups in `now`, by group and partition.

    `logs` lacks a partition that does not exist, and has None for one whose log range could not be read.
    """
    return tuple(
        _judged(group.name, tp, each.stored, now[group.name], logs, rules)
        for group in sorted(saved.groups, key=lambda each: each.name)
        if group.name in now
        for tp, each in sorted(group.offsets.items())
    )


def _judged(
    group: str,
    tp: TopicPartition,
    stored: StoredOffset,
    reading: GroupOffsets,
    logs: Mapping[TopicPartition, LogEnd | None],
    rules: RestoreRules,
) -> Restoration:
    now, log = reading.committed.get(tp), logs.get(tp)

    def row(verdict: Restoring, note: str = "") -> Restoration:
        return Restoration(group, tp, now, stored, verdict, note)

    if tp not in logs:
        found = row(Restoring.GONE)
    elif reading.has_members:
        found = row(Restoring.MEMBERS, f"its state is {reading.state}")
    elif tp in reading.unstable:
        found = row(Restoring.PENDING)
    elif now is not None and now.offset == stored.offset:
        found = row(Restoring.SAME)
    elif now is not None and now.offset > stored.offset and not rules.back:
        found = row(Restoring.NEWER)
    elif log is None and not rules.outside:
        found = row(Restoring.UNREAD)
    elif log is not None and not rules.outside and not log.start <= stored.offset <= log.end:
        found = row(Restoring.OUTSIDE, f"its log has {log.start} to {log.end}")
    else:
        found = row(Restoring.COMMIT)
    return found


def items_of(rows: Iterable[Restoration]) -> tuple[OffsetsItem, ...]:
    """Returns what to commit, one item per group and topic."""
    grouped: dict[tuple[str, str], dict[TopicPartition, StoredOffset]] = {}
    for row in rows:
        if row.commits:
            grouped.setdefault((row.group, row.tp.topic), {})[row.tp] = row.saved
    return tuple(OffsetsItem(group, topic, offsets) for (group, topic), offsets in sorted(grouped.items()))
