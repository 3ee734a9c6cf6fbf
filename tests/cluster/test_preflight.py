"""`kfix preflight` on real brokers: what it calls safe does no harm, and what it calls unsafe does."""

import os
import socket
import struct
import subprocess

import pytest

from kfix.core.kafka import requests
from kfix.lab import LabSpec
from kfix.lab.clients.asking import ask
from tests.cluster.conftest import KFIX, WatchedLab, lab_of_its_own
from tests.waiting import seconds, wait_until

SAFE, UNKNOWN, UNSAFE = 0, 22, 23
LINES = {"2.7.1": "zk", "3.9.2": "kraft", "4.3.1": "kraft"}
_BROKER_LOGGER = 8


def start(version):
    mode = LINES[version]
    return WatchedLab.up(LabSpec(name="preflight", kafka=version, mode=mode, controllers=3 if mode == "kraft" else 1))


own, lab = lab_of_its_own(start, mends=True, params=list(LINES))


@pytest.fixture
def orders(lab):
    """A topic with three replicas, two of which must be in sync, and one whose partition n is on broker n + 1 only."""
    with lab.access() as access:
        access.create_topic("orders", [[1, 2, 3], [2, 3, 1]], {"min.insync.replicas": "2"})
        access.create_topic("single", [[1], [2], [3]], {})
        yield access


def kinds(said):
    return {(each["kind"], partition) for each in said.json["obstacles"] for partition in each["partitions"]}


def leaderless(access):
    return {str(where) for where, state in access.states().items() if state.leader == -1}


def test_what_is_safe_leaves_every_partition_served(lab, kfix):
    with lab.access() as access:
        access.create_topic("orders", [[1, 2, 3], [2, 3, 1]], {"min.insync.replicas": "2"})
        said = kfix.on("preflight", "restart", "broker=2", "--json")
        assert said.code == SAFE, said.out + said.err
        lab.shutdown(2)
        wait_until(lambda: 2 not in access.live_ids(), "broker 2 has left", 30)
        assert leaderless(access) == set()
        access.produce("orders", {0: [("key", b"value")], 1: [("key", b"value")]})
        # A second one would leave too few in-sync replicas, until the first is back.
        said = kfix.on("preflight", "restart", "broker=3", "--json")
        assert said.code == UNSAFE, said.out + said.err
        assert {each for each in kinds(said) if each[1].startswith("orders")} == {
            ("min-isr", "orders-0"),
            ("min-isr", "orders-1"),
        }
        assert {each["until"] for each in said.json["obstacles"]} == {"broker 2 is started, and in sync"}
        waiting = subprocess.Popen(
            [KFIX, "preflight", "restart", "broker=3", "-b", lab.bootstrap_servers, "--wait", "90s"],
            env=os.environ | {"KFIX_STATE_HOME": str(kfix.home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert "waiting until broker 2 is started, and in sync" in waiting.stderr.readline()
        lab.restart(2)
        out, _ = waiting.communicate(timeout=seconds(90))
        assert (waiting.returncode, out.startswith("safe: restart broker=3")) == (SAFE, True), out


def test_what_is_unsafe_stops_what_it_names(lab, kfix, orders):
    said = kfix.on("preflight", "stop", "broker=2", "--json")
    assert said.code == UNSAFE, said.out + said.err
    assert kinds(said) == {("stops", "single-1")}
    lab.shutdown(2)
    wait_until(lambda: leaderless(orders) == {"single-1"}, lambda: f"{leaderless(orders)} is single-1", 30)
    assert kfix.on("preflight", "remove", "broker=2").code == UNSAFE
    low = kfix.on("preflight", "config", "topic", "orders", "min.insync.replicas=3", "--json")
    assert (low.code, [each["until"] for each in low.json["obstacles"]]) == (
        UNSAFE,
        ["broker 2 is started, and in sync"],
    )
    assert kfix.on("preflight", "config", "topic", "single", "unclean.leader.election.enable=true").code == UNSAFE


def test_controllers_are_stopped_one_at_a_time(lab, kfix):
    if lab.quorum is None:
        return
    first, second, third = sorted(lab.quorum.addresses())
    assert kfix.on("preflight", "restart", f"controller={first}").code == SAFE
    lab.kill(second, "controller")
    said = kfix.until(
        lambda said: said.code == UNSAFE,
        "another controller may not be stopped",
        ask=lambda kfix: kfix.on("preflight", "restart", f"controller={third}", "--json"),
        within=60,
    )
    assert {each["kind"] for each in said.json["obstacles"]} == {"quorum"}
    lab.restart(second, role="controller")
    assert kfix.on("preflight", "restart", f"controller={third}", "--wait", "60s", timeout=90).code == SAFE


def send_like_kafka_0_10(address, client):
    """Asks for the latest offset of orders-0 by version 0, and reads the answer; librdkafka of today no longer can."""
    host, _, port = address.rpartition(":")
    named = [struct.pack(f">h{len(text)}s", len(text), text.encode()) for text in (client, "orders")]
    asked = struct.pack(">hhi", 2, 0, 7) + named[0] + struct.pack(">ii", -1, 1) + named[1]
    asked += struct.pack(">iiqi", 1, 0, -1, 1)
    with socket.create_connection((host, int(port)), timeout=seconds(10)) as connection:
        connection.sendall(struct.pack(">i", len(asked)) + asked)
        assert connection.recv(4)


def test_clients_that_kafka_4_refuses_are_named_from_request_logs(lab, kfix, orders):
    version = lab.state.spec.recipe.kafka
    said = kfix.on("preflight", "upgrade", "4.4.0", "--json")
    if version.startswith("4"):
        assert said.code in {SAFE, UNSAFE}, said.out + said.err
        return
    assert any("KIP-896" in each for each in said.json["unknown"]), said.out
    logs = [lab.store.log_file("broker", broker) for broker in lab.broker_ids]
    for broker in lab.broker_ids:
        asked = requests.alter_configs(_BROKER_LOGGER, str(broker), {"kafka.request.logger": "DEBUG"})
        assert ask(lab.address(broker), asked, 5.0).error == 0
    send_like_kafka_0_10(lab.address(1), "till-7")
    named = [word for log in logs for word in ("--request-log", log)]
    said = kfix.on("preflight", "upgrade", "4.4.0", "--json", *named)
    found = [each["what"] for each in said.json["obstacles"] if each["kind"] == "clients"]
    assert [each for each in found if "till-7" in each and "ListOffsets version 0" in each], said.out
    assert not [each for each in found if "till-7" not in each], found
