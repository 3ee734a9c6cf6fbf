"""A migration from ZooKeeper to KRaft in each of its steps: Kafka 3.9.2, two brokers, one KRaft controller."""

import pytest

from kfix.lab import LabSpec
from kfix.lab.nodes import migrating
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
