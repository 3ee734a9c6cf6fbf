"""`kfix fleet whatif`: what it prints of a stored run, its exit codes, and one line for what does not exist."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from kfix.core.inventory.model import Inventory
from kfix.core.inventory.recorded import record_entry
from kfix.fleet.demo.synthetic import write_fleet
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.store.places import place_of
from kfix.shell.app import app
from tests.each import for_each
from tests.unit.fleet.audit_runs import AT, FIRST, again, cluster, entry, reported

ENTRIES = {
    one.name: one
    for one in (
        entry("orders-eu", owner="payments", tags=("region=eu",)),
        entry("clicks-eu", owner="web", tags=("region=eu",)),
        entry("audit-us", owner="web", tags=("region=us",)),
        entry("gone-us", owner="data", tags=("region=us",)),
    )
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A sick cluster, a healthy one, one without racks, and one that was not read."""
    root = tmp_path_factory.mktemp("store")
    sick = cluster("orders-eu", sick=0.5)
    clusters = [sick, cluster("clicks-eu"), replace(cluster("audit-us", sick=0.1), racks=0)]
    entries = {"entries": {name: record_entry(one) for name, one in ENTRIES.items()}}
    write_fleet(str(root), FIRST, "r", clusters, processes=1, failed={"gone-us": "no answer"}, at=AT, more=entries)
    return root


def asked(store, *args):
    return CliRunner().invoke(app, ["fleet", "whatif", "--store", str(store), *args])


def test_one_rack_stops_topics_of_clusters_of_owners(store):
    said = asked(store, "--down", "rack=rack-1")
    assert said.exit_code == 21
    document = json.loads(asked(store, "--down", "rack=rack-1", "--json").stdout)
    [row] = [one for one in document["scenarios"] if one["stops"]]
    topics, groups = row["topics"], row["groups"]
    assert (row["cluster"], row["owner"], row["kind"], row["down"]) == ("orders-eu", "payments", "rack", "rack-1")
    assert row["brokers"] == [1, 4]
    assert f"if rack rack-1 went down, {topics} topics of 1 cluster would stop" in said.stdout
    assert document["totals"] == {
        "topics": topics, "partitions": row["stops"], "groups": groups, "clusters": 1, "owners": 1,
    }  # fmt: skip
    assert document["absent"] == ["audit-us"]
    assert document["unjudged"] == {"gone-us": "no answer"}
    for text in (
        "judged 2 clusters; 1 cluster has no live rack rack-1",
        "orders-eu (payments)",
        "owners: payments",
        "unknown: 1 cluster not judged, or not completely",
        "gone-us: no answer",
        "kfix whatif --down rack=rack-1 --bootstrap-server orders-eu.invalid:9092",
    ):
        assert text in said.stdout, said.stdout


def test_a_part_of_the_fleet_that_loses_nothing_is_not_called_safe_where_a_cluster_was_not_read(store):
    eu = asked(store, "--down", "broker=1", "--cluster", "clicks-*")
    assert (eu.exit_code, "if broker 1 went down, nothing would stop" in eu.stdout) == (0, True)
    us = asked(store, "--down", "broker=1", "--tag", "region=us", "--owner", "data")
    assert us.exit_code == 2
    both = asked(store, "--tag", "region=us")
    assert both.exit_code in {21, 22}
    assert "gone-us: no answer" in both.stdout


def test_without_a_failure_it_shows_the_worst_of_each_kind(store):
    said = asked(store)
    assert said.exit_code == 21
    assert "the loss of a rack would stop something in" in said.stdout
    heads = [line.split() for line in said.stdout.splitlines()]
    assert ["broker", "pair", "rack", "cluster"] in heads
    assert f"kfix fleet whatif --down rack=rack-1 --store {store}" in said.stdout.replace("rack-0", "rack-1").replace(
        "rack-2", "rack-1"
    )
    short = asked(store, "--limit", "1")
    assert "and 2 more clusters, none of them worse" in short.stdout


def test_pairs_racks_and_any_number_of_them_can_be_asked(store):
    for down, brokers in (("broker=2,1", [1, 2]), ("rack=rack-0,rack-1", [1, 3, 4, 6]), ("broker=1,2,3", [1, 2, 3])):
        document = json.loads(asked(store, "--down", down, "--cluster", "orders-eu", "--json").stdout)
        [row] = document["scenarios"]
        assert row["brokers"] == brokers, down


@for_each(
    ("args", "line"),
    [
        (["--down", "rack=b"], "no chosen cluster has a live broker in rack 'b'; the racks are rack-0, rack-1, rack-2"),
        (["--down", "rack=rack-0", "--cluster", "audit-us"], "no live broker has a rack"),
        (["--down", "broker=9"], "no chosen cluster has live broker 9; alive are 1, 2, 3, 4, 5, 6"),
        (["--down", "broker=1,9"], "no chosen cluster has live brokers 1, 9 together"),
        (["--down", "broker=1", "--cluster", "gone-us"], "no chosen cluster was read with its live brokers"),
        (["--down", "node=1"], "--down 'node=1': broker=ID, broker=ID,ID or rack=NAME"),
        (["--down", "broker=x"], "broker=ID"),
        (["--down", "rack="], "rack=NAME"),
        (["--owner", "nobody"], "no cluster of the inventory matches 'nobody'"),
        (["--run", "other"], "no complete run 'other'"),
    ],
)
def test_what_does_not_exist_is_one_line_that_lists_what_does(store, args, line):
    said = asked(store, *args)
    assert said.exit_code == 2
    assert line in str(said.exception) or line in said.output
    assert "Traceback" not in said.output


def test_an_audit_keeps_the_scenarios_and_its_report_has_the_matrix(store):
    before = asked(store, "--json").stdout
    engine = EmbeddedEngine(1)
    audit = again(store, engine, inventory=Inventory(ENTRIES), run="r")
    assert audit.manifest["scenarios_unjudged"] == {"gone-us": "no answer"}
    report = reported(store, audit, engine)
    assert report.scenarios[0].cluster == "orders-eu"
    matrix = {one.cluster: one for one in report.scenario_matrix}
    assert matrix.keys() == ENTRIES.keys()
    assert not matrix["gone-us"].judged
    assert matrix["orders-eu"].worst.keys() >= {"broker", "rack"}
    assert matrix["audit-us"].worst.keys() == {"broker"} | ({"pair"} & matrix["audit-us"].worst.keys())
    assert asked(store, "--json").stdout == before, "the stored rows are those that are judged from the run"
    assert place_of(store) == audit.root
