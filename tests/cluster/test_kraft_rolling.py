"""A rolling upgrade on KRaft, each node broker and controller: nothing above INFO and nothing unread at any moment."""

import pytest

from kfix.core.errors import UsageError
from kfix.lab import LabSpec
from kfix.lab.clients.asking_controllers import set_feature
from tests.cluster.asked import HARMLESS, asked_by, reading
from tests.cluster.conftest import WatchedLab, lab_of_its_own
from tests.cluster.steady import diagnosed, settled


def start():
    lab = WatchedLab.up(
        LabSpec(name="rolling", kafka="3.9.2", mode="kraft", combined=True, controllers=3, offsets_rf=3)
    )
    with lab.access() as access:
        access.create_topic("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], {"min.insync.replicas": "2"})
    return lab


own, lab = lab_of_its_own(start)


def test_commands_that_read_ask_kafka_3_9_for_nothing_that_changes_it(lab, kfix, tmp_path):
    """The first test of the file: the next one upgrades the cluster."""
    settled(kfix)
    with lab.access() as access:
        access.produce("orders", {0: [("k", b"v")]})
        access.join_and_leave("readers", "orders")
        topics = access.topics()
    names = asked_by(kfix, reading(lab, tmp_path, "readers"))
    assert {node: found - HARMLESS for node, found in names.items()} == {node: set() for node in names}
    with lab.access() as access:
        assert access.topics() == topics, "a question made an internal topic"
    brokers = set().union(*(found for (role, _), found in names.items() if role == "broker"))
    assert {"METADATA", "FIND_COORDINATOR", "FETCH", "LIST_OFFSETS"} <= brokers
    assert "DESCRIBE_QUORUM" in set().union(*names.values())


def test_a_rolling_upgrade_from_3_9_to_4_3_is_no_alarm(lab, kfix):
    settled(kfix)
    with diagnosed(kfix) as found:
        for node in lab.broker_ids:
            lab.upgrade(node, "4.3.1")
            settled(kfix)
    assert found == []
    behind = latent(kfix)["metadata.version"]
    assert "metadata.version is 21, and every broker and controller supports 30" in behind["summary"]
    assert behind["remedies"][-1]["command"].startswith("kfix runbook apply raise-metadata-version -p version=4.3 ")
    address = next(iter(lab.bootstrap_servers.split(",")))
    assert set_feature(address, "metadata.version", 30) == 0
    assert list(latent(kfix)) == ["eligible.leader.replicas.version"]
    assert set_feature(address, "eligible.leader.replicas.version", 1) == 0
    assert latent(kfix) == {}
    with pytest.raises(UsageError, match="older"):
        lab.upgrade(1, "3.9.2")


def latent(kfix):
    """{object: finding} of the features that are behind."""
    settled(kfix)
    return {each["object"]: each for each in kfix.diagnose("--prevention").every if each["code"] == "KFX816"}


@pytest.mark.parametrize("condition", ["dead", "stopped"])
def test_mend_brings_back_a_broker_that_is_a_controller_too(lab, kfix, condition):
    [node, *_] = lab.broker_ids
    (lab.kill if condition == "dead" else lab.stop)(node)
    did = lab.mend()
    assert f"{'started' if condition == 'dead' else 'continued'} broker {node}" in did
    settled(kfix)
