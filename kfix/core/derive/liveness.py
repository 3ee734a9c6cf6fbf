"""Which brokers are alive, and when the others left: bounds, each with its witness."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kfix.core.snapshot.pasted import PastedText
from kfix.core.snapshot.snapshot import PartitionView, Snapshot, TopicPartition, ZooKeeperView
from kfix.core.wording import several

# Which brokers are likely alive or dead in a text that lists none: inferred from leaders and ISRs.
#
# The controller gives leadership to live brokers only, and takes a dead broker out of the ISR of every partition that
# keeps a leader (docs/facts/controller.md). So a broker that leads, or is in the ISR of a partition with a leader, was
# alive; a broker that is in none of those, although others are, was likely dead. A live replica that only lags looks
# the same on one partition, so one partition is not enough.

#: Partitions with a leader that lack a broker before it counts as dead.
_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class Likely:
    """{broker: sign of it}, of brokers that are likely alive and of those that are likely dead; none is in both.

    A sign continues the sentence "broker 3 ...".
    """

    alive: Mapping[int, str] = field(default_factory=dict)
    dead: Mapping[int, str] = field(default_factory=dict)


def likely_of(snapshot: Snapshot) -> Likely:
    """Returns the hints of a pasted text without a list of brokers; nothing for any other snapshot."""
    if snapshot.pasted is None or snapshot.pasted.registered is not None:
        return Likely()
    if any(view.alive for view in snapshot.views.values()):
        return Likely()
    [view] = snapshot.views.values()
    return _inferred(view.partitions, snapshot.pasted, _adding(snapshot))


def _adding(snapshot: Snapshot) -> Mapping[TopicPartition, tuple[int, ...]]:
    return {tp: move.adding for tp, move in (snapshot.reassignments or {}).items()}


def _inferred(
    partitions: Mapping[TopicPartition, PartitionView],
    text: PastedText,
    adding: Mapping[TopicPartition, tuple[int, ...]],
) -> Likely:
    leads, in_sync, lacking, alone = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    for tp, view in partitions.items():
        if view.leader < 0:
            alone.update(view.isr or text.elr.get(tp, ()))
            continue
        leads[view.leader] += 1
        in_sync.update(set(view.isr) - {view.leader})
        lacking.update(set(view.replicas) - set(view.isr) - set(adding.get(tp, ())) - {view.leader}
                       - set(text.observers.get(tp, ())))  # fmt: skip
    alive = {b: f"leads {several(n, 'partition')}" for b, n in leads.items()}
    alive |= {b: f"is in the ISR of {several(n, 'partition')} with a leader" for b, n in in_sync.items()
              if b not in alive}  # fmt: skip
    known = alive.keys()
    # A text that leaves partitions out does not show the leaders of those.
    dead = {
        b: _sign(lacking[b])
        for b in lacking.keys() | alone.keys()
        if b not in known and known and not text.partial and (lacking[b] >= _ENOUGH or alone[b])
    }
    # A line about a broker itself outweighs its place in an ISR; contradictory signs leave it out.
    doubtful = {b for b in text.dead if b in text.alive or b in leads}
    said_alive = {b: why for b, why in text.alive.items() if b not in doubtful}
    said_dead = {b: why for b, why in text.dead.items() if b not in doubtful}
    return Likely(
        {b: why for b, why in sorted((said_alive | alive).items()) if b not in text.dead},
        {b: why for b, why in sorted((dead | said_dead).items()) if b not in text.alive and b not in doubtful},
    )


def _sign(lacking: int) -> str:
    if not lacking:
        return "leads nothing and is in no ISR of a partition with a leader"
    missing = f"{several(lacking, 'partition')} with a leader {'has' if lacking == 1 else 'have'} a replica there"
    return f"leads nothing and is in no ISR, although {missing}"


# When a broker left: bounds, each with its witness.
#
# ZooKeeper keeps no record of a broker that is gone, and restarts of other brokers rewrite the records of its
# partitions. But `/brokers/ids` shows which transaction last created or removed a registration. Transactions are
# numbered in order: the last known one before it and the first known one after it bound its time
# (docs/facts/zookeeper.md).


class Left(NamedTuple):
    """When a broker left, in ms since the epoch; a bound is None if nothing shows it.

    It was present at `not_before`, and gone at `not_after`. `unsynced` is the time of the oldest record without it: it
    has been out of sync since then, which also happens to a live broker.
    """

    not_before: int | None = None
    not_after: int | None = None
    unsynced: int | None = None


class Absence(NamedTuple):
    """For how long a broker has been gone, in seconds; a bound is None if nothing shows it.

    `unsynced` is the least time for which it has been out of sync: it may have been alive for a part of that time.
    """

    at_least: float | None
    at_most: float | None
    unsynced: float | None


class _Members(NamedTuple):
    """All brokers that are gone left by `not_after`, and the last of them, if it is known, left after `not_before`."""

    not_before: int | None = None
    not_after: int | None = None
    last: int | None = None


def left_by_record(zookeeper: ZooKeeperView, missed: Collection[int]) -> dict[int, Left]:
    """Returns when each unregistered broker with replicas left; for a registered one, `unsynced` only.

    `missed` are brokers of an earlier snapshot.
    """
    unsynced: dict[int, int] = {}
    first: dict[int, int] = {}  # {broker: the first transaction that wrote a record without it}
    assigned, states = zookeeper.assignments, zookeeper.states
    for tp, state in states.items():
        for broker in assigned[tp].replicas if tp in assigned else ():
            if broker not in state.isr or (state.leader < 0 and state.isr == (broker,)):
                unsynced[broker] = min(state.mtime_ms, unsynced.get(broker, state.mtime_ms))
                first[broker] = min(state.mzxid, first.get(broker, state.mzxid))
    gone = {broker for each in assigned.values() for broker in each.replicas} - zookeeper.registrations.keys()
    members = _members(zookeeper, gone, {*missed} - zookeeper.registrations.keys(), first) if gone else _Members()
    return {
        broker: Left(
            members.not_before if broker == members.last else None,
            members.not_after if broker in gone else None,
            unsynced.get(broker),
        )
        for broker in {*gone, *unsynced}
    }


def _members(zookeeper: ZooKeeperView, gone: set[int], missed: set[int], first: dict[int, int]) -> _Members:
    changed = zookeeper.members_zxid
    newest = max((r.czxid for r in zookeeper.registrations.values()), default=0)
    if changed <= 0 or newest > changed:  # Unknown, or outdated: a broker has registered since it was read.
        return _Members()
    dated = list(_dated(zookeeper))
    not_after = _time(min((each for each in dated if each[0] >= changed), default=None))
    if newest == changed or len(gone | missed) != 1:
        return _Members(not_after=not_after)
    # The last change was that a broker left. If only one is gone, it is that one, unless a record shows it left before.
    [last] = gone
    not_before = _time(max((each for each in dated if each[0] < changed), default=None))
    ordered = not_before is not None and (not_after is None or not_before <= not_after)
    if first.get(last, 0) > changed and ordered:
        return _Members(not_before, not_after, last)
    return _Members(not_after=not_after)


def _time(dated: tuple[int, int] | None) -> int | None:
    return None if dated is None else dated[1]


def _dated(zookeeper: ZooKeeperView) -> Iterator[tuple[int, int]]:
    """Yields the transactions whose time is known: (its number, its time in ms)."""
    known = [(r.czxid, r.registered_ms) for r in zookeeper.registrations.values()]
    known.append((zookeeper.controller.czxid, zookeeper.controller.elected_ms))
    known += [(state.mzxid, state.mtime_ms) for state in zookeeper.states.values()]
    return (each for each in known if each[0] > 0 and each[1] > 0)
