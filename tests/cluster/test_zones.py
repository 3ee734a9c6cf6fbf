"""The lab's zones: network namespaces that are cut, slowed down, without power, healed, and taken down whole.

Without root, `ip` or a packet filter these tests fail, and say so: they never skip.
"""

import subprocess
import sys

import pytest

from kfix.lab import Lab
from kfix.lab.network.filters import dropped
from tests.cluster.cutting import nothing_left, wait_healed
from tests.cluster.skewed import no_fault_until_killed, restarted
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster-zones")]


@pytest.fixture
def lab(zoned):
    return zoned


@pytest.fixture
def kfix(kfix_of_zones):
    return kfix_of_zones


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
    assert lab.status().network == ("az2 receives nothing from az1 (zookeeper only)",)
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
    def quickest(target):
        """Of several: another program on the machine may delay any of them."""
        return min(seconds_across(lab, "az1", target) for _ in range(3))

    before = quickest("az2")
    lab.slow("az2", 400)
    assert lab.status().network == ("az2 is slow: 400 kbit/s",)
    slow = seconds_across(lab, "az1", "az2")
    assert slow > 1
    other = quickest("az3")
    lab.heal()
    assert max(before, other, quickest("az2")) < slow / 4


def test_a_lab_that_was_killed_while_it_came_up_is_taken_down_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("KFIX_LAB_HOME", str(tmp_path))
    command = [sys.executable, "-m", "kfix", "lab", "up", "--zones", "3", "--name", "crash"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(
        lambda: "crash" in Lab.names() and Lab.open("crash").state.processes, "a process is recorded", 20, pause=0.02
    )
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


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_host_whose_clock_is_an_hour_off_is_no_fault_and_dates_nothing_wrong(
    lab, kfix, tmp_path, monkeypatch, seconds
):
    """Broker 2 is in a namespace of its own; registrations and states are dated by ZooKeeper, not by it."""
    lab.break_("healthy")
    with restarted(lab, 2, seconds, tmp_path, monkeypatch):
        wait_healed(kfix)
        no_fault_until_killed(kfix, 2)
