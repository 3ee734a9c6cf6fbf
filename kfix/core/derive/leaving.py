"""When a broker left: bounds, each with its witness.

ZooKeeper keeps no record of a broker that is gone, and restarts of other brokers rewrite the records of its partitions.
But `/brokers/ids` shows which transaction last created or removed a registration. Transactions are numbered in order:
the last known one before it and the first known one after it bound its time (docs/facts/zookeeper.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from kfix.core.snapshot.snapshot import TopicPartition, ZooKeeperView


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


def left_by_record(
    zookeeper: ZooKeeperView, missed: Collection[int], lacking: Iterable[TopicPartition] | None = None
) -> dict[int, Left]:
    """Returns when each unregistered broker with replicas left; for a registered one, `unsynced` only.

    `missed` are brokers of an earlier snapshot; `lacking` are the partitions whose record lacks a replica or a leader,
    if known: only they show when a broker was out of sync.
    """
    unsynced: dict[int, int] = {}
    first: dict[int, int] = {}  # {broker: the first transaction that wrote a record without it}
    assigned, states = zookeeper.assignments, zookeeper.states
    for tp, state in states.items() if lacking is None else ((tp, states[tp]) for tp in lacking if tp in states):
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
