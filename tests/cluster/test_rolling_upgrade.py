"""A real cluster brought to a newer Kafka node by node, under load; the site's command swaps the software."""

from dataclasses import replace

import pytest

from kfix.core.derive.versions import line_of, line_of_level
from kfix.core.kafka.kraft_messages import describe_features
from kfix.lab import LabSpec
from kfix.lab.clients.asking import ask
from kfix.lab.clients.asking_controllers import set_feature
from kfix.lab.workload.workload import Workload, WorkloadPlan
from tests.cluster.conftest import WatchedLab, lab_of_its_own
from tests.cluster.leaders import Led
from tests.cluster.remedy import site_of
from tests.waiting import wait_until

BOOK, RAISE = "rolling-upgrade", "raise-metadata-version"
SHORT = 0.05


def start():
    spec = LabSpec(name="upgraded", kafka="3.9.2", racks=("a", "b", "c"))
    lab = WatchedLab.up(replace(spec, mode="kraft", controllers=3))
    with lab.access() as access:
        access.create_topic("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], {"min.insync.replicas": "2"})
    return lab


own, lab = lab_of_its_own(start, mends=True)


def versions(lab):
    return {lab.state.recipe_of(p.role, p.id).kafka for p in lab.status().processes if p.role != "zookeeper"}


def active(lab):
    with lab.access() as access:
        return access.controller()


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


def levels(lab, but=None):
    """{(metadata.version in force, the highest supported)} as every broker and controller but this one reports it."""
    asked = [(address, False) for address in lab.addresses().values()]
    asked += [(address, True) for node, address in lab.authority.addresses().items() if node != but]
    found = [ask(address, describe_features(), 5.0, controller=controller) for address, controller in asked]
    return {(each.finalized["metadata.version"], each.supported["metadata.version"]) for each in found}


def test_every_node_runs_the_new_version_and_nothing_is_lost(lab, site):
    """3.9.2 becomes 4.3.1, and that becomes 4.4.0."""
    for version, clients, before in (("4.3.1", "checked", 21), ("4.4.0", "unknown", 30)):
        upgrade(lab, site, version, clients, before)


def upgrade(lab, site, version, clients, before):
    """Upgrades every node under load, then raises metadata.version, which nothing takes back."""
    assert f"supports metadata.version {before} " in site.not_planned(RAISE, params={"version": version})
    planned = site.plan(BOOK, params={"version": version, "clients": clients})
    load = Workload(WorkloadPlan(lab.bootstrap_servers, topic="orders", group="readers", seconds=600))
    load.start()
    with Led(lab) as led:
        said = site.healed(planned, timeout=300)
    assert RAISE in said.out
    [(in_force, after)] = levels(lab)
    assert (versions(lab), in_force, line_of_level(after)) == ({version}, before, line_of(version))
    assert f"{RAISE} -p version=" in " ".join(site.on("preflight", "upgrade", version).out.split())
    raised, frozen = (
        site.plan(RAISE, params={"version": version}),
        min(lab.authority.addresses().keys() - {active(lab)}),
    )
    lab.stop(frozen, role="controller")
    refused = site.on("runbook", "apply", "--plan", raised.path, *raised.answers("step", typed=True))
    assert refused.code != 0
    assert f"controller {frozen}" in " ".join((refused.out + refused.err).split())
    assert levels(lab, but=frozen) == {(before, after)}
    lab.cont(frozen, role="controller")
    wait_until(lambda: site.planning(RAISE, params={"version": version})[0].code == 0, "all nodes answer", 60)
    site.healed(site.plan(RAISE, params={"version": version}))
    counts = load.stop()
    assert levels(lab) == {(after, after)}
    assert led.share < SHORT, led
    with lab.access() as access:
        assert access.live_ids() == frozenset(lab.broker_ids)
    assert set_feature(lab.address(1), "metadata.version", before) != 0
    assert "supports metadata.version" in site.not_planned(RAISE, params={"version": "3.9.2"})
    assert counts.acknowledged > 0
    assert (counts.lost, counts.received >= counts.acknowledged) == (0, True), counts


def test_a_node_that_was_only_restarted_ends_the_run(lab, site):
    """What the command restarts runs the version of before."""
    [before] = versions(lab)
    planned = site.plan(BOOK, params={"version": "4.5.0", "clients": "checked", "within": "20s"})
    said = site.apply(planned, code=6)
    assert f"runs {before.rpartition('.')[0]}" in " ".join((said.out + said.err).split())
