"""One consumer group in depth, as its coordinator and the leaders of its partitions report it: only for `--group`.

Times are seconds since the epoch, UTC. An unread value is None or -1, with the reason in `errors`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kfix.core.declared import Int16, Int32, Moment
from kfix.core.snapshot.fleet_facts import Quota
from kfix.core.snapshot.naming import Endpoint, TopicPartition
from kfix.core.snapshot.transactions import OpenBatch

_JOINING, RECONCILING = "PreparingRebalance", "Reconciling"
DEAD, EMPTY = "Dead", "Empty"
#: Seconds that an ordinary transaction lasts at most.
_YOUNG = 5.0
#: Kafka's types of groups, as ListGroups reports them. Before 3.8 a broker does not report them.
CLASSIC_GROUP, CONSUMER_GROUP, SHARE_GROUP, STREAMS_GROUP = "classic", "consumer", "share", "streams"
#: The request that describes a group of each type.
_REQUESTS = {
    CONSUMER_GROUP: "ConsumerGroupDescribe",
    SHARE_GROUP: "ShareGroupDescribe",
    STREAMS_GROUP: "StreamsGroupDescribe",
}


def described_by(group_type: str) -> str:
    """Returns the name of the request that describes groups of this type."""
    return _REQUESTS.get(group_type, "DescribeGroups")


class GroupMember(NamedTuple):
    """A member as its coordinator describes it. `instance` is its group.instance.id, "" for a dynamic member.

    `assigned` are its partitions; empty while a classic group rebalances, and for classic groups of other protocols.
    `target` are the partitions that the coordinator wants it to have, and `epoch` is the epoch it has reached; None if
    the type of the group does not have them.
    """

    id: str
    client: str
    host: str
    instance: str
    assigned: tuple[TopicPartition, ...]
    target: tuple[TopicPartition, ...] | None = None
    epoch: Int32 | None = None


#: Kafka's states of a group that rebalances: it waits for its members to join, or for the assignment by one of them;
#: one of the consumer protocol computes the assignment, or waits for its members to adopt it.
REBALANCING = frozenset({_JOINING, "CompletingRebalance", "Assigning", RECONCILING})


def awaited(
    members: Iterable[GroupMember], state: str, last: Collection[str], epoch: int | None = None
) -> tuple[GroupMember, ...]:
    """Returns the members that may hold the rebalance. `last` has the ids of the last generation, if it is known.

    `epoch` is the group's if it uses the consumer protocol: it waits for the members that have not reached it.

    A coordinator waits for members that it already knows: a member that is not in the last generation has joined since.
    In CompletingRebalance all have joined, and the last generation excludes none.
    """
    found = tuple(members)
    if epoch is not None:
        return tuple(member for member in found if member.epoch is not None and member.epoch < epoch)
    of_it = tuple(member for member in found if member.id in last)
    return of_it if of_it and state == _JOINING else found


@dataclass(frozen=True, slots=True)
class GroupMembers:
    """The state of a group and its members, as its coordinator answers now. `state` is Kafka's: Stable, Dead, ...

    `epoch` is the group's in the consumer protocol, None for a classic one.
    """

    group: str
    state: str
    members: tuple[GroupMember, ...]
    epoch: int | None = None

    @property
    def rebalances(self) -> bool:
        return self.state in REBALANCING


@dataclass(frozen=True, slots=True)
class LastGeneration:
    """The last generation of a group that got an assignment, as the log of its partition holds it.

    `number` is None and `members` empty if the log does not show it; `members` are member ids.
    """

    number: int | None = None
    members: frozenset[str] = frozenset()


class GroupPartition(NamedTuple):
    """A partition that the group has committed an offset for, or that is assigned to one of its members.

    `committed` is -1 if there is none, and of a share group its start offset; `commit_error` is Kafka's code of
    OffsetFetch with require_stable, such as 88.
    `start`, `end` (high watermark) and `stable` (last stable offset) are by the leader; -1 with `log_error` if unknown.
    `only_markers`: from the committed offset to the end are only markers of transactions, which no consumer receives.
    """

    committed: int
    commit_error: Int16
    start: int
    end: int
    stable: int
    log_error: str
    only_markers: bool = False

    @property
    def lag(self) -> int | None:
        """The number of records behind the committed offset; None if it or the log end is unknown."""
        if min(self.committed, self.end) < 0:
            return None
        return 0 if self.only_markers else max(self.end - self.committed, 0)

    @property
    def outside(self) -> bool:
        """Whether the committed offset is below the log start or above the log end."""
        return self.committed >= 0 and min(self.start, self.end) >= 0 and not self.start <= self.committed <= self.end


@dataclass(frozen=True, slots=True)
class GroupReading:
    """The answers about one group at one moment.

    - `endpoint`: the address that FindCoordinator names; `unconnected`: why it does not accept connections from here,
      "" if it does, None if that was not tried
    - `state` is "" and `members` None if the group was not described; for a streams group only the state is read
    - `group_type`: the type of the request that described it, "" for DescribeGroups; `epoch`: the group's, None for a
      classic one
    - `partitions`: None if OffsetFetch was not answered; `left_out`: the number of partitions beyond the limit
    - `held`: the batches at the last stable offsets that are below the high watermark
    - `errors`: {request: why it was not answered}
    - `quotas`: those of the members' client ids and the defaults, without those of single users; None if they were not
      read. `record_bytes`: the mean size of a record of the group on the wire, 0 if unknown. Both are read only of a
      group that does not catch up
    """

    group: str
    taken_at: Moment
    coordinator: Int32 | None
    endpoint: Endpoint | None
    unconnected: str | None
    state: str = ""
    kind: str = ""
    members: tuple[GroupMember, ...] | None = None
    partitions: Mapping[TopicPartition, GroupPartition] | None = None
    left_out: Int32 = 0
    held: Mapping[TopicPartition, OpenBatch] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    group_type: str = ""
    epoch: Int32 | None = None
    quotas: tuple[Quota, ...] | None = None
    record_bytes: float = 0.0

    @property
    def in_depth(self) -> bool:
        """Whether it was read by name, and not its offsets alone."""
        return self.coordinator is None or self.endpoint is not None or self.members is not None

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        return frozenset(tp for member in self.members or () for tp in member.assigned)

    @property
    def rebalances(self) -> bool:
        return self.state in REBALANCING

    @property
    def lag(self) -> int | None:
        """The sum over the partitions whose lag is known; None if none is."""
        known = [each.lag for each in (self.partitions or {}).values() if each.lag is not None]
        return sum(known) if known else None

    @property
    def needs_second(self) -> bool:
        """Whether a later reading shows more: members that hold a rebalance, an open transaction, a lag that grows.

        If only the offsets were read, ordinary transactions, which are young, do not count.
        """
        if self.members is not None:
            return self.rebalances or bool(self.held) or bool(self.lag)
        ages = [self.taken_at - batch.since_ms / 1000 for batch in self.held.values() if not batch.error]
        return self.rebalances or any(age < 0 or age > _YOUNG for age in ages)


def advanced(before: GroupReading, last: GroupReading) -> int:
    """Returns by how much the committed offsets of a group grew between two readings: above 0, its members read."""
    earlier = before.partitions or {}
    both = ((each.committed, earlier[tp].committed) for tp, each in (last.partitions or {}).items() if tp in earlier)
    return sum(now - then for now, then in both if 0 <= then < now)


def seconds_behind(before: GroupReading, last: GroupReading) -> float | None:
    """Returns the time in which as many records arrived as the partition that lags most is behind, by two readings.

    None if no lag is known, or none of the partitions that lag got a record between them.
    """
    seconds, earlier = last.taken_at - before.taken_at, before.partitions or {}
    both = ((each, earlier[tp]) for tp, each in (last.partitions or {}).items() if tp in earlier)
    known = [(now.lag, now.end - then.end) for now, then in both if now.lag is not None and then.end >= 0]
    if known and not any(lag for lag, _ in known):
        return 0.0
    return max((lag * seconds / came for lag, came in known if came > 0), default=None)


def by_group(readings: Iterable[GroupReading]) -> dict[str, tuple[GroupReading, ...]]:
    """Returns {group: its readings, oldest first}."""
    found: dict[str, list[GroupReading]] = {}
    for each in sorted(readings, key=lambda each: (each.group, each.taken_at)):
        found.setdefault(each.group, []).append(each)
    return {name: tuple(own) for name, own in found.items()}


def readings_of(readings: Iterable[GroupReading], group: str) -> tuple[GroupReading, ...]:
    return tuple(sorted((each for each in readings if each.group == group), key=lambda each: each.taken_at))
