"""Cuts as packet filters, what is told of them, and who may make them. Real ones: tests/cluster/test_zones.py."""

import dataclasses

import pytest

from kfix.core.errors import LabError, UsageError
from kfix.lab.definition.spec import LabSpec
from kfix.lab.definition.state import (
    BrokerDef,
    ControllerDef,
    LabState,
    LinkCut,
    Network,
    Slow,
    Zone,
    ZooKeeperDef,
    from_json,
    to_json,
)
from kfix.lab.definition.store import Store
from kfix.lab.network import commands, faults, filters, topology

ZONES = tuple(Zone(f"az{n}", f"kfix-x-az{n}", f"198.18.0.{10 + n}") for n in (1, 2, 3))
NETWORK = Network("kfix-x-switch", "kfixx", "198.18.0.1", ZONES)


def state(*cuts, slow=()):
    return LabState(
        name="x",
        id="0123456789abcdef",
        spec=LabSpec(name="x", zones=3, zookeepers=3),
        data="/nowhere/x-0123456789abcdef",
        brokers=tuple(BrokerDef(n, 100 + n, f"az{n}", zone=f"az{n}", control_port=200 + n) for n in (1, 2, 3)),
        zookeepers=tuple(ZooKeeperDef(n, 300 + n, 400 + n, 500 + n, f"az{n}") for n in (1, 2, 3)),
        network=dataclasses.replace(NETWORK, cuts=cuts, slow=slow),
    )


def rules(lab, zone):
    return filters.rules(lab.network, lab.network.zone(zone), filters.ports_by_kind(lab))


def test_a_cut_is_dropped_where_it_would_come_in_and_nowhere_else():
    lab = state(LinkCut("az1", "az2"))
    assert "-A INPUT -s 198.18.0.11 -j DROP" in rules(lab, "az2")
    for zone in ("az1", "az3"):
        assert "DROP" not in rules(lab, zone)
    assert rules(lab, "az2").startswith("*filter\n")
    assert rules(lab, "az2").endswith("COMMIT\n")


@pytest.mark.parametrize(
    ("only", "ports"),
    [
        ("kafka", {101, 102, 103, 201, 202, 203}),
        ("controller", {201, 202, 203}),
        ("zookeeper", {301, 302, 303, 401, 402, 403, 501, 502, 503}),
        ("quorum", {401, 402, 403, 501, 502, 503}),
    ],
)
def test_one_kind_is_cut_by_its_ports_question_and_answer(only, ports):
    lines = [line for line in rules(state(LinkCut("az1", "az2", only)), "az2").splitlines() if "DROP" in line]
    assert {int(line.split("--dport ")[1].split()[0]) for line in lines if "--dport" in line} == ports
    assert {int(line.split("--sport ")[1].split()[0]) for line in lines if "--sport" in line} == ports


def on_kraft(*cuts):
    spec = LabSpec(name="x", kafka="4.3.1", zones=3, controllers=3)
    controllers = tuple(ControllerDef(99 + n, 600 + n, "d", zone=f"az{n}") for n in (1, 2, 3))
    brokers = tuple(BrokerDef(n, 100 + n, f"az{n}", zone=f"az{n}") for n in (1, 2, 3))
    network = dataclasses.replace(NETWORK, cuts=cuts)
    return dataclasses.replace(
        state(), spec=spec, zookeepers=(), brokers=brokers, controllers=controllers, network=network
    )


@pytest.mark.parametrize(
    ("only", "ports"),
    [
        ("kafka", {101, 102, 103, 601, 602, 603}),
        ("brokers", {101, 102, 103}),
        ("controller", {601, 602, 603}),
    ],
)
def test_on_kraft_brokers_and_controllers_are_cut_by_their_ports(only, ports):
    lines = [line for line in rules(on_kraft(LinkCut("az1", "az2", only)), "az2").splitlines() if "DROP" in line]
    assert {int(line.split("--dport ")[1].split()[0]) for line in lines if "--dport" in line} == ports
    assert {int(line.split("--sport ")[1].split()[0]) for line in lines if "--sport" in line} == ports


