"""A fleet is written and judged by several processes as by one."""

from datetime import date
from pathlib import Path

from kfix.fleet.demo.synthetic import fleet, write_fleet
from kfix.fleet.engines.pool import each
from kfix.fleet.judging.case import judge_stored
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import runs
from kfix.fleet.store.staging import RunWriter
from tests.unit.diagnostics.clusters import base, coordinator_stuck


def test_a_fleet_is_written_by_many_processes_as_by_one(tmp_path):
    clusters = fleet(11, 300)
    one = write_fleet(str(tmp_path / "one"), date(2026, 1, 1), "r", clusters, processes=1)
    two = write_fleet(str(tmp_path / "two"), date(2026, 1, 1), "r", clusters, processes=2)
    assert one.clusters == two.clusters
    for name in one.clusters:
        files = [Path(run.stored()[name].partitions).read_bytes() for run in (one, two)]
        assert files[0] == files[1]
    assert [r.id for r in runs(place_of(tmp_path / "two"))] == ["r"]


def test_a_failing_cluster_of_a_run_is_a_row(tmp_path):
    writer = RunWriter(place_of(tmp_path), date(2026, 3, 1), "r1")
    writer.write("well", base().snapshot())
    writer.write("sick", coordinator_stuck().snapshot())
    run = writer.finish()
    stored = run.stored()
    Path(stored["well"].partitions).write_bytes(b"PAR1")
    found = {d.name: d for d in each(judge_stored, stored, processes=2)}
    assert [*found] == ["sick", "well"]
    assert found["sick"].result is not None
    assert stored["well"].partitions in found["well"].error
