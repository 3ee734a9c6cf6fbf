"""How fast a group reads each of its partitions, by two readings of it, and which pattern these rates have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from statistics import median
from typing import Final

from kfix.core.snapshot.group_reading import GroupMember, GroupReading
from kfix.core.snapshot.snapshot import TopicPartition

#: Seconds of arriving records that a lag has to be worth, at both ends: less is the delay of a commit, or a burst.
_WORTH: Final = 5.0
#: A partition falls behind if less than this share of its arriving records is read.
_KEEPS_UP: Final = 0.9
#: A partition is hot if it gets this many times the records of the usual one of its group.
_HOT: Final = 3.0


@dataclass(frozen=True, slots=True)
class PartitionPace:
    """A partition between two readings: its lag in records, and the records that came, were read and were deleted.

    The last three are per second; `before` and `lag` are the lag at both ends, `ahead` is what is left between the
    start of the log and the committed offset.
    """

    committed: int
    before: int
    lag: int
    came: float
    read: float
    deleted: float
    ahead: int

    @property
    def _waits(self) -> bool:
        """Whether the lag is more than the delay of a commit or of a restart, at both ends."""
        least = min(self.before, self.lag)
        return least > 0 and least >= _WORTH * self.came

    @property
    def stands(self) -> bool:
        return self.read == 0 and self._waits

    @property
    def falls_behind(self) -> bool:
        return self.came > 0 and self.lag > self.before and self._waits and self.read < _KEEPS_UP * self.came

    @property
    def overtaken_in(self) -> float | None:
        """Seconds until the start of the log reaches the committed offset at these rates; None if it does not.

        The start moves by whole segments, so at a deletion it is quicker than any group: only a group that is nearer to
        the start than to the end is in danger.
        """
        if self.deleted <= self.read or self.ahead >= self.lag:
            return None
        return self.ahead / (self.deleted - self.read)


Paces = Mapping[TopicPartition, PartitionPace]


def paces_of(before: GroupReading, last: GroupReading) -> dict[TopicPartition, PartitionPace]:
    """Returns the pace of each partition that was read twice, has a reader, and is not held by an open transaction.

    A group keeps committed offsets of topics that it no longer reads. While no assignment is known, as in a rebalance,
    it reads the topics of which an offset advanced.
    """
    seconds, then = last.taken_at - before.taken_at, before.partitions or {}
    found: dict[TopicPartition, PartitionPace] = {}
    for tp, now in (last.partitions or {}).items():
        old = then.get(tp)
        if old is None or seconds <= 0 or old.lag is None or now.lag is None or old.committed > now.committed:
            continue
        if now.lag and now.stable <= now.committed:
            continue  # A consumer that reads committed records waits for the transaction.
        found[tp] = PartitionPace(
            committed=now.committed,
            before=old.lag,
            lag=now.lag,
            came=max(now.end - old.end, 0) / seconds,
            read=(now.committed - old.committed) / seconds,
            deleted=max(now.start - old.start, 0) / seconds if min(now.start, old.start) >= 0 else 0.0,
            ahead=max(now.committed - now.start, 0),
        )
    assigned = before.assigned | last.assigned
    if last.members == () and before.members == ():
        return found
    moving = {tp.topic for tp, each in found.items() if each.read > 0}
    return {tp: each for tp, each in found.items() if (tp in assigned if assigned else tp.topic in moving)}


class LagPattern(Enum):
    """Why a group falls behind.

    STOPPED    it has no member, and records arrive
    RECORD     partitions stand while others move, and members leave and join, or the member of it reads the others
    MEMBER     what stands or falls behind belongs to one member, which falls behind everywhere
    HOT        few partitions fall behind, and get far more records than the others
    CAPACITY   most partitions that get records fall behind
    QUOTA      more bytes arrive than a quota lets its client ids fetch
    SOME       some fall behind, and nothing shows why
    STANDS     partitions stand while others of the topic move; the members were not read
    """

    STOPPED = auto()
    RECORD = auto()
    MEMBER = auto()
    HOT = auto()
    CAPACITY = auto()
    QUOTA = auto()
    SOME = auto()
    STANDS = auto()


@dataclass(frozen=True, slots=True)
class Slowness:
    """A pattern, the partitions that it is about, the member that it points to, and whether members came and went."""

    pattern: LagPattern
    tps: tuple[TopicPartition, ...]
    member: GroupMember | None = None
    rejoined: tuple[GroupMember, ...] = ()


def slow(before: GroupReading, last: GroupReading, paces: Paces) -> Slowness | None:
    """Returns what a group that does not keep up looks like; None if it does, or if no member commits anything.

    A group whose every partition stands may commit seldom, or be throttled: nothing tells that apart.
    """
    if last.members == ():
        waiting = tuple(tp for tp, each in paces.items() if each.lag and each.came > 0)
        return Slowness(LagPattern.STOPPED, waiting) if waiting and before.members == () else None
    if not any(each.read > 0 for each in paces.values()):
        return None
    if last.members is None:
        # It was not read whether only markers of transactions are left, which no consumer receives.
        still = tuple(sorted(tp for tp, each in paces.items() if each.stands and each.came > 0))
        return Slowness(LagPattern.STANDS, still) if still else None
    late = tuple(sorted(tp for tp, each in paces.items() if each.stands or each.falls_behind))
    standing = tuple(tp for tp in late if paces[tp].stands)
    found = _at_record(before, last, paces, standing) if standing else None
    return found or (_behind(last.members, paces, late) if late else None)


def at_a_record(before: GroupReading, last: GroupReading) -> bool:
    """Returns whether partitions stand at a record that fails its consumer, so that its members come and go."""
    found = slow(before, last, paces_of(before, last))
    return found is not None and found.pattern is LagPattern.RECORD


def _at_record(
    before: GroupReading, last: GroupReading, paces: Paces, tps: tuple[TopicPartition, ...]
) -> Slowness | None:
    """Returns the pattern RECORD if members come and go while records arrive, or if the member keeps up with others."""
    then, now = ({member.id: member for member in each.members or ()} for each in (before, last))
    # An earlier snapshot shows no members.
    changed = () if before.members is None else sorted(now.keys() ^ then.keys())
    rejoined = tuple({**now, **then}[each] for each in changed)
    fed = tuple(tp for tp in tps if paces[tp].came > 0)
    if rejoined and fed:
        return Slowness(LagPattern.RECORD, fed, _owner(last.members or (), fed), rejoined)
    member = _owner(last.members or (), tps)
    others = [paces[tp] for tp in (member.assigned if member is not None else ()) if tp in paces and tp not in tps]
    keeps_up = any(each.read >= _KEEPS_UP * each.came and each.read > 0 for each in others)
    return Slowness(LagPattern.RECORD, tps, member) if keeps_up else None


def _behind(members: Sequence[GroupMember], paces: Paces, tps: tuple[TopicPartition, ...]) -> Slowness:
    fed = [tp for tp, each in paces.items() if each.came > 0 or tp in tps]
    others = [paces[tp].came for tp in fed if tp not in tps]
    if others and min(paces[tp].came for tp in tps) >= _HOT * median(others):
        return Slowness(LagPattern.HOT, tps, _owner(members, tps))
    member = _owner(members, tps)
    if member is not None and others and {tp for tp in member.assigned if tp in fed} <= set(tps):
        return Slowness(LagPattern.MEMBER, tps, member)
    if 2 * len(tps) > len(fed):
        return Slowness(LagPattern.CAPACITY, tps)
    return Slowness(LagPattern.SOME, tps)


def _owner(members: Sequence[GroupMember], tps: Sequence[TopicPartition]) -> GroupMember | None:
    """Returns the one member that all of these partitions are assigned to."""
    return next((member for member in members if set(tps) <= set(member.assigned)), None)
