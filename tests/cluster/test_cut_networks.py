"""Cut networks on real brokers in network namespaces: made, told apart, rightly advised, healed, and the loss forecast.

Without root, `ip` or a packet filter these tests fail, and say so: they never skip.
"""

import json
import os
import subprocess
import sys
import time

import pytest

from kfix.errors import LabError
from kfix.lab import Lab, LabSpec
from kfix.lab.network.filters import dropped
from kfix.lab.recount import recount
from tests.cluster.conftest import Kfix

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster-zones")]

CUTS = {"KFX801", "KFX802", "KFX803", "KFX804", "KFX807"}


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    os.environ["KFIX_LAB_HOME"] = str(tmp_path_factory.mktemp("zones"))
    lab = Lab.up(LabSpec(name="cut", zones=3, zookeepers=3))
    yield lab
    network = lab.state.network
    lab.down()
    nothing_left(network)


def nothing_left(network):
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    links = subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
    assert not [name for name in (network.switch, *(z.namespace for z in network.zones)) if name in left]
    assert network.interface not in links


@pytest.fixture
def lab(zones):
    yield zones
    if zones.status().incident is not None or zones.status().network:
        zones.mend()


@pytest.fixture
def kfix(lab, tmp_path):
    return Kfix(lab, tmp_path / "state")


def told(kfix, code, *args):
    """The diagnosis whose one head of a cut is `code`: everything else of the cut is folded under it."""
    said = kfix.diagnose(*args)
    heads = {each["code"]: each for each in said.json["findings"] if not each.get("unsettled")}
    assert code in heads, (sorted(heads), said.out)
    assert set(said.findings) & CUTS == {code}, "one cut is one finding"
    found = heads[code]
    advice = " ".join(each["text"] for each in found["remedies"])
    assert "mend the network" in advice
    assert "do nothing to Kafka" in advice
    assert any("no election, no reassignment" in never for never in found["never"])
    assert not any(each.get("runbook") for each in found["remedies"])
    return said, found


def refused(kfix, tmp_path, code):
    """Whatever a person asks for is refused, with that reason; nothing is written."""
    plan = tmp_path / "wrong.json"
    for wish in (("controller-reelect",), ("raise-topic-rf", "-p", "topic=ledger", "-p", "rf=3"), ("sweep-throttles",)):
        said = kfix.on("runbook", "plan", *wish, "--debounce", "3", "-o", plan)
        assert (said.code, plan.exists()) == (3, False), said.out + said.err
        assert code in said.err
        assert "mend the network" in said.err


def wait_healed(kfix, seconds=60):
    ends = time.monotonic() + seconds
    while True:
        said = kfix.diagnose("--debounce", "0")
        if said.code == 0 and not set(said.findings) & CUTS:
            return said
        assert time.monotonic() < ends, said.out
        time.sleep(0.5)


# --- the lab itself ---------------------------------------------------------------------------------------------------


def reaches(lab, zone, broker):
    """Whether a TCP connection from inside the zone to that broker is accepted within a second."""
    host, port = lab.address(broker).rsplit(":", 1)
    script = f"import socket; socket.create_connection(({host!r}, {port}), 1.0).close()"
    prefix = lab.zone(zone).host().prefix
    return subprocess.run([*prefix, sys.executable, "-c", script], capture_output=True, check=False).returncode == 0


def test_a_cut_drops_packets_between_two_zones_and_nowhere_else(lab):
    assert reaches(lab, "az1", 2)
    lab.cut("az1", "az2")
    assert (reaches(lab, "az1", 2), reaches(lab, "az2", 1)) == (False, False)
    assert (reaches(lab, "az1", 3), reaches(lab, "az3", 2), reaches(lab, "az1", 1)) == (True, True, True)
    assert dropped(lab.state.network, "az2") > 0
    assert lab.status().network == ("az1 and az2 are cut from each other",)
    assert lab.heal() == 2
    assert (reaches(lab, "az1", 2), reaches(lab, "az2", 1)) == (True, True)
    assert lab.status().network == ()


def test_one_way_and_one_kind_are_cut_alone(lab):
    lab.cut("az1", "az2", one_way=True, only="zookeeper")
    assert lab.status().network == ("az2 hears nothing of az1 (zookeeper only)",)
    assert reaches(lab, "az1", 2), "Kafka goes through"
    lab.heal()
    lab.cut("az1", "az2", one_way=True)
    before = dropped(lab.state.network, "az1")
    assert not reaches(lab, "az1", 2)
    assert dropped(lab.state.network, "az1") == before == 0, "az1 drops nothing itself"
    lab.heal()


