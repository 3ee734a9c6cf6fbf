"""The obstacles to an upgrade of Kafka: the version, each node's restart, and the clients that Kafka 4 refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from kfix.core.derive.addressing import servers
from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.versions import Line, line_of, line_of_level
from kfix.core.diagnosis.forecast import Failure
from kfix.core.errors import UsageError
from kfix.core.failures.scenarios import live_of, unknown_of, voters_of
from kfix.diagnose.stopping import Assessment, Obstacle, ObstacleKind, judge_stop, nodes_named

_FOUR: Final[Line] = (4, 0)
#: The runbook of the last step of an upgrade.
RAISES: Final = "raise-metadata-version"
#: The lowest level of metadata.version of which Kafka 4 starts: 3.3-IV3.
_LEAST_LEVEL: Final = 7
_CLIENTS: Final = (
    "which clients Kafka 4 refuses (KIP-896): name request logs of all brokers (--request-log FILE), or read their "
    "metric kafka.network:type=RequestMetrics,name=DeprecatedRequestsPerSec (3.7 and later)"
)
#: What is known of clients without a request log.
CLIENTS_UNKNOWN: Final = Assessment(unknown=(_CLIENTS,))
_VERSION: Final = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?")


def line_wanted(version: str) -> Line:
    """Returns the line of a version such as 4.3.1. Raises UsageError for a text that is no version."""
    to = line_of(version)
    if to is None or not _VERSION.fullmatch(version):
        raise UsageError(f"{version!r}: not a version of Kafka, such as 4.3.1")
    return to


def judge_upgrade(case: CaseFile, to: Line, clients: Assessment = CLIENTS_UNKNOWN) -> Assessment:
    """Returns what is against upgrading all nodes to a line, one after the other.

    `clients` is what is known of those that Kafka 4 refuses; it counts if the cluster runs an older one.
    """
    lines = case.background.settings.releases.lines
    nodes = sorted(live_of(case) | voters_of(case))
    found = [_versions(case, to), *(judge_restart(case, node) for node in nodes)]
    if to >= _FOUR and any(lines.get(node, (0, 0)) < _FOUR for node in nodes):
        found.append(clients)
    unread = [node for node in nodes if node not in lines]
    unknown = (
        (f"which version of Kafka {nodes_named(unread, 'node')} run{'s' if len(unread) == 1 else ''}",)
        if unread
        else ()
    )
    return Assessment(
        tuple(each for one in found for each in one.obstacles),
        tuple(dict.fromkeys(each for one in found for each in one.cautions)),
        tuple(dict.fromkeys((*unknown, *(each for one in found for each in one.unknown)))),
    )


def judge_restart(case: CaseFile, node: int) -> Assessment:
    """Judges the restart of one node of several. Cautions of every restart would drown those of the whole act."""
    is_broker = node in live_of(case)
    failure = Failure(frozenset({node})) if is_broker else Failure(frozenset(), controllers=frozenset({node}))
    judged = judge_stop(case, failure, lasting=False)
    who = f"while {'broker' if is_broker else 'controller'} {node} restarts"
    obstacles = tuple(
        Obstacle(each.kind, f"{who}, {each.what}", each.until, each.next, each.partitions, each.groups)
        for each in judged.obstacles
    )
    return Assessment(obstacles, unknown=judged.unknown)


def _versions(case: CaseFile, to: Line) -> Assessment:
    obstacles = tuple(_against_version(case, to))
    return Assessment(obstacles, tuple(_before_upgrade(case, to)), (*_unread_versions(case, to), *unknown_of(case)))


def _against_version(case: CaseFile, to: Line) -> Iterator[Obstacle]:
    releases = case.background.settings.releases
    zookeeper = case.snapshot.zookeeper
    if not case.kraft and to >= _FOUR:
        until = "its migration has ended" if zookeeper is not None and zookeeper.migrating else ""
        yield Obstacle(
            ObstacleKind.VERSION,
            "the cluster uses ZooKeeper, which Kafka 4 does not: it has to be migrated to KRaft on 3.9 first",
            until,
        )
    if case.kraft and to >= _FOUR and 0 < releases.level < _LEAST_LEVEL:
        yield Obstacle(
            ObstacleKind.VERSION,
            f"metadata.version is of level {releases.level}, and Kafka 4 starts from {_LEAST_LEVEL} (3.3-IV3)",
            next=f"kafka-features.sh {servers(case)} upgrade --metadata 3.3",
        )
    in_force = line_of_level(releases.level)
    if in_force is not None and in_force > to:
        what = f"metadata.version is that of {_text(in_force)}: software of {_text(to)} does not start with it"
        yield Obstacle(ObstacleKind.VERSION, what)
    newer = sorted(node for node, line in releases.lines.items() if line > to)
    if newer and not (in_force is not None and in_force > to):
        line = max(releases.lines[node] for node in newer)
        runs = "runs" if len(newer) == 1 else "run"
        what = f"{nodes_named(newer, 'node')} {runs} {_text(line)}: kfix judges upgrades only"
        yield Obstacle(ObstacleKind.VERSION, what)


def _before_upgrade(case: CaseFile, to: Line) -> Iterator[str]:
    spoken = case.background.settings.releases.spoken
    if spoken and not case.kraft:
        oldest = min(spoken.values())
        if oldest < to:
            yield (
                f"set inter.broker.protocol.version={_text(oldest)} in the properties of every broker before the first "
                "restart, and raise it when all brokers run the new version: a new broker that has it not set cannot "
                "talk to old ones"
            )
    if case.kraft:
        yield (
            f"every node runs {_text(to)}, and metadata.version is still {case.background.settings.releases.level}: "
            f"kfix runbook plan {RAISES} -p version={_text(to)} raises it, and the old version no longer starts"
            if _only_behind(case, to)
            else f"metadata.version stays as it is until the runbook {RAISES} raises it; after that the old version no "
            "longer starts"
        )


def _only_behind(case: CaseFile, to: Line) -> bool:
    """Whether all nodes run the line already, and metadata.version is below what each of them supports."""
    releases, quorum = case.background.settings.releases, case.snapshot.quorum
    levels = {} if quorum is None else quorum.supported
    nodes = live_of(case) | voters_of(case)
    same = all(releases.lines.get(node) == to and releases.level < levels.get(node, 0) for node in nodes)
    return bool(nodes) and releases.level > 0 and same


def _unread_versions(case: CaseFile, to: Line) -> Iterator[str]:
    releases = case.background.settings.releases
    if case.kraft and to >= _FOUR and releases.level < 0:
        yield "the level of metadata.version"


def _text(line: Line | Iterable[int]) -> str:
    return ".".join(map(str, line))
