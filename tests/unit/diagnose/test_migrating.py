"""What is against a phase of a migration to KRaft, and which nodes it restarts, by snapshots on paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kfix.core.derive.casefile import open_case
from kfix.core.snapshot.quorum import ControllerAnswer, QuorumReplica, QuorumView
from kfix.core.snapshot.reading import NodeRole
from kfix.core.snapshot.snapshot import NEWEST_PROTOCOL, PROTOCOL, Assignment, Snapshot, TopicPartition
from kfix.diagnose.migrating import MigrationPhase, judge_migration, nodes_left
from kfix.diagnose.stopping import Assessment
from tests.unit.diagnostics import kraft_clusters, migrations
from tests.unit.diagnostics.clusters import base

PREPARE, MOVE, FINISH = MigrationPhase
ON_3_9 = {PROTOCOL: "3.9-IV0", NEWEST_PROTOCOL: "3.9-IV0", "min.insync.replicas": "1"}


def with_settings(made: Snapshot, more: Mapping[str, str] = ON_3_9, broker: int = 0) -> Snapshot:
    """`more` of all brokers, or of one."""
    found = {b: {**each, **ON_3_9, **(more if broker in {0, b} else {})} for b, each in made.broker_configs.items()}
    quorum = made.quorum and replace(made.quorum, topic_settings={})
    return replace(made, broker_configs=found, quorum=quorum, reassignments={})


def judged(made: Snapshot, phase: MigrationPhase, more: Mapping[str, str] = ON_3_9, broker: int = 0) -> Assessment:
    return judge_migration(open_case(with_settings(made, more, broker)), phase)


def against(made: Snapshot, phase: MigrationPhase) -> list[str]:
    return [each.what for each in judged(made, phase).obstacles]


def left(made: Snapshot, phase: MigrationPhase) -> list[int]:
    return [node for _, node in nodes_left(open_case(made), phase)]


@pytest.mark.parametrize(
    ("made", "phase", "nodes"),
    [
        (migrations.waiting(prepared=(1,)), PREPARE, [2, 3]),
        (migrations.taken_over(), MOVE, [1, 2, 3]),
        (migrations.taken_over(unprepared=(2,)), PREPARE, [2]),
    ],
)
def test_the_next_phase_is_safe_and_restarts_the_nodes_that_are_left(
    made: Snapshot, phase: MigrationPhase, nodes: list[int]
) -> None:
    found = judged(made, phase)
    assert (found.obstacles, found.unknown, left(made, phase)) == ((), (), nodes)


def test_a_phase_that_was_begun_has_fewer_nodes_left() -> None:
    made = migrations._by_quorum({1: migrations._ON_KRAFT, 2: migrations._MIGRATES, 3: migrations._MIGRATES}, ("h:1",))
    assert left(made, MOVE) == [2, 3]
    assert not [each for each in judged(made, MOVE).obstacles if "ZooKeeper" in each.what]


def finishing(active: int = 100, **changes: Any) -> Snapshot:
    """All brokers on KRaft, three controllers with the settings of the migration."""
    made = migrations.unfinished()
    assert made.quorum is not None
    controllers = tuple(ControllerAnswer(n, f"h:{n}", active=n == active) for n in (100, 101, 102))
    quorum = replace(made.quorum, controllers=controllers, migrating=("h:100", "h:101", "h:102"))
    return replace(made, quorum=replace(quorum, **changes))


def test_the_controllers_are_finished_the_active_one_last() -> None:
    made = finishing()
    found = judged(made, FINISH)
    assert (found.obstacles, found.unknown) == ((), ())
    assert "there is no way back" in found.cautions[0]
    assert nodes_left(open_case(made), FINISH) == tuple((NodeRole.CONTROLLER, n) for n in (101, 102, 100))
    assert left(finishing(migrating=("h:100", "h:102")), FINISH) == [102, 100], "101 was restarted"


@pytest.mark.parametrize(
    ("made", "phase", "why"),
    [
        (base().snapshot(), PREPARE, "no KRaft controller has begun a migration: ZooKeeper has no /migration"),
        (kraft_clusters.healthy(), PREPARE, "the cluster runs on KRaft, and no migration from ZooKeeper is under way"),
        (migrations.finished(), FINISH, "the cluster runs on KRaft, and no migration from ZooKeeper is under way"),
        (migrations.mixed(), PREPARE, "broker 1 runs on KRaft already"),
        (migrations.taken_over(), PREPARE, "every broker has the settings of the migration already"),
        (migrations.waiting(), MOVE, "the KRaft controller waits for broker 3 to register"),
        (migrations.unfinished(), MOVE, "every broker runs on KRaft already"),
        (migrations.taken_over(), FINISH, "brokers 1, 2, 3 still use ZooKeeper"),
        (migrations.mixed(), FINISH, "brokers 2, 3 still use ZooKeeper"),
    ],
)
def test_another_phase_is_refused_by_what_is_true_now(made: Snapshot, phase: MigrationPhase, why: str) -> None:
    assert against(made, phase) == [why]


def test_the_controller_is_waited_for_once_every_broker_has_registered() -> None:
    [found] = judged(migrations.waiting((1, 2, 3), (1, 2, 3)), MOVE).obstacles
    assert found.until == "the KRaft controller has taken over"


def test_a_broker_without_the_settings_ends_the_next_phase() -> None:
    [found] = judged(migrations.taken_over(unprepared=(2,)), MOVE).obstacles
    assert "broker 2 runs without the settings of the migration and knows no other broker" in found.what
    assert found.next.startswith("restart broker 2 with zookeeper.metadata.migration.enable=true")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({NEWEST_PROTOCOL: "3.6-IV2"}, "broker 2 runs another Kafka than 3.9, the last one with ZooKeeper"),
        ({PROTOCOL: "3.6-IV2"}, "inter.broker.protocol.version of broker 2 is below 3.9"),
    ],
)
def test_every_broker_has_to_run_3_9_and_to_speak_it(more: Mapping[str, str], why: str) -> None:
    [found] = judged(migrations.waiting(prepared=()), PREPARE, more, broker=2).obstacles
    assert (found.kind.value, found.what) == ("version", why)


def test_an_authorizer_is_a_caution() -> None:
    cautions = [
        judged(migrations.waiting(prepared=()), PREPARE, {"authorizer.class.name": name}).cautions
        for name in ("kafka.security.authorizer.AclAuthorizer", "com.example.Own", "")
    ]
    assert ["StandardAuthorizer" in str(cautions[0]), "com.example.Own works" in str(cautions[1]), cautions[2]] == [
        True,
        True,
        (),
    ]


def quorum_of(**changes: Any) -> Snapshot:
    made = migrations.taken_over()
    assert made.migration is not None
    return replace(made, migration=replace(made.migration, **changes))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"leader": -1, "observers": ()}, "no KRaft controller is active"),
        ({"migrating": ()}, "controller localhost:9093 runs without the settings of the migration"),
        ({"supported": {3000: 30}}, "controller 3000 runs another Kafka than 3.9"),
        ({"voters": (QuorumReplica(1, 40, 0.0, 0.0),)}, "node 1 is broker and controller: Kafka migrates no such"),
        (
            {"observers": (QuorumReplica(1, 40, 0.2, 0.2), QuorumReplica(2, 40, 0.2, 0.2))},
            "broker 3 has the settings and does not fetch from the controller",
        ),
    ],
)
def test_controllers_that_are_not_as_they_have_to_be(changes: dict[str, Any], why: str) -> None:
    assert why in against(quorum_of(**changes), MOVE)


def test_without_the_address_of_a_controller_nothing_is_safe() -> None:
    found = judged(replace(migrations.waiting(prepared=()), migration=QuorumView()), PREPARE)
    assert "no address of one is known (--bootstrap-controller)" in str(found.unknown)


def test_zookeepers_copy_has_to_be_the_record_of_the_controllers() -> None:
    made = migrations.taken_over()
    assert made.zookeeper is not None
    tp, state = next(iter(sorted(made.zookeeper.states.items())))
    states = {**made.zookeeper.states, tp: state._replace(isr=state.isr[:1])}
    [found] = judged(replace(made, zookeeper=replace(made.zookeeper, states=states)), MOVE).obstacles
    assert (found.partitions, found.until) == ((tp,), "both are the same")
    [found] = judged(replace(made, zookeeper=replace(made.zookeeper, copied=12)), MOVE).obstacles
    assert found.what == "ZooKeeper has the record of the controllers up to offset 12 of 40"
    assert not judged(replace(made, zookeeper=replace(made.zookeeper, copied=30)), MOVE).obstacles


def test_a_migration_that_was_taken_back_must_leave_no_znode() -> None:
    made = migrations.waiting(prepared=())
    assert made.zookeeper is not None
    [found] = judged(replace(made, zookeeper=replace(made.zookeeper, copied=742)), PREPARE).obstacles
    assert "/migration is left over from an earlier migration (offset 742)" in found.what


def test_moves_of_replicas_end_first() -> None:
    made = with_settings(migrations.taken_over())
    assert made.zookeeper is not None
    tp = next(iter(made.zookeeper.assignments))
    moved = {**made.zookeeper.assignments, tp: Assignment((1, 2, 3), (3,), (1,))}
    case = open_case(replace(made, zookeeper=replace(made.zookeeper, assignments=moved), reassignments={tp: moved[tp]}))
    found = [each for each in judge_migration(case, MOVE).obstacles if each.kind.value == "moves"]
    assert [(each.partitions, each.until) for each in found] == [((tp,), "their moves are complete")]


def test_a_broker_whose_restart_would_stop_something_is_named() -> None:
    paper = base().topic("single", 1, replicas=[[2]])
    made = migrations.taken_over()
    shown = paper.snapshot()
    assert made.zookeeper is not None
    assert shown.zookeeper is not None
    view = replace(shown.zookeeper, migrating=True, controller=made.zookeeper.controller, migrating_since_ms=1)
    found = judged(replace(shown, zookeeper=view, migration=made.migration, broker_configs=made.broker_configs), MOVE)
    assert any(
        each.what.startswith("while broker 2 restarts, single-0") and each.partitions == (TopicPartition("single", 0),)
        for each in found.obstacles
    )


def test_what_was_not_read_is_unknown() -> None:
    made = migrations.taken_over()
    unread = replace(made, broker_configs={b: c for b, c in made.broker_configs.items() if b != 2})
    assert "the settings of broker 2" in judged(unread, MOVE).unknown
    answers = [
        ControllerAnswer(n, f"h:{n}", active=n == 100, error="" if n != 101 else "late") for n in (100, 101, 102)
    ]
    found = finishing(controllers=tuple(answers))
    assert "controller h:101 does not answer" in against(found, FINISH)