def test_only_requests_with_the_key_of_a_heartbeat_are_dropped_on_their_way_to_controllers():
    lines = [
        line for line in rules(on_kraft(LinkCut("az1", "az2", "heartbeats")), "az2").splitlines() if "DROP" in line
    ]
    assert len(lines) == 3
    assert all("--dport 60" in line and '@4>>16=0x3F" -j DROP' in line for line in lines)


@pytest.mark.parametrize(("lab", "only", "said"), [
    (on_kraft(), "quorum", "on KRaft one of kafka, brokers, controller, heartbeats"),
    (state(), "heartbeats", "with ZooKeeper one of kafka, zookeeper, controller, quorum"),
])  # fmt: skip
def test_a_kind_of_the_other_mode_is_refused_in_one_line(tmp_path, monkeypatch, lab, only, said):
    monkeypatch.setenv("KFIX_LAB_HOME", str(tmp_path))
    store = Store("x")
    store.save(lab)
    for act in (lambda: faults.cut(store, "az1", "az2", only=only), lambda: faults.isolate(store, "az1", only)):
        with pytest.raises(UsageError, match=said):
            act()
    assert store.load().network.cuts == ()


def test_what_is_cut_or_slow_is_told_once_and_in_words():
    both = (LinkCut("az1", "az2"), LinkCut("az2", "az1"), LinkCut("az3", "az1", "kafka"))
    assert faults.sentences(state(*both, slow=(Slow("az3", 500, 20),)).network) == (
        "az1 and az2 are cut from each other",
        "az1 receives nothing from az3 (kafka only)",
        "az3 is slow: 500 kbit/s, 20 ms delay",
    )
    assert faults.sentences(None) == ()


def test_a_lab_remembers_its_network():
    lab = state(LinkCut("az1", "az2", "kafka"), slow=(Slow("az3", 500),))
    assert from_json(to_json(lab), "lab.json") == lab
    assert lab.address_of(lab.brokers[0]) == "198.18.0.11:101"
    assert lab.host_of(lab.zookeepers[2]).prefix == ("ip", "netns", "exec", "kfix-x-az3")
    old = to_json(dataclasses.replace(lab, network=None))
    del old["network"]
    assert from_json(old, "lab.json").network is None


def test_without_root_nothing_is_made_and_one_line_says_why(monkeypatch):
    monkeypatch.setattr(commands.os, "geteuid", lambda: 1000)
    with pytest.raises(UsageError, match="--zones needs root") as caught:
        commands.require_rights()
    assert "as root" in caught.value.hint


def test_a_missing_tool_names_debians_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LabError, match="needs iptables-restore") as caught:
        commands.full_path("iptables-restore")
    assert "iptables" in caught.value.hint


def test_what_a_tool_says_when_it_fails_is_one_line(tmp_path, monkeypatch):
    tool = tmp_path / "ip"
    tool.write_text("#!/bin/sh\necho 'Operation not permitted' >&2\necho more >&2\nexit 2\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(LabError, match=r"^ip netns add x: Operation not permitted$") as caught:
        commands.run(["ip", "netns", "add", "x"])
    assert "NET_ADMIN" in caught.value.hint


def test_labs_that_start_at_the_same_moment_take_different_subnets():
    one, other = (topology.free_subnet((), lab_id) for lab_id in ("0" * 15 + "1", "0" * 15 + "2"))
    assert (str(one), str(other)) == ("198.18.1.0/24", "198.18.2.0/24")
    assert str(topology.free_subnet((one[7],), "0" * 15 + "1")) == "198.18.2.0/24"
    with pytest.raises(LabError, match="no free /24 subnet is left"):
        topology.free_subnet(tuple(each[1] for each in topology._POOL.subnets(new_prefix=24)), "f" * 16)
