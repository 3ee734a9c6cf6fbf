"""The nodes of a KRaft quorum as rows of the store."""

from datetime import date

import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from kfix.fleet.store.places import place_of
from kfix.fleet.store.staging import RunWriter
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.clusters import base

DAY = date(2026, 1, 1)


@pytest.fixture
def tables(tmp_path):
    """The rows of a table of a run that stored these clusters."""

    def rows(name, **clusters):
        writer = RunWriter(place_of(tmp_path), DAY, "r")
        for cluster, snapshot in clusters.items():
            writer.write(cluster, snapshot)
        writer.finish()
        return DeltaTable(str(tmp_path / "tables" / name)).to_pyarrow_table()

    return rows


def test_controllers_vote_and_brokers_observe(tables):
    found = tables("quorum", one=kraft_clusters.healthy(), zookeeper=base().snapshot())
    assert set(found["cluster"].to_pylist()) == {"one"}
    assert [(r["node"], r["voter"], r["active"], r["answered"]) for r in found.sort_by("node").to_pylist()] == [
        (1, False, False, None),
        (2, False, False, None),
        (3, False, False, None),
        (100, True, True, True),
        (101, True, False, True),
        (102, True, False, True),
    ]
    assert pc.max(found["behind"]).as_py() == 0
    assert set(found["epoch"].to_pylist()) == {4}


def test_a_dead_controller_is_a_row_with_its_error(tables):
    [dead] = [r for r in tables("quorum", one=kraft_clusters.one_controller_dead()).to_pylist() if r["node"] == 102]
    assert (dead["voter"], dead["active"], dead["answered"]) == (True, False, False)
    assert dead["error"]
    assert dead["behind"] > 0


def test_without_an_active_controller_nothing_of_the_log_is_claimed(tables):
    found = tables("quorum", one=kraft_clusters.two_controllers_dead()).to_pylist()
    assert {r["node"] for r in found} == {100, 101, 102}
    assert {(r["active"], r["epoch"], r["log_end"], r["behind"]) for r in found} == {(None, None, None, None)}


def test_the_active_controller_is_the_controller_of_the_cluster(tables):
    found = tables("snapshots", one=kraft_clusters.healthy(), lost=kraft_clusters.two_controllers_dead())
    assert {r["cluster"]: r["controller"] for r in found.to_pylist()} == {"one": 100, "lost": None}
