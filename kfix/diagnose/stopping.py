"""The obstacles to stopping nodes on purpose, and what has to happen first.

The failure is judged by the rules of `kfix whatif`. A clean shutdown moves the leaders away first, and ends in the same
state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.quorum import majority
from kfix.core.diagnosis.forecast import Failure, FailureForecast, Fate, Forecast, PartitionForecast
from kfix.core.failures.judging import forecast
from kfix.core.failures.scenarios import controllers_in, following, voters_of
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, has, several, some
from kfix.diagnose.advice import remedies_of

_NAMED: Final = 3


class ObstacleKind(StrEnum):
    """What an act would do, or why it cannot be done.

    STOPS       partitions without a leader, and so without their coordinators
    STRANDED    the same, although an in-sync replica is left: ZooKeeper's record differs from the controller's memory
    UNCLEAN     a replica that is not in sync is elected, records are lost
    MIN_ISR     fewer in-sync replicas than min.insync.replicas: producers with acks=all stop
    LEADERLESS  partitions that have no leader today and a replica on the node
    QUORUM      the controllers, or the servers of ZooKeeper, lose their majority
    REPLICAS    the broker still has replicas
    VOTER       the node is a voter of the quorum
    ELIGIBLE    the eligible and last known leaders of partitions are forgotten, or may be
    MOVES       moves that Kafka refuses, or that never end
    VERSION     the version cannot be reached from here
    CLIENTS     clients that the new version refuses
    MIGRATION   a phase of a migration to KRaft that is not the next one, or that lacks something
    PLAN        the plan cannot be carried out as it is
    """

    STOPS = "stops"
    STRANDED = "stranded"
    UNCLEAN = "unclean"
    MIN_ISR = "min-isr"
    LEADERLESS = "leaderless"
    QUORUM = "quorum"
    REPLICAS = "replicas"
    VOTER = "voter"
    ELIGIBLE = "eligible"
    MOVES = "moves"
    VERSION = "version"
    CLIENTS = "clients"
    MIGRATION = "migration"
    PLAN = "plan"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason against an act, as a sentence without the final period.

    `until` is what has to happen first; empty if waiting does not help. `next` is what to do, or a command to paste;
    empty if nothing but time is needed. `groups` are the consumer groups whose coordinators stop, as far as known.
    """

    kind: ObstacleKind
    what: str
    until: str = ""
    next: str = ""
    partitions: tuple[TopicPartition, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assessment:
    """`cautions` do not forbid the act. Each of `unknown` could."""

    obstacles: tuple[Obstacle, ...] = ()
    cautions: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def judge_stop(case: CaseFile, failure: Failure, *, lasting: bool = False) -> Assessment:
    """Returns what would stop while these nodes are down; `lasting`: for good, not only for a restart.

    The hosts of ZooKeeper's servers go down only with racks. Raises UnreachableError as `forecast` does.
    """
    found = forecast(case, (failure,), named=True)
    [one] = found.failures
    commands = [remedy.command for remedy in remedies_of(found, one) if remedy.command]
    obstacles = [*_partitions(case, one, commands), *_quorum(case, one)]
    return Assessment(tuple(obstacles), tuple(_cautions(case, one, lasting=lasting)), tuple(_unknown(case, found, one)))


def named(tps: Iterable[TopicPartition]) -> str:
    """Returns `orders-0 and orders-1`, or the first of many with the number of the others."""
    names = [str(tp) for tp in sorted(tps)]
    return " and ".join(names) if len(names) <= 2 else some(names, _NAMED)


def until_in_sync(case: CaseFile, brokers: Iterable[int]) -> str:
    """Returns what has to happen until replicas on these brokers are in sync."""
    live = case.live or frozenset()
    behind, dead = ([b for b in sorted(brokers) if (b in live) is alive] for alive in (True, False))
    parts = [f"{brokers_named(behind)} {are(len(behind))} in sync"] if behind else []
    parts += [f"{brokers_named(dead)} {are(len(dead))} started, and in sync"] if dead else []
    return " or ".join(parts)


def _partitions(case: CaseFile, one: FailureForecast, commands: Sequence[str]) -> Iterator[Obstacle]:
    """Yields what becomes of partitions; `commands` would lessen it."""
    found: dict[tuple[ObstacleKind, tuple[int, ...]], list[PartitionForecast]] = {}
    for partition in one.partitions:
        kind = _kind(partition, one.failure)
        if kind is not None:
            found.setdefault((kind, _helping(partition, kind, one.failure)), []).append(partition)
    order = list(ObstacleKind)
    for (kind, helping), partitions in sorted(found.items(), key=lambda each: (order.index(each[0][0]), each[0][1])):
        tps = tuple(p.tp for p in partitions)
        until = UNTIL_LED if kind is ObstacleKind.LEADERLESS else until_in_sync(case, helping)
        groups = {g for tp in tps if tp.topic == OFFSETS_TOPIC for g in case.groups.get(tp.partition, ())}
        remedy = "" if until else next((each for each in commands if _is_for(kind, tps, each)), "")
        yield Obstacle(kind, _WHAT[kind](partitions, one.failure), until, remedy, tps, tuple(sorted(groups)))


def _is_for(kind: ObstacleKind, tps: Sequence[TopicPartition], command: str) -> bool:
    """Whether a command raises the replication factor of one of these topics, or reads a diverged record again."""
    if kind is ObstacleKind.STRANDED:
        return "KFX201" in command
    return any(f" topic={topic} " in command for topic in {tp.topic for tp in tps})


def _kind(partition: PartitionForecast, failure: Failure) -> ObstacleKind | None:
    if partition.fate is Fate.STOPPED:
        return ObstacleKind.LEADERLESS if failure.brokers & set(partition.replicas) else None
    return _KINDS.get(partition.fate, ObstacleKind.MIN_ISR if partition.falls_under else None)


def _helping(partition: PartitionForecast, kind: ObstacleKind, failure: Failure) -> tuple[int, ...]:
    """Returns the brokers whose replicas would have to be in sync first; none if they are too few."""
    missing = tuple(sorted(set(partition.replicas) - set(partition.isr_before) - failure.brokers))
    lacking = 1
    if kind is ObstacleKind.MIN_ISR:
        lacking = (partition.min_isr or 0) - len(partition.isr)
    waits = kind not in {ObstacleKind.LEADERLESS, ObstacleKind.STRANDED}
    return missing if waits and len(missing) >= lacking else ()


_KINDS: Final = {
    Fate.STOPS: ObstacleKind.STOPS,
    Fate.STRANDED: ObstacleKind.STRANDED,
    Fate.UNCLEAN: ObstacleKind.UNCLEAN,
}
UNTIL_LED: Final = "they have a leader: kfix diagnose names the cause"


def _stops(partitions: Sequence[PartitionForecast], failure: Failure) -> str:
    elsewhere = any(set(p.replicas) - failure.brokers for p in partitions)
    why = "no other replica is in sync" if elsewhere else "there is no other replica"
    return f"{named(p.tp for p in partitions)} would have no leader: {why}"


def _stranded(partitions: Sequence[PartitionForecast], _failure: Failure) -> str:
    return (
        f"{named(p.tp for p in partitions)} would have no leader although a replica is in sync: ZooKeeper's record has "
        "diverged (KFX201)"
    )


def _unclean(partitions: Sequence[PartitionForecast], _failure: Failure) -> str:
    return (
        f"{named(p.tp for p in partitions)} would be led by a replica that is not in sync, since unclean elections are "
        "allowed, and records would be lost"
    )


def _under(partitions: Sequence[PartitionForecast], _failure: Failure) -> str:
    return (
        f"{named(p.tp for p in partitions)} would have fewer in-sync replicas than min.insync.replicas: producers with "
        "acks=all would stop"
    )


def _leaderless(partitions: Sequence[PartitionForecast], failure: Failure) -> str:
    tps, whom = named(p.tp for p in partitions), brokers_named(failure.brokers)
    return f"{tps} {has(len(partitions))} no leader today, and a replica on {whom}"


_WHAT: Final = {
    ObstacleKind.STOPS: _stops,
    ObstacleKind.STRANDED: _stranded,
    ObstacleKind.UNCLEAN: _unclean,
    ObstacleKind.MIN_ISR: _under,
    ObstacleKind.LEADERLESS: _leaderless,
}


def _quorum(case: CaseFile, one: FailureForecast) -> Iterator[Obstacle]:
    if not case.kraft:
        if one.quorum_lost and one.failure.racks:
            yield Obstacle(ObstacleKind.QUORUM, "ZooKeeper would lose its quorum with the hosts of these brokers")
        return
    keep_up, unread = following(case)
    voters, down = voters_of(case), controllers_in(one.failure, case)
    kept = keep_up - down
    if not down or len(kept | unread - down) >= majority(len(voters)):
        return
    away = sorted(voters - keep_up - down)
    what = (
        f"without {_controllers(down)} {len(kept)} of {several(len(voters), 'voter')} of the quorum would be left, and "
        f"{majority(len(voters))} are a majority"
    )
    helps = len(voters - down) >= majority(len(voters))
    until = f"{_controllers(away)} {'follows' if len(away) == 1 else 'follow'} the active controller again"
    yield Obstacle(ObstacleKind.QUORUM, what, until if helps else "")


def nodes_named(ids: Iterable[int], noun: str) -> str:
    """Returns `controller 3` or `nodes 1, 3`."""
    return brokers_named(ids).replace("broker", noun, 1)


def _controllers(ids: Iterable[int]) -> str:
    return nodes_named(ids, "controller")


def _cautions(case: CaseFile, one: FailureForecast, *, lasting: bool) -> Iterator[str]:
    if one.last_in_sync:
        until = "" if lasting else " meanwhile"
        yield (
            f"{several(one.last_in_sync, 'partition')} would be left with the last in-sync replica: another failure"
            f"{until} stops {'it' if one.last_in_sync == 1 else 'them'}"
        )
    down = controllers_in(one.failure, case)
    if down and len(following(case)[0] - down) == majority(len(voters_of(case))):
        yield f"no further controller may fail while {_controllers(down)} {are(len(down))} down"
    if case.being_moved:
        yield f"replicas are being moved ({named(case.being_moved)}): the moves stand still where they need the node"
    if not case.kraft and one.quorum_lost is None and one.failure.racks:
        yield "whether ZooKeeper's servers share hosts with these brokers is unknown"


def _unknown(case: CaseFile, found: Forecast, one: FailureForecast) -> Iterator[str]:
    yield from found.unknown
    keep_up, unread = following(case)
    down = controllers_in(one.failure, case)
    if down and len(keep_up - down) < majority(len(voters_of(case))) <= len((keep_up | unread) - down):
        yield f"whether {_controllers(unread)} {'follows' if len(unread) == 1 else 'follow'} the active controller"
    tps = [p.tp for p in one.partitions if p.fate is Fate.UNKNOWN or p.falls_under is None]
    if tps:
        yield f"a setting, the record or the metadata of {named(tps)} was not read"
