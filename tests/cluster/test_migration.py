"""A migration from ZooKeeper to KRaft in each of its steps, on Kafka 3.9.2."""

import pytest

from kfix.core.errors import LabError, UsageError
from kfix.lab import LabSpec
from kfix.lab.nodes import migrating
from kfix.lab.nodes.controllers import ControllerQuorum
from kfix.lab.workload.workload import Workload, WorkloadPlan
from tests.cluster.conftest import Kfix, WatchedLab


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv("KFIX_LAB_HOME", str(tmp_path / "labs"))
    lab = WatchedLab.up(LabSpec(name="migration", kafka="3.9.2", mode="zk", ids=(1, 2)))
    yield lab
    lab.down()


def found(kfix):
    """The finding of the migration, which is the only one once the replicas of a restarted broker are in sync.

    No broker of either side is called cut off, and nothing counts as unread.
    """

    def alone(said):
        return [each["code"] for each in said.every] == ["KFX819"]

    said = kfix.until(alone, "the migration alone is found", "--debounce", "0")
    assert (said.code, said.json["could_not_read"]) == (20, []), said.out
    return said.every[0]


def test_each_step_of_a_migration_is_named_with_the_brokers_of_each_side(lab, tmp_path):
    kfix = Kfix(lab, tmp_path / "state")
    lab.break_("migration-stuck")
    said = found(kfix)
    assert "broker 2 has not registered with the KRaft controller" in said["summary"]
    assert said["cause"] == {"text": "broker 2 lacks the settings of the migration", "confidence": "certain"}
    assert "Restart broker 2 with the settings of the migration" in said["remedies"][0]["text"]
    assert "Do not delete /controller or /migration" in said["never"][0]

    lab.nodes.kill(lab.state, [migrating.CONTROLLER], "controller")
    assert "broker 2 has not registered" in found(kfix)["summary"], "ZooKeeper and the settings prove that"
    lab.nodes.start(lab.state, "controller", *lab.state.controllers)

    with lab.access() as access:
        migrating.prepare_brokers(lab, [2])
        migrating.wait_taken_over(access)
        assert "KRaft controller 3000 has been in charge for" in found(kfix)["summary"]
        refused = kfix.on("runbook", "plan", "leader-balance")
        assert (refused.code, "KRaft controller 3000 has taken over" in refused.err) == (3, True), refused.err

        migrating.move_to_kraft(lab, access, [1])
        said = found(kfix)
        assert "1 of 2 brokers is on KRaft, broker 2 still on ZooKeeper" in said["summary"]

        migrating.move_to_kraft(lab, access, [2])
        assert "the controllers still write ZooKeeper" in found(kfix)["summary"]
    lab.mend()
    said = kfix.diagnose("--debounce", "0")
    assert (said.code, said.json["findings"]) == (0, []), said.out


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Three brokers, and clients with acks=all that are counted at the end."""
    monkeypatch.setenv("KFIX_LAB_HOME", str(tmp_path / "labs"))
    lab = WatchedLab.up(LabSpec(name="served", kafka="3.9.2", mode="zk", racks=("a", "b", "c"), offsets_rf=3))
    with lab.access() as access:
        access.create_topic("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], {"min.insync.replicas": "2"})
    load = Workload(WorkloadPlan(lab.bootstrap_servers, topic="orders", group="readers", retries=20, seconds=1800))
    load.start()
    yield lab
    counts = load.stop()
    lab.down()
    assert counts.acknowledged > 0
    assert counts.lost == 0, counts


def safe(kfix, phase):
    """It is safe within a minute, or this fails with the last verdict. No broker names the controllers at first."""
    controllers = kfix.lab.status().controllers
    said = kfix.on("preflight", "migration", phase, "--wait", "60s", "--bootstrap-controller", controllers, timeout=120)
    assert said.code == 0, said.out


def refused(kfix, phase, why):
    said = kfix.on("preflight", "migration", phase)
    assert (said.code, why in " ".join(said.out.split())) == (23, True), said.out


def test_each_phase_is_judged_up_to_the_end_and_nothing_is_lost(served, tmp_path):
    kfix = Kfix(served, tmp_path / "state")
    refused(kfix, "prepare", "no KRaft controller has begun a migration")
    served.migrate("begin", controllers=3)
    for broker in served.broker_ids:
        refused(kfix, "move", "the KRaft controller waits for broker")
        safe(kfix, "prepare")
        served.migrate("prepare", broker)
    for broker in served.broker_ids:
        safe(kfix, "move")
        refused(kfix, "finish", "ZooKeeper")
        served.migrate("move", broker)
    quorum = ControllerQuorum(served.store, served.nodes)
    for controller in sorted(quorum.addresses(), key=lambda each: each == quorum.active().leader):
        safe(kfix, "finish")
        served.migrate("finish", controller, "controller")
    refused(kfix, "finish", "no migration from ZooKeeper is under way")
    with pytest.raises(LabError, match="there is no way back"):
        served.mend()


def test_the_way_back_from_kraft_loses_nothing_either(served):
    served.migrate("begin")
    for step in ("prepare", "move", "prepare"):
        for broker in served.broker_ids:
            served.migrate(step, broker)
        with served.access() as access:
            migrating.wait_taken_over(access)
    served.migrate("withdraw")
    for broker in served.broker_ids:
        served.migrate("back", broker)
    with served.access() as access:
        assert access.migration() is None
        assert access.controller() in served.broker_ids


def test_steps_that_the_lab_cannot_take_are_refused(lab):
    with pytest.raises(UsageError, match="is in no migration"):
        lab.migrate("move", 1)
    with pytest.raises(UsageError, match="finish takes a controller"):
        lab.migrate("finish", 1)
    with pytest.raises(UsageError, match="begin takes no process"):
        lab.migrate("begin", 1)
    lab.migrate("begin")
    with pytest.raises(UsageError, match="is in a migration already"):
        lab.migrate("begin")
