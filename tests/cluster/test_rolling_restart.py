"""Every node of a real cluster restarted by the runbook, under load, with the lab's own command as that of the site."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from kfix.lab import LabSpec
from kfix.lab.workload.workload import Workload, WorkloadPlan
from tests.cluster.conftest import WatchedLab, lab_of_its_own, only_on
from tests.cluster.killing import chain, made_once
from tests.cluster.leaders import Led
from tests.cluster.remedy import site_of
from tests.waiting import wait_until

BOOK = "rolling-restart"
#: What does not depend on the line of Kafka is tried with ZooKeeper, and on one line of KRaft.
on_two = only_on({"2.7.1", "4.3.1"}.__contains__)
#: Of all rounds of questions during a run; an election takes less.
SHORT = 0.05


def start(version):
    spec = LabSpec(name="rolling", kafka=version, racks=("a", "b", "c"))
    lab = WatchedLab.up(spec if version == "2.7.1" else replace(spec, mode="kraft", controllers=3))
    with lab.access() as access:
        access.create_topic("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], {"min.insync.replicas": "2"})
    return lab


own, lab = lab_of_its_own(start, params=["2.7.1", "3.9.2", "4.3.1", "4.4.0"], mends=True)


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


@contextmanager
def under_load(lab):
    """A producer and a consumer with acks=all run meanwhile: no acknowledged record is lost."""
    load = Workload(WorkloadPlan(lab.bootstrap_servers, topic="orders", group="readers", seconds=600))
    load.start()
    with Led(lab) as led:
        yield led
    counts = load.stop()
    assert counts.acknowledged > 0
    assert (counts.lost, counts.received >= counts.acknowledged) == (0, True), counts


def whole(lab):
    with lab.access() as access:
        return all(
            seen is not None and all(set(view.isr) == set(view.replicas) for view in seen.partitions.values())
            for seen in map(access.metadata, lab.broker_ids)
        )


def active(lab):
    with lab.access() as access:
        return access.controller()


def test_every_node_is_restarted_once_under_load_and_nothing_is_lost(lab, site):
    before, last = processes(lab), active(lab)
    planned = site().plan(BOOK)
    nodes = [(step["args"]["role"], step["args"]["node"]) for step in planned.plan["steps"]]
    assert (sorted(nodes), nodes[-1][1]) == (sorted(before), last)
    assert [role for role, _ in nodes] == sorted(role for role, _ in nodes)
    with under_load(lab) as led:
        site().healed(planned, timeout=240)
    after = processes(lab)
    assert [node for node in before if after[node] == before[node]] == []
    assert led.share < SHORT, led


@on_two
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


def begun(site, planned):
    """The run, and its process, once the first node is restarted."""
    going = site.begin(planned)
    run = site.ran(planned)
    wait_until(lambda: run.of("step.result") or going.ended, "the first node is restarted", 60)
    return run, going


def resumed(site, run, planned, *but):
    """Ends a run that has stopped; every node but those of these steps was restarted by it, once."""
    site.resume(run, planned)
    assert run.end == "proved"
    made_once(run)
    assert {record["step"] for record in run.of("step.intent")} == set(planned.ids) - {*but}


@on_two
def test_a_broker_that_dies_meanwhile_ends_the_run(lab, site):
    """Once it is back the run is resumed, and no record is lost. The broker was started since, so it is left alone."""
    planned = site().plan(BOOK)
    first, second, *_ = planned.plan["steps"]
    with under_load(lab):
        run, going = begun(site(), planned)
        lab.kill(second["args"]["node"])
        said = going.over(120)
        assert said.code != 0
        assert f"missing [{second['args']['node']}]" in " ".join((said.out + said.err).split())
        assert {record["step"] for record in run.of("step.intent")} == {first["id"]}
        lab.restart(second["args"]["node"])
        wait_until(lambda: whole(lab), "every replica is in sync", 60)
        resumed(site(), run, planned, second["id"])


@on_two
def test_a_restart_that_did_not_happen_is_noticed(lab, site):
    before = processes(lab)
    planned = site("true {node}").plan(BOOK, params={"within": "3s"})
    said = site("true {node}").apply(planned, code=6)
    assert "has not registered since" in " ".join((said.out + said.err).split())
    assert processes(lab) == before


@on_two
def test_another_command_than_that_of_the_plan_is_never_run(lab, site):
    planned = site("true {node}").plan(BOOK)
    said = site("false {node}").apply(planned, code=3)
    assert "restart command" in " ".join((said.out + said.err).split())
