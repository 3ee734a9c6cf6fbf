"""`--stats`: a row per server and the total."""

from dataclasses import replace

from kfix.core.snapshot.snapshot import Endpoint, ZooKeeperNode
from kfix.core.snapshot.traffic import Traffic, in_all
from kfix.diagnose.report.snapshot import traffic_lines
from kfix.front.lines import lines_text
from tests.unit.diagnostics.clusters import base

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
