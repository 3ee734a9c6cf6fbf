"""The acts on nodes and topics, each judged by one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kfix.core.derive.addressing import cluster_options
from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.elections import UNCLEAN
from kfix.core.derive.partition_facts import partitions_of
from kfix.core.derive.quorum import majority
from kfix.core.diagnosis.forecast import Failure, Fate, PartitionForecast
from kfix.core.errors import UsageError
from kfix.core.failures.judging import Judge
from kfix.core.failures.scenarios import failure_of, following, unknown_of, voters_of
from kfix.core.numbers import whole_number
from kfix.core.snapshot.quorum import KRAFT_FEATURE, QuorumView
from kfix.core.snapshot.snapshot import NO_LEADER, TopicPartition
from kfix.core.wording import has, several
from kfix.diagnose.migrating import MigrationPhase, judge_migration
from kfix.diagnose.stopping import UNTIL_LED, Assessment, Obstacle, ObstacleKind, judge_stop, named, until_in_sync
from kfix.preflight.model import Act

_MIN_ISR: Final = "min.insync.replicas"
#: The settings that say how many brokers a new topic needs.
_FACTORS: Final = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
)


def restart(nodes: str) -> Act:
    """Stopping nodes and starting them with their disks: `broker=3`, `broker=3,4`, `controller=2` or `rack=b`."""
    return Act(
        f"restart {nodes}", lambda case: judge_stop(case, failure_of(nodes, case, "preflight restart "), lasting=False)
    )


def stop(nodes: str) -> Act:
    """Stopping nodes, named as for `restart`, for an unknown time."""
    return Act(f"stop {nodes}", lambda case: judge_stop(case, failure_of(nodes, case, "preflight stop "), lasting=True))


def remove(node: str) -> Act:
    """Taking a broker out of the cluster, or a controller out of the quorum, for good: `broker=3`, `controller=2`."""
    kind, _, text = node.partition("=")
    number = whole_number(text)
    if kind not in {"broker", "controller"} or number is None:
        raise UsageError(f"preflight remove {node!r}: broker=ID or, on KRaft, controller=ID")
    judge = _remove_broker if kind == "broker" else _remove_voter
    return Act(f"remove {node}", lambda case: judge(case, number))


def migration(phase: str) -> Act:
    """The next restarts of a migration from ZooKeeper to KRaft: `prepare`, `move` or `finish`."""
    if phase not in set(MigrationPhase):
        raise UsageError(f"preflight migration {phase!r}: one of {', '.join(MigrationPhase)}")
    return Act(f"migration {phase}", lambda case: judge_migration(case, MigrationPhase(phase)))


def _remove_broker(case: CaseFile, broker: int) -> Assessment:
    live = case.live or frozenset[int]()
    if broker not in {*live, *case.assigned, *case.fenced, *case.ghosts, *case.registrations}:
        raise UsageError(f"preflight remove broker={broker}: the cluster has no such broker")
    return Assessment(
        tuple(_against_removal(case, broker)),
        tuple(_after_removal(case, broker, len(live - {broker}))),
        tuple(not_read(case)),
    )


def _against_removal(case: CaseFile, broker: int) -> Iterator[Obstacle]:
    tps = tuple(tp for tp in partitions_of(case.snapshot) if broker in case.assignment(tp).replicas)
    if tps:
        moving = set(tps) <= set(case.being_moved)
        yield Obstacle(
            ObstacleKind.REPLICAS,
            f"{named(tps)} {has(len(tps))} a replica on broker {broker}",
            "their moves are complete" if moving else "",
            "" if moving else f"kfix runbook plan move-replicas --json-in FILE {cluster_options(case)}",
            tps,
        )
    if broker in voters_of(case):
        what = f"broker {broker} is a controller, too, and a voter of the quorum"
        yield Obstacle(
            ObstacleKind.VOTER, what, next=f"kfix preflight remove controller={broker} {cluster_options(case)}"
        )


def _after_removal(case: CaseFile, broker: int, left: int) -> Iterator[str]:
    for key in _FACTORS:
        factors = [n for value in case.settings(key).values() if (n := whole_number(value)) is not None]
        if factors and max(factors) > left:
            yield f"{several(left, 'live broker')} would be left, too few for a new topic: {key} is {max(factors)}"
    if broker in (case.live or ()):
        yield f"broker {broker} runs: shut it down first"
    if case.kraft:
        yield (
            "its registration stays until it is removed: kfix runbook apply remove-ghost-registration "
            f"-p broker={broker} {cluster_options(case)}"
        )


def _remove_voter(case: CaseFile, controller: int) -> Assessment:
    voters = voters_of(case)
    if controller not in voters:
        known = f"the voters are {', '.join(map(str, sorted(voters)))}" if voters else "no KRaft quorum was read"
        raise UsageError(f"preflight remove controller={controller}: no such voter; {known}")
    obstacles = []
    quorum = case.snapshot.quorum
    features = quorum.features if quorum is not None else {}
    if features and features.get(KRAFT_FEATURE, 0) < 1:
        obstacles.append(
            Obstacle(ObstacleKind.VERSION, f"the voters are fixed by controller.quorum.voters ({KRAFT_FEATURE} is 0)")
        )
    rest = voters - {controller}
    keep_up, unread = following(case)
    left, needed = keep_up & rest, majority(len(rest)) if rest else 1
    if len(left | (unread & rest)) < needed:
        others = several(len(rest), "other voter")
        what = f"{len(left)} of {others} follow the active controller, and {needed} are a majority"
        obstacles.append(Obstacle(ObstacleKind.QUORUM, what, "they follow it" if len(rest) >= needed else ""))
    unknown = () if len(left) >= needed or obstacles else ("which voters follow the active controller",)
    few = (f"{several(len(rest), 'voter')} would be left: none of them may fail",) if len(rest) < 3 and rest else ()
    return Assessment(tuple(obstacles), few, (*unknown, *not_read(case)))


def config(entity: str, name: str, setting: str) -> Act:
    """Setting `KEY=VALUE` on a topic. Raises UsageError for another entity, and for a value that is none of the key."""
    key, sign, value = setting.partition("=")
    words = f"config {entity} {name} {setting}"
    if entity != "topic":
        raise UsageError(f"preflight {words}: kfix judges settings of a topic: config topic NAME KEY=VALUE")
    if not sign or not key:
        raise UsageError(f"preflight {words}: {setting!r} is not KEY=VALUE")
    if key == _MIN_ISR:
        least = whole_number(value)
        if least is None or least < 1:
            raise UsageError(f"preflight {words}: {_MIN_ISR} is a number from 1")
        return Act(words, lambda case: _min_isr(case, _of_topic(case, name, words), least))
    if key == UNCLEAN:
        if value not in {"true", "false"}:
            raise UsageError(f"preflight {words}: {UNCLEAN} is true or false")
        return Act(words, lambda case: _unclean(case, _of_topic(case, name, words), allowed=value == "true"))
    return Act(words, lambda case: Assessment(unknown=(_not_judged(_of_topic(case, name, words), key),)))


def _not_judged(_partitions: object, key: str) -> str:
    return f"what {key} does: kfix judges {_MIN_ISR} and {UNCLEAN}"


def today(case: CaseFile) -> Mapping[TopicPartition, PartitionForecast]:
    """Returns all partitions as they are: the forecast of no failure."""
    return Judge(case).every_partition(Failure(frozenset()))


def needed_of(case: CaseFile, least: int, partition: PartitionForecast, replicas: int) -> int:
    """Returns the in-sync replicas that its leader requires of so many replicas with this min.insync.replicas."""
    leader = NO_LEADER if partition.leader is None else partition.leader
    return case.background.settings.releases.needed(least, leader, replicas)


def _of_topic(case: CaseFile, topic: str, words: str) -> list[PartitionForecast]:
    """Returns the partitions of a topic as they are today."""
    found = [each for tp, each in today(case).items() if tp.topic == topic]
    if not found:
        raise UsageError(f"preflight {words}: the cluster shows no topic {topic!r}")
    return found


def _min_isr(case: CaseFile, partitions: list[PartitionForecast], least: int) -> Assessment:
    short: dict[tuple[int, ...], list[TopicPartition]] = {}
    tight = False
    for each in partitions:
        needed = needed_of(case, least, each, len(each.replicas))
        tight = tight or needed == len(each.replicas) > 1
        if each.fate is Fate.STOPPED or each.under_min_isr or len(each.isr) >= needed:
            continue
        missing = tuple(sorted(set(each.replicas) - set(each.isr)))
        short.setdefault(missing if len(each.replicas) >= needed else (), []).append(each.tp)
    obstacles = [
        Obstacle(
            ObstacleKind.MIN_ISR,
            f"{named(tps)} {has(len(tps))} fewer than {several(least, 'in-sync replica')}: producers with "
            "acks=all would stop",
            until_in_sync(case, missing),
            partitions=tuple(tps),
        )
        for missing, tps in sorted(short.items())
    ]
    cautions = ("the loss of any replica would stop producers with acks=all",) if tight else ()
    elr = _forgets_eligible(case, partitions)
    return Assessment(
        (*elr.obstacles, *obstacles), (*elr.cautions, *cautions), (*elr.unknown, *not_read(case, partitions))
    )


def _forgets_eligible(case: CaseFile, partitions: Iterable[PartitionForecast]) -> Assessment:
    """Kafka 4 forgets the eligible and the last known leaders of a topic when this setting is set on it."""
    quorum = case.snapshot.quorum
    if not case.kraft or quorum is None or quorum.elr is False:
        return Assessment()
    led = [p.tp for p in partitions if p.fate is not Fate.STOPPED and _eligible(quorum, p.tp)]
    why = f"setting {_MIN_ISR} forgets who may lead without a loss, and only an unclean election is left"
    unknown = () if quorum.elr is not None else ("whether the partitions have eligible leader replicas",)
    cautions = (f"the eligible leader replicas of {named(led)} are forgotten",) if led else ()
    return Assessment(tuple(_leaderless(partitions, ObstacleKind.ELIGIBLE, why)), cautions, unknown)


def _eligible(quorum: QuorumView, tp: TopicPartition) -> bool:
    return tp in quorum.eligible and bool(quorum.eligible[tp].replicas)


def _leaderless(partitions: Iterable[PartitionForecast], kind: ObstacleKind, why: str) -> Iterator[Obstacle]:
    tps = tuple(p.tp for p in partitions if p.fate is Fate.STOPPED)
    if tps:
        yield Obstacle(kind, f"{named(tps)} {has(len(tps))} no leader: {why}", UNTIL_LED, partitions=tps)


def _unclean(case: CaseFile, partitions: list[PartitionForecast], *, allowed: bool) -> Assessment:
    if not allowed:
        return Assessment(unknown=tuple(not_read(case, partitions)))
    why = "Kafka would elect a replica that is not in sync, and records would be lost"
    later = ("if all in-sync replicas of a partition fail, records are lost from then on",)
    obstacles = tuple(_leaderless(partitions, ObstacleKind.UNCLEAN, why))
    return Assessment(obstacles, later, tuple(not_read(case, partitions)))


def not_read(case: CaseFile, partitions: Iterable[PartitionForecast] = ()) -> Iterator[str]:
    """Yields what the snapshot lacks of a cluster, and of these partitions of it."""
    yield from unknown_of(case)
    tps = [p.tp for p in partitions if p.fate is Fate.UNKNOWN or p.leader is None]
    if tps:
        yield f"the record or the metadata of {named(tps)} was not read"
