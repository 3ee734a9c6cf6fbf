"""A real cluster brought to a newer Kafka node by node, under load; the site's command swaps the software."""

from dataclasses import replace

import pytest

from kfix.lab import LabSpec
from kfix.lab.workload.workload import Workload, WorkloadPlan
from tests.cluster.conftest import WatchedLab, lab_of_its_own
from tests.cluster.remedy import site_of

BOOK = "rolling-upgrade"


def start():
    spec = LabSpec(name="upgraded", kafka="3.9.2", racks=("a", "b", "c"))
    lab = WatchedLab.up(replace(spec, mode="kraft", controllers=3))
    with lab.access() as access:
        access.create_topic("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], {"min.insync.replicas": "2"})
    return lab


own, lab = lab_of_its_own(start, mends=True)


def versions(lab):
    return {lab.state.recipe_of(p.role, p.id).kafka for p in lab.status().processes if p.role != "zookeeper"}


@pytest.fixture
def site(lab, operator, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    operator.where = site_of(lab, tmp_path / "config")
    return operator


def test_an_upgrade_to_kafka_4_is_refused_while_nobody_has_checked_the_clients(lab, site):
    said = site.on("runbook", "plan", BOOK, "-p", "version=4.3.1")
    assert said.code == 3
    assert "KIP-896" in said.out + said.err
    assert versions(lab) == {"3.9.2"}


@pytest.mark.parametrize(("version", "clients"), [("4.3.1", "checked"), ("4.4.0", "unknown")])
def test_every_node_runs_the_new_version_and_nothing_is_lost(lab, site, version, clients):
    """The second one upgrades what the first has left, from 4.3.1."""
    planned = site.plan(BOOK, params={"version": version, "clients": clients})
    load = Workload(WorkloadPlan(lab.bootstrap_servers, topic="orders", group="readers", seconds=600))
    load.start()
    site.healed(planned, timeout=300)
    counts = load.stop()
    assert versions(lab) == {version}
    assert counts.acknowledged > 0
    assert (counts.lost, counts.received >= counts.acknowledged) == (0, True), counts


def test_a_node_that_was_only_restarted_ends_the_run(lab, site):
    """What the command restarts runs 4.4 as before."""
    planned = site.plan(BOOK, params={"version": "4.5.0", "within": "20s"})
    said = site.apply(planned, code=6)
    assert "runs 4.4" in " ".join((said.out + said.err).split())