SERVER = """
import socket
with socket.create_server(("{host}", 11999)) as server:
    print("ready", flush=True)
    line, _ = server.accept()
    left = 100_000
    while left > 0:
        left -= len(line.recv(65536))
    line.sendall(b".")
"""
CLIENT = """
import socket, time
began = time.monotonic()
with socket.create_connection(("{host}", 11999), 20) as line:
    line.sendall(bytes(100_000))
    assert line.recv(1) == b"."
print(time.monotonic() - began)
"""


def seconds_across(lab, source, target):
    """100 kB from a process in one zone to a process in another."""
    host = lab.zone(target).address
    there, here = (
        [*lab.zone(zone).host().prefix, sys.executable, "-c", script.format(host=host)]
        for zone, script in ((target, SERVER), (source, CLIENT))
    )
    with subprocess.Popen(there, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline() == "ready\n"
        return float(subprocess.run(here, capture_output=True, text=True, check=True).stdout)


def test_a_slow_link_is_slow_and_whole_again_after_healing(lab):
    assert seconds_across(lab, "az1", "az2") < 1
    lab.slow("az2", 400)
    assert lab.status().network == ("az2 is slow: 400 kbit/s",)
    assert seconds_across(lab, "az1", "az2") > 1
    assert seconds_across(lab, "az1", "az3") < 1
    lab.heal()
    assert seconds_across(lab, "az1", "az2") < 1


def test_a_lab_that_was_killed_while_it_came_up_is_taken_down_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("KFIX_LAB_HOME", str(tmp_path))
    command = [sys.executable, "-m", "kfix", "lab", "up", "--zones", "3", "--name", "crash"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ends = time.monotonic() + 20
    while "crash" not in Lab.names() or not Lab.open("crash").state.processes:
        assert time.monotonic() < ends
        time.sleep(0.02)
    process.kill()
    process.wait()
    lab = Lab.open("crash")
    network = lab.state.network
    lab.down()
    nothing_left(network)


def test_a_zone_without_power_comes_back(lab, kfix):
    lab.break_("healthy")
    assert len(lab.power_off("az2")) == 2
    assert [p.condition for p in lab.status().processes if p.rack == "az2"] == ["dead", "dead"]
    lab.power_on("az2")
    wait_healed(kfix)


# --- C: cut networks --------------------------------------------------------------------------------------------------


def test_c1_a_cut_link_between_two_brokers(lab, kfix, tmp_path):
    broken = lab.break_("link-to-leader-cut")
    said, found = told(kfix, "KFX801")
    assert said.code == 20
    assert set(found["facts"]["brokers"]) == {broken.details["leader"], broken.details["follower"]}
    assert "both ways" in found["summary"]
    assert found["cause"]["confidence"] == "likely"
    refused(kfix, tmp_path, "KFX801")
    lab.heal()
    wait_healed(kfix)


@pytest.mark.parametrize("only", ["kafka", "controller"])
def test_c2_a_broker_that_does_not_hear_the_controller(lab, kfix, tmp_path, only):
    broken = lab.break_("link-to-controller-cut", only=only)
    _, found = told(kfix, "KFX802")
    assert found["facts"]["brokers"] == [broken.details["cut_off"]]
    assert found["facts"]["controller"] == broken.details["controller"]
    if only == "kafka":
        assert "ledger-0" in found["facts"]["stuck"], "what it leads has a high watermark that stands still"
    refused(kfix, tmp_path, "KFX802")
    lab.heal()
    wait_healed(kfix)


def wait_done(lab, number, seconds=60):
    ends = time.monotonic() + seconds
    while True:
        try:
            return recount(lab, number)
        except LabError:
            assert time.monotonic() < ends
            time.sleep(0.2)


@pytest.mark.parametrize(
    ("incident", "code", "options"),
    [
        ("zone-isolated-with-leader", "KFX803", {}),
        ("zone-isolated-with-leader", "KFX803", {"acks": "all"}),
        ("controller-zone-isolated-with-leader", "KFX804", {}),
        ("leader-cut-from-followers", "KFX803", {"outcome": "leader-moved"}),
    ],
)
def test_c3b_c4b_e1_two_leaders_and_the_loss_foretold(lab, kfix, tmp_path, incident, code, options):
    broken = lab.break_(incident, **options)
    inside = broken.details["isolated"]
    wait_done(lab, broken.details["writer_inside"])
    said, found = told(kfix, code)
    assert said.code == 21
    assert found["facts"]["brokers"] == [inside]
    assert found["facts"]["zone"] == broken.details["zone"]
    assert "ledger-0" in found["partitions"]
    assert found["facts"]["forecast_exact"]
    forecast = dict(each.rsplit("=", 1) for each in found["facts"]["forecast"])
    refused(kfix, tmp_path, code)
    lab.heal()
    wait_healed(kfix)
    truth = recount(lab, broken.details["writer_inside"])
    if options.get("acks") == "all":
        assert truth.lost == 0, "what acks=all acknowledged survives"
        assert int(forecast["ledger-0"]) > 0, "and yet records are cut off: each try was appended"
    else:
        assert int(forecast["ledger-0"]) == truth.lost > 0
    assert recount(lab, broken.details["writer_outside"]).lost == 0


@pytest.mark.parametrize(("incident", "code"), [("zone-isolated", "KFX803"), ("controller-zone-isolated", "KFX804")])
def test_c3a_c4a_an_isolated_zone_that_leads_nothing(lab, kfix, tmp_path, incident, code):
    broken = lab.break_(incident)
    said, found = told(kfix, code)
    assert said.code == 20
    assert found["facts"]["brokers"] == [broken.details["isolated"]]
    assert found["facts"]["two_leaders"] == 0
    if code == "KFX804":
        assert f"broker {broken.details['new_controller']} is" in found["summary"]
    refused(kfix, tmp_path, code)
    lab.heal()
    wait_healed(kfix)


def test_e1_followers_dropped_and_the_leader_stays_alone(lab, kfix, tmp_path):
    broken = lab.break_("leader-cut-from-followers")
    _, found = told(kfix, "KFX807")
    assert found["facts"]["brokers"] == [broken.details["leader"]]
    assert found["facts"]["leads_alone"] >= 1
    refused(kfix, tmp_path, "KFX807")
    lab.heal()
    wait_healed(kfix)


# --- ZooKeeper --------------------------------------------------------------------------------------------------------


def test_a_zookeeper_server_without_quorum_is_named_and_is_no_cut_of_brokers(lab, kfix):
    broken = lab.break_("zookeeper-node-cut")
    said = kfix.diagnose()
    assert said.code == 20, said.out
    assert not set(said.findings) & CUTS
    [node] = [each for each in lab.state.zookeepers if each.id == broken.details["zookeeper"]]
    assert said.findings["KFX805"]["object"] == f"zookeeper {lab.state.address_of(node)}"
    lab.mend()
    wait_healed(kfix)


def test_a_lost_quorum_is_named_and_nothing_is_changed(lab, kfix, tmp_path):
    lab.break_("zookeeper-quorum-lost")
    said = kfix.diagnose()
    assert said.code == 21, said.out
    assert "KFX806" in said.findings
    plan = tmp_path / "wrong.json"
    refusal = kfix.on("runbook", "plan", "controller-reelect", "--debounce", "0", "-o", plan)
    assert refusal.code != 0
    assert not plan.exists()
    lab.mend()
    wait_healed(kfix)


# --- a plan from before, and no alarm ---------------------------------------------------------------------------------


def test_a_plan_made_before_the_cut_is_refused_under_it(lab, kfix, tmp_path):
    lab.break_("healthy")
    plan = tmp_path / "plan.json"
    assert kfix.on("runbook", "plan", "controller-reelect", "-o", plan).code == 0
    approval = f"plan:{json.loads(plan.read_text())['plan_id'][:8]}"
    lab.mend()
    lab.break_("zone-isolated")
    epoch = controller_epoch(lab)
    said = kfix.on("runbook", "apply", "--plan", plan, "--approve", approval)
    assert said.code == 3, said.out + said.err
    assert "KFX803" in said.err
    assert controller_epoch(lab) == epoch
    lab.heal()
    wait_healed(kfix)


def controller_epoch(lab):
    with lab.access() as access:
        return access._zk.get("/controller_epoch")[0]


def test_a_slow_link_a_rolling_restart_and_a_new_controller_are_no_cut(lab, kfix):
    lab.break_("healthy")
    lab.slow("az2", 2_000)
    assert not set(kfix.diagnose().findings) & CUTS
    lab.heal()
    for broker in lab.broker_ids:
        lab.restart(broker)
        assert not {code for code, f in kfix.diagnose().findings.items() if not f.get("unsettled")} & CUTS
    with lab.access() as access:
        access.drop_controller()
    assert not {code for code, f in kfix.diagnose().findings.items() if not f.get("unsettled")} & CUTS
