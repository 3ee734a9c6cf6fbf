"""The obstacles to a phase of a migration from ZooKeeper to KRaft, and the nodes that it restarts.

What Kafka does in each step was tried on 3.9.2 (docs/facts/zookeeper.md#a-migration-to-kraft).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import Final

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.quorum import Migration, Step, migration_of
from kfix.core.derive.versions import Line, line_of_level
from kfix.core.failures.scenarios import differing, unknown_of, voters_of
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.reading import NodeName, NodeRole
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, has
from kfix.diagnose.stopping import Assessment, Obstacle, ObstacleKind, named, nodes_named
from kfix.diagnose.upgrading import judge_restart

#: The only line of Kafka whose migration kfix knows; it is the last one with ZooKeeper.
_LINE: Final[Line] = (3, 9)
#: An active controller writes two records a second, and a copy that is behind by more than this many does not follow.
_FAR_BEHIND: Final = 20
_ACL_AUTHORIZER: Final = "kafka.security.authorizer.AclAuthorizer"
_OF_KRAFT: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_SETTINGS: Final = "zookeeper.metadata.migration.enable=true, controller.quorum.voters and controller.listener.names"


class MigrationPhase(StrEnum):
    """What is restarted, one node after the other.

    - PREPARE: the brokers, with ZooKeeper and the settings of the migration, once KRaft controllers wait for them
    - MOVE: the brokers, on KRaft, once the KRaft controller has taken over
    - FINISH: the controllers, without ZooKeeper, once no broker uses it: there is no way back
    """

    PREPARE = "prepare"
    MOVE = "move"
    FINISH = "finish"


def judge_migration(case: CaseFile, phase: MigrationPhase) -> Assessment:
    """Returns what is against beginning, or continuing, a phase now."""
    found = migration_of(case.snapshot)
    wrong = tuple(_out_of_turn(case, found, phase))
    if found is None or wrong:
        return Assessment(wrong, unknown=tuple(unknown_of(case)))
    restarts = [judge_restart(case, node) for _, node in nodes_left(case, phase)]
    moving = tuple(case.being_moved)
    obstacles = [*_controllers(case, found, phase), *_copy(case, found, phase)]
    if phase is not MigrationPhase.FINISH:
        obstacles += _brokers(case, found)
    if moving:
        what = f"replicas of {named(moving)} {are(len(moving))} being moved"
        obstacles.append(Obstacle(ObstacleKind.MOVES, what, "their moves are complete", partitions=moving))
    return Assessment(
        (*obstacles, *(each for one in restarts for each in one.obstacles)),
        tuple(_cautions(case, phase)),
        tuple(dict.fromkeys((*_unread(case, found, phase), *(each for one in restarts for each in one.unknown)))),
    )


def nodes_left(case: CaseFile, phase: MigrationPhase) -> tuple[NodeName, ...]:
    """Returns the nodes that a phase has yet to restart, by id, the active controller last."""
    found = migration_of(case.snapshot)
    if found is None:
        return ()
    if phase is not MigrationPhase.FINISH:
        brokers = found.unprepared if phase is MigrationPhase.PREPARE else found.on_zookeeper
        return tuple((NodeRole.BROKER, broker) for broker in brokers)
    quorum = found.quorum or QuorumView()
    left = {each.node for each in quorum.controllers if each.address in quorum.migrating}
    return tuple((NodeRole.CONTROLLER, node) for node in sorted(left, key=lambda n: (n == quorum.leader, n)))


def _out_of_turn(case: CaseFile, found: Migration | None, phase: MigrationPhase) -> Iterator[Obstacle]:
    if found is None and case.kraft:
        yield _migration("the cluster runs on KRaft, and no migration from ZooKeeper is under way")
    elif found is None:
        yield _migration(
            "no KRaft controller has begun a migration: ZooKeeper has no /migration",
            next_="start KRaft controllers with zookeeper.metadata.migration.enable=true, zookeeper.connect and the id "
            "of this cluster (kafka-storage.sh format -t ID)",
        )
    elif phase is MigrationPhase.PREPARE and found.step in {Step.MIXED, Step.UNFINISHED}:
        yield _migration(f"{brokers_named(found.on_kraft)} {_runs(found.on_kraft)} on KRaft already")
    elif phase is MigrationPhase.PREPARE and not found.unprepared and not found.unread:
        yield _migration("every broker has the settings of the migration already")
    elif phase is not MigrationPhase.PREPARE and found.step is Step.WAITING:
        yield from _not_taken_over(found)
    elif phase is MigrationPhase.MOVE and found.step is Step.UNFINISHED:
        yield _migration("every broker runs on KRaft already")
    elif phase is MigrationPhase.MOVE and found.unprepared:
        yield _migration(
            f"{brokers_named(found.unprepared)} {_runs(found.unprepared)} without the settings of the migration and "
            "knows no other broker",
            next_=f"restart {brokers_named(found.unprepared)} with {_SETTINGS}",
        )
    elif phase is MigrationPhase.FINISH and found.on_zookeeper:
        use = "uses" if len(found.on_zookeeper) == 1 else "use"
        yield _migration(f"{brokers_named(found.on_zookeeper)} still {use} ZooKeeper")


def _not_taken_over(found: Migration) -> Iterator[Obstacle]:
    waited = found.waits_for
    if not waited:
        until = "the KRaft controller has taken over" if found.registered is not None else ""
        yield _migration("the KRaft controller has not taken over yet, and ZooKeeper's controller decides", until)
        return
    yield _migration(
        f"the KRaft controller waits for {brokers_named(waited)} to register",
        next_=f"restart {brokers_named(waited)} with {_SETTINGS}",
    )


def _controllers(case: CaseFile, found: Migration, phase: MigrationPhase) -> Iterator[Obstacle]:
    """Yields what is wrong with the controllers that were asked."""
    quorum = found.quorum or QuorumView()
    if not quorum.read and quorum.controllers:
        yield Obstacle(ObstacleKind.QUORUM, "no KRaft controller is active", "a KRaft controller is active")
    if strangers := found.strangers:
        what = f"{brokers_named(strangers)} {has(len(strangers))} the settings and does not fetch from the controller"
        yield _migration(what, f"{brokers_named(strangers)} {_fetches(strangers)} from the KRaft controller")
    silent = [each for each in quorum.controllers if not each.answered]
    if silent and phase is MigrationPhase.FINISH:
        yield _migration(f"controller {silent[0].address} does not answer", "every controller answers")
    without = [each.address for each in quorum.controllers if each.answered and each.address not in quorum.migrating]
    if without and phase is not MigrationPhase.FINISH:
        yield _migration(
            f"controller {without[0]} runs without the settings of the migration",
            next_="restart it with zookeeper.metadata.migration.enable=true and zookeeper.connect",
        )
    if found.step is Step.WAITING and case.snapshot.zookeeper is not None and case.snapshot.zookeeper.copied >= 0:
        yield _migration(
            f"/migration is left over from an earlier migration (offset {case.snapshot.zookeeper.copied}): the KRaft "
            "controller would take over and never decide anything",
            next_="stop the KRaft controllers, delete /migration, and start them with empty disks",
        )
    both = sorted({each.node for each in quorum.voters} & (case.live or frozenset()))
    if both:
        yield _migration(f"{nodes_named(both, 'node')} {are(len(both))} broker and controller: Kafka migrates no such")
    lines = {node: line_of_level(level) for node, level in quorum.supported.items() if node not in (case.live or ())}
    other = [node for node, line in lines.items() if line is not None and line != _LINE]
    if other:
        yield Obstacle(
            ObstacleKind.VERSION, f"{nodes_named(other, 'controller')} {_runs(other)} another Kafka than {_text(_LINE)}"
        )


def _brokers(case: CaseFile, found: Migration) -> Iterator[Obstacle]:
    releases = case.background.settings.releases
    brokers = {*found.on_zookeeper, *found.on_kraft}
    other = sorted(b for b in brokers if releases.lines.get(b, _LINE) != _LINE)
    if other:
        yield Obstacle(
            ObstacleKind.VERSION,
            f"{brokers_named(other)} {_runs(other)} another Kafka than {_text(_LINE)}, the last one with ZooKeeper",
        )
    behind = sorted(b for b in found.on_zookeeper if releases.spoken.get(b, _LINE) < _LINE)
    if behind:
        yield Obstacle(
            ObstacleKind.VERSION,
            f"inter.broker.protocol.version of {brokers_named(behind)} is below {_text(_LINE)}",
            next=f"set inter.broker.protocol.version={_text(_LINE)} and restart {brokers_named(behind)}",
        )


def _copy(case: CaseFile, found: Migration, phase: MigrationPhase) -> Iterator[Obstacle]:
    """Yields where ZooKeeper's copy differs from the KRaft controller's record, while both can be read."""
    zookeeper = case.snapshot.zookeeper
    if phase is not MigrationPhase.MOVE or zookeeper is None or found.step is not Step.TAKEN_OVER:
        return
    high = found.quorum.high_watermark if found.quorum is not None else -1
    if 0 <= zookeeper.copied < high - _FAR_BEHIND:
        what = f"ZooKeeper has the record of the controllers up to offset {zookeeper.copied} of {high}"
        yield _migration(what, "the KRaft controller has written the rest")
    if tps := tuple(differing(case)):
        what = f"ZooKeeper's copy of {named(tps)} differs from the brokers' metadata"
        yield _migration(what, "both are the same", partitions=tps)


def _unread(case: CaseFile, found: Migration, phase: MigrationPhase) -> Iterator[str]:
    yield from unknown_of(case)
    if found.unread:
        yield f"the settings of {brokers_named(found.unread)}"
    if found.quorum is None or not found.quorum.controllers:
        yield "the KRaft controllers: no address of one is known (--bootstrap-controller)"
    if phase is MigrationPhase.FINISH:
        silent = voters_of(case) - {each.node for each in (found.quorum or QuorumView()).controllers}
        if silent:
            yield f"the settings of {nodes_named(silent, 'controller')}"
        return
    releases = case.background.settings.releases
    unread = sorted({*found.on_zookeeper, *found.on_kraft} - releases.lines.keys())
    if unread:
        yield f"which version of Kafka {brokers_named(unread)} {_runs(unread)}"


def _cautions(case: CaseFile, phase: MigrationPhase) -> Iterator[str]:
    if phase is MigrationPhase.FINISH:
        yield "the first controller that becomes active without ZooKeeper ends the migration: there is no way back"
        return
    authorizers = sorted({value for value in case.settings("authorizer.class.name").values() if value})
    for each in authorizers:
        if each == _ACL_AUTHORIZER:
            yield f"controllers, and brokers on KRaft, need authorizer.class.name={_OF_KRAFT}: it has the ACLs"
        elif each != _OF_KRAFT:
            yield f"find out whether {each} works without ZooKeeper, and whether it keeps its rules"
    if phase is MigrationPhase.MOVE:
        yield "a broker can return to ZooKeeper until the controllers have been restarted without it"


def _migration(what: str, until: str = "", next_: str = "", partitions: tuple[TopicPartition, ...] = ()) -> Obstacle:
    return Obstacle(ObstacleKind.MIGRATION, what, until, next_, partitions)


def _runs(ids: Collection[int]) -> str:
    return "runs" if len(ids) == 1 else "run"


def _fetches(ids: Collection[int]) -> str:
    return "fetches" if len(ids) == 1 else "fetch"


def _text(line: Line) -> str:
    return ".".join(map(str, line))
