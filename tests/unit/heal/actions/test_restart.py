"""Restarting one node: planned by the command of the inventory, or by hand, and looked up after a run was killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kfix import __version__
from kfix.core.args import Args
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import RefusedError, StoppedError
from kfix.core.snapshot.reading import ChangeResult, NodeRole
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.restart import ManualRestart, ManualUpgrade, NodeRestart, NodeUpgrade
from kfix.heal.execution.context import Context
from kfix.heal.execution.run import run_plan
from kfix.heal.gate.gates import Given, Unattended
from kfix.heal.journal.runs import RunStore
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.incidents import requested
from kfix.heal.model.plan import Created, Gate, Plan
from kfix.heal.planning.planner import make_plan
from kfix.heal.policy import NO_POLICY
from kfix.heal.probes.facts import FactReader, read_facts
from kfix.heal.probes.registry import ask
from kfix.heal.runbook.placements import PlacementInput
from kfix.heal.safety.door import Door
from tests import shipped
from tests.waiting import wait_until

GIVEN = Args({"role": "broker", "node": 3, "others": (1, 2)})


def made(incident: str = "restartable") -> MemoryCluster:
    return INCIDENTS[incident]().cluster


def test_the_plan_names_the_command_of_the_inventory() -> None:
    cluster = made()
    args = NodeRestart().freeze(GIVEN, FactReader(cluster))
    shown = NodeRestart().preview(args)
    assert (shown.command, NodeRestart().gate_for(args)) == ("restart-kafka broker 3", Gate.STEP)
    assert "active" not in shown.what
    first = NodeRestart().freeze(GIVEN.with_(node=1, others=(2, 3)), FactReader(cluster))
    assert NodeRestart().preview(first).what == "restart broker 1, the active controller: restart-kafka broker 1"
    with pytest.raises(NotApplicable, match="names the restart_command"):
        ManualRestart().freeze(GIVEN, FactReader(cluster))


def test_without_a_command_a_person_is_asked() -> None:
    cluster = made("restartable-by-hand")
    args = ManualRestart().freeze(GIVEN, FactReader(cluster))
    assert ManualRestart().preview(args).what == "restart broker 3, and no other node"
    assert ManualRestart().probe(args, {}, cluster) is ActionStatus.UNKNOWN
    with pytest.raises(NotApplicable, match="names no restart_command, or is not trusted"):
        NodeRestart().freeze(GIVEN, FactReader(cluster))


def test_a_template_for_no_node_is_refused() -> None:
    cluster = made()
    cluster.site_command = "restart-kafka"
    with pytest.raises(RefusedError, match=r"has no \{node\} among its arguments"):
        NodeRestart().freeze(GIVEN, FactReader(cluster))


def test_it_is_done_once_the_broker_has_registered_anew() -> None:
    cluster, action = made(), NodeRestart()
    args = action.freeze(GIVEN, FactReader(cluster))
    assert all(ask(call, cluster).passed for call in action.guards(args))
    assert action.probe(args, {}, cluster) is ActionStatus.NOT_STARTED
    assert not all(ask(call, cluster).passed for call in action.proves(args))
    cluster.kill(3)
    assert action.probe(args, {}, cluster) is ActionStatus.IN_PROGRESS
    cluster.revive(3)
    assert action.probe(args, {}, cluster) is ActionStatus.DONE
    cluster.advance(2)
    assert all(ask(call, cluster).passed for call in action.proves(args))


def test_one_whose_command_still_runs_is_awaited_and_not_asked_for_again(tmp_path: Path) -> None:
    cluster, action = made(), NodeRestart()
    cluster.site_command = f"{sys.executable} -c 'input()' {tmp_path} {{node}}"
    args = action.freeze(GIVEN, FactReader(cluster))
    process = subprocess.Popen([sys.executable, "-c", "input()", str(tmp_path), "3"], stdin=subprocess.PIPE)
    try:
        wait_until(lambda: action.probe(args, {}, cluster) is ActionStatus.IN_PROGRESS, "it is found", 10)
    finally:
        process.communicate(b"\n")
    assert action.probe(args, {}, cluster) is ActionStatus.NOT_STARTED


def test_an_upgrade_is_proved_by_the_line_that_the_node_runs() -> None:
    cluster, action = made("restartable-kraft"), NodeUpgrade()
    args = action.freeze(GIVEN.with_(version="4.4.0"), FactReader(cluster))
    assert action.preview(args).what == "upgrade broker 3: upgrade-kafka broker 3 4.4.0"
    cluster.kill(3)
    cluster.revive(3)
    cluster.advance(2)
    assert [ask(call, cluster).verdict for call in action.proves(args)] == ["pass", "fail", "pass"]
    assert action.apply(args, cluster).accepted
    cluster.advance(2)
    assert [ask(call, cluster).verdict for call in action.proves(args)] == ["pass"] * 3


def test_without_a_command_a_person_is_asked_to_upgrade() -> None:
    cluster = made("restartable-by-hand")
    args = ManualUpgrade().freeze(GIVEN.with_(version="4.4.0"), FactReader(cluster))
    assert ManualUpgrade().preview(args).what == "upgrade broker 3 to 4.4.0, and no other node"


def test_another_command_or_another_active_controller_makes_the_plan_stale() -> None:
    cluster, action = made(), NodeRestart()
    args = action.freeze(GIVEN, FactReader(cluster))
    keys = action.reads(args)
    before = read_facts(cluster, keys)
    cluster.site_command = "restart-kafka --hard {role} {node}"
    cluster.kill(1)
    now = read_facts(cluster, keys)
    assert [key for key in keys if before[key].value == now[key].value] == []
    assert "is not the command" in action.apply(args, cluster).message


def test_another_failure_or_a_move_makes_waiting_useless() -> None:
    cluster, action = made(), NodeRestart()
    args = action.freeze(GIVEN, FactReader(cluster))
    assert all(ask(call, cluster).passed for call in action.hopeless(args))
    cluster.kill(2)
    assert [ask(call, cluster).verdict for call in action.hopeless(args)] == ["pass", "fail"]


class Interrupted(MemoryCluster):
    """After the first restart another operator begins a move that takes long."""

    def restart_node(self, role: NodeRole, node: int, template: str, version: str = "") -> ChangeResult:
        result = super().restart_node(role, node, template, version)
        self.advance(2)
        self.reassign(TopicPartition("orders", 0), (1, 2, 4))
        return result


def test_a_second_operator_who_moves_replicas_ends_the_run(tmp_path: Path) -> None:
    cluster = Interrupted.healthy(brokers=4, topics={OFFSETS_TOPIC: 4, "orders": 1})
    cluster.site_command, cluster.copy_seconds = "restart {node}", 10_000.0
    book = shipped.runbooks()["rolling-restart"]
    seen = PlacementInput(cluster.snapshot())
    finding = requested("cluster", ())
    created = Created(cluster.clock.now(), "test", "test", __version__)
    plan = make_plan(book, finding, cluster, created=created, placement_input=seen)
    assert isinstance(plan, Plan)
    door = Door(cluster, NO_POLICY, tuple, cluster.clock)
    given = Given(Gate.STEP, {}, "a test")
    context = Context(cluster, door, cluster.clock, RunStore(tmp_path), Unattended(), given, lock=cluster.lock)
    with pytest.raises(StoppedError, match="1 under way: orders-0"):
        run_plan(plan, context)
    assert [call.method for call in cluster.faults.calls].count("restart_node") == 1
