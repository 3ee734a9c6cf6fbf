"""Every node of a real cluster restarted by the runbook, under load, with the lab's own command as that of the site."""

from dataclasses import replace

import pytest

from kfix.lab import LabSpec
from kfix.lab.workload.workload import Workload, WorkloadPlan
from tests.cluster.conftest import WatchedLab, lab_of_its_own
from tests.cluster.killing import chain
from tests.cluster.remedy import site_of
from tests.waiting import wait_until

BOOK = "rolling-restart"


def start(version):
    spec = LabSpec(name="rolling", kafka=version, racks=("a", "b", "c"))
    lab = WatchedLab.up(spec if version == "2.7.1" else replace(spec, mode="kraft", controllers=3))
    with lab.access() as access:
        access.create_topic("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], {"min.insync.replicas": "2"})
    return lab


own, lab = lab_of_its_own(start, params=["2.7.1", "4.3.1"], mends=True)


@pytest.fixture
def site(lab, operator, tmp_path, monkeypatch):
    """An operator whose own inventory names a command."""

    def names(command=""):
        operator.where = site_of(lab, tmp_path / "config", command)
        return operator

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return names


def processes(lab):
    """{(role, id): pid} of what the runbook restarts."""
    return {(p.role, p.id): p.pid for p in lab.status().processes if p.role in {"broker", "controller"}}


def active(lab):
    with lab.access() as access:
        return access.controller()


def test_every_node_is_restarted_once_under_load_and_nothing_is_lost(lab, site):
    before, last = processes(lab), active(lab)
    planned = site().plan(BOOK)
    nodes = [(step["args"]["role"], step["args"]["node"]) for step in planned.plan["steps"]]
    assert (sorted(nodes), nodes[-1][1]) == (sorted(before), last)
    assert [role for role, _ in nodes] == sorted(role for role, _ in nodes)
    load = Workload(WorkloadPlan(lab.bootstrap_servers, topic="orders", group="readers", seconds=600))
    load.start()
    site().healed(planned, timeout=240)
    counts = load.stop()
    after = processes(lab)
    assert [node for node in before if after[node] == before[node]] == []
    assert counts.acknowledged > 0
    assert (counts.lost, counts.received >= counts.acknowledged) == (0, True), counts


def test_a_run_that_is_killed_restarts_no_node_a_second_time(lab, site, cluster):
    planned = site().plan(BOOK)
    first, second, *_ = (step["id"] for step in planned.plan["steps"])
    points = (
        f"-step.result:{first}",
        f"step.result:{first}",
        f"step.intent:{second}",
        f"step.result:{second}",
        "-run.end",
    )
    run = chain(site(), cluster, planned, points)
    started = [record["step"] for record in run.of("step.result") if record["changed"]]
    assert started == [step["id"] for step in planned.plan["steps"]]


def test_a_broker_that_dies_meanwhile_ends_the_run(lab, site):
    planned = site().plan(BOOK)
    first, second, *_ = planned.plan["steps"]
    going = site().begin(planned)
    run = site().ran(planned)
    wait_until(lambda: run.of("step.result") or going.ended, "the first node is restarted", 60)
    lab.kill(second["args"]["node"])
    said = going.over(120)
    assert said.code != 0
    assert f"missing [{second['args']['node']}]" in " ".join((said.out + said.err).split())
    assert {record["step"] for record in run.of("step.intent")} == {first["id"]}
    lab.restart(second["args"]["node"])


def test_a_restart_that_did_not_happen_is_noticed(lab, site):
    before = processes(lab)
    planned = site("true {node}").plan(BOOK, params={"within": "3s"})
    said = site("true {node}").apply(planned, code=6)
    assert "has not registered since" in " ".join((said.out + said.err).split())
    assert processes(lab) == before


def test_another_command_than_that_of_the_plan_is_never_run(lab, site):
    planned = site("true {node}").plan(BOOK)
    said = site("false {node}").apply(planned, code=3)
    assert "restart command" in " ".join((said.out + said.err).split())
