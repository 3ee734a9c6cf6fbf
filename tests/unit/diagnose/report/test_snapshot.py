"""The reach matrix: in the report of several places, in none other, and never wider than a small terminal."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import datetime

from kfix.core.derive.merging.merge import merge
from kfix.core.snapshot.snapshot import Endpoint, Vantage, ZooKeeperNode
from kfix.core.snapshot.traffic import Traffic, in_all
from kfix.diagnose.report.json_findings import findings_json
from kfix.diagnose.report.snapshot import WIDEST, described, reach_lines, traffic_lines
from kfix.diagnose.report.table import findings_text
from kfix.front.lines import lines_text
from kfix_diagnostics.engine import diagnose
from tests.places import GOLDEN
from tests.unit.core.derive.places import seen_by, two
from tests.unit.diagnostics.clusters import base, healthy

GOLDEN_FOLDER = GOLDEN / "vantages" / "zone-isolated.txt"


def test_the_report_of_two_places_is_the_golden_one() -> None:
    said = findings_text(diagnose(merge(two())), width=100)
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        GOLDEN_FOLDER.write_text(said)
    assert said == GOLDEN_FOLDER.read_text(), "KFIX_UPDATE_GOLDEN=1 rewrites it"


def test_one_place_alone_has_no_matrix() -> None:
    assert "reached from" not in findings_text(diagnose(two()[1]))
    assert "reached from" not in findings_text(diagnose(healthy()))


def test_the_json_names_each_vantage() -> None:
    said = json.loads(findings_json(diagnose(merge(two()))))["vantages"]
    assert [v["name"] for v in said] == ["az1", "az2"]
    assert said[0]["reach"] == {
        "broker 1": True,
        "broker 2": False,
        "broker 3": False,
        "zookeeper zk-a:2181": True,
        "zookeeper zk-b:2181": False,
    }
    assert said[1]["reach"]["broker 1"] is None
    assert said[0]["errors"]["broker 2"] == "no answer in time"
    first, second = (datetime.fromisoformat(each["taken_at"]) for each in said)
    assert (second - first).total_seconds() == 1.0
    assert json.loads(findings_json(diagnose(healthy())))["vantages"] == []


def test_a_large_cluster_shows_only_whom_some_place_missed() -> None:
    everybody = tuple(f"broker {b}" for b in range(1, 101))
    places = (Vantage("az1", 0.0, everybody[:99], {"broker 100": "no"}), Vantage("az2", 0.0, everybody, {}))
    assert lines_text(reach_lines(places)).splitlines() == [
        "",
        "reached from (yes, no, ? not asked):",
        "  broker           100",
        "  az1 (00:00:00Z)  no",
        "  az2 (00:00:00Z)  yes",
        "  every vantage reached the other 99",
    ]
    same = (places[1], replace(places[1], name="az3"))
    assert lines_text(reach_lines(same)).splitlines()[2:] == ["  every vantage reached all 100"]


def test_long_names_take_more_than_one_block() -> None:
    servers = tuple(f"zookeeper {n}.zookeeper.of.a.long.domain.example:2181" for n in range(5))
    places = (Vantage("a" * 40, 0.0, servers[:3], {}), Vantage("b", 0.0, servers[2:], {}))
    lines = lines_text(reach_lines(places)).splitlines()
    assert sum(line.startswith("  zookeeper ") for line in lines) == 5
    assert all(len(line) <= WIDEST + 30 for line in lines)


def test_a_saved_snapshot_states_its_vantage() -> None:
    said = described(seen_by(healthy(), "az1", {1})).splitlines()
    assert said[1:4] == [
        "  seen from az1: reaches broker 1",
        "    does not reach broker 2: no answer in time",
        "    does not reach broker 3: no answer in time",
    ]
    assert "seen from" not in described(healthy())


# `--stats`: a row per server and the total.

ASKED = {"h:1": Traffic(2, 7, 900, 12_000), "zk:2181": Traffic(4, 11_000, 600_000, 2_000_000)}


def test_a_saved_snapshot_asked_nothing():
    assert list(traffic_lines(base().snapshot())) == []


def test_every_server_has_a_row_and_the_last_row_is_the_total():
    snapshot = replace(
        base().snapshot(),
        traffic=ASKED,
        addresses={3: Endpoint("h", 1)},
        ensemble=(ZooKeeperNode("zk:2181", "leader"),),
    )
    rows = [line.split("  ") for line in lines_text(traffic_lines(snapshot)).splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert cells == [
        ["asked of", "connections", "requests", "sent", "received"],
        ["broker 3, h:1", "2", "7", "900 bytes", "12 kB"],
        ["ZooKeeper zk:2181", "4", "11000", "600 kB", "2 MB"],
        ["in all", "6", "11007", "600.9 kB", "2 MB"],
    ]


def test_two_snapshots_are_counted_together():
    assert in_all(ASKED, {"h:1": Traffic(1, 1, 1, 1)})["h:1"] == Traffic(3, 8, 901, 12_001)
    assert in_all({}, {}) == {}
