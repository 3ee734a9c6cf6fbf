"""Many clusters into one run: failures are rows, a hanging cluster delays no other, runs are resumed, stores refuse."""

import json
import threading
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from deltalake import DeltaTable

from kfix.core.criteria import Expected
from kfix.core.errors import StoreError, UsageError
from kfix.core.inventory.load import Loaded
from kfix.core.inventory.model import ClusterEntry, Criticality, Inventory, MaintenanceWindow, Mute
from kfix.core.inventory.recorded import recorded_inventory
from kfix.core.snapshot.snapshot import Source
from kfix.fleet.collect.run import Collection
from kfix.fleet.collect.threads import collect_each
from kfix.fleet.store.listing import listed, unfinished_day
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run, read_stored_document, runs
from kfix.fleet.store.staging import RunWriter
from tests.unit.diagnostics.clusters import base
from tests.unit.fleet.readers import ASKED, take
from tests.waiting import seconds

DAY = date(2026, 3, 1)


def fleet(*names, timeout=10.0):
    return Loaded(Inventory({n: ClusterEntry(n, timeout=timeout) for n in names}, origin="f"), "0" * 64)


def collected(root, loaded, looking=take, run="r", **how):
    collection = Collection(root, loaded, DAY, run)
    done = [*collection.results(looking, **how)]
    return collection, {d.name: d for d in done}


@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_collected_is_stored_and_what_is_not_is_a_row(tmp_path, processes):
    names = ["well-1", "dead-1", "bug-1", "well-2", "odd-1", "well-3"]
    collection, done = collected(tmp_path, fleet(*names), processes=processes)
    run = collection.finish()
    assert dict(run.clusters) == {"well-1": 62, "well-2": 62, "well-3": 62}
    assert dict(run.failed) == {
        "dead-1": "the cluster cannot be reached: h:1: connection refused",
        "bug-1": "internal error: RuntimeError: a bug; of two lines",
        "odd-1": "one line; and another",
    }
    assert runs(place_of(tmp_path)) == (run,)
    assert set(done) == set(names)
    stored = run.stored()
    assert {name: read_stored_document(where)["cluster"] for name, where in stored.items()} == {
        n: n for n in run.clusters
    }
    # The clusters that were not read are rows of the table of snapshots as well.
    rows = DeltaTable(str(tmp_path / "tables" / "snapshots")).to_pyarrow_table().to_pylist()
    assert {r["cluster"]: r["why"] for r in rows if not r["collected"]} == dict(run.failed)


def test_one_that_hangs_is_given_up_and_its_place_is_taken(tmp_path):
    loaded = fleet("slow-1", "slow-2", *(f"well-{i}" for i in range(6)), timeout=0.2)
    collection, done = collected(tmp_path, loaded, concurrency=2)
    assert done["slow-1"].error == "no answer within 0.2 s; the attempt was abandoned"
    run = collection.finish()
    assert set(run.failed) == {"slow-1", "slow-2"}
    assert len(run.clusters) == 6
    # Its look ends by itself, later: what it found is thrown away.
    for thread in [t for t in threading.enumerate() if t.name.startswith("kfix collect slow")]:
        thread.join(seconds(10))
    assert not [p for p in run_files(tmp_path) if "slow" in p]


def run_files(root):
    return [p.name for p in root.rglob("*") if p.is_file()]


def test_a_worker_that_dies_is_replaced_once_and_affects_no_other(tmp_path):
    names = ["kill-1", *(f"well-{i}" for i in range(7))]
    collection, done = collected(tmp_path, fleet(*names), processes=2, concurrency=2)
    run = collection.finish()
    assert done["kill-1"].error == "its process died: out of memory, or killed"
    # The other crew's are all there; of its own those that were not written before it died a second time are rows.
    assert {"well-0", "well-2", "well-4", "well-6"} <= set(run.clusters)
    assert set(run.clusters) | set(run.failed) == set(names)
    assert "kill-1" in run.failed


@pytest.mark.parametrize("processes", [1, 2])
def test_a_resumed_run_reads_no_cluster_twice(tmp_path, processes, monkeypatch):
    asked = tmp_path / "asked"
    asked.mkdir()
    monkeypatch.setenv(ASKED, str(asked))
    store = tmp_path / "store"
    loaded = fleet(*(f"well-{i}" for i in range(8)))
    first = Collection(store, loaded, DAY, "r")
    results = first.results(take, processes=processes, concurrency=2)
    next(results)
    next(results)
    results.close()
    # Not committed: it does not count, and is listed as what it is.
    assert runs(place_of(store)) == ()
    [seen] = listed(place_of(store))
    assert (seen.state, seen.id, seen.day) == ("unfinished", "r", DAY)
    assert seen.began is not None
    before = {p.name for p in asked.iterdir()}
    again = Collection(store, loaded, None, "r")
    assert (again.day, len(again.there)) == (DAY, seen.clusters)
    assert seen.clusters >= 2
    assert set(again.there) <= before
    shown = [d.name for d in again.results(take, processes=processes)]
    assert sorted([*shown, *again.there]) == [f"well-{i}" for i in range(8)]
    assert all((asked / name).read_text() == "x" for name in again.there)
    run = again.finish()
    assert len(run.clusters) == 8
    assert run.manifest["resumed"] == len(again.there)
    assert run.began == seen.began
    assert all(e["taken_at"] > 0 for e in run.manifest["entries"].values())
    with pytest.raises(UsageError, match="is complete"):
        Collection(store, loaded, DAY, "r")


def test_a_cluster_that_an_earlier_attempt_left_damaged_is_asked_again(tmp_path):
    loaded = fleet("well-1", "well-2")
    [*Collection(tmp_path, loaded, DAY, "r").results(take)]
    (tmp_path / "staging" / "date=2026-03-01" / "run=r" / "clusters" / "well-1.json.gz").write_bytes(b"x")
    again, done = collected(tmp_path, loaded)
    assert (again.there, set(done)) == (("well-2",), {"well-1"})
    assert dict(again.finish().clusters) == {"well-1": 62, "well-2": 62}
    # The partitions of the first attempt are in no table.
    assert DeltaTable(str(tmp_path / "tables" / "partitions")).to_pyarrow_table().num_rows == 124


def test_when_it_is_given_up_nothing_is_written_any_more(tmp_path):
    gate, reached = threading.Event(), threading.Semaphore(0)

    def late(entry):
        reached.release()
        if entry.name != "well-0":
            gate.wait(seconds(20))
        return base().snapshot()

    writer = RunWriter(place_of(tmp_path), DAY, "r")
    results = collect_each(
        fleet("well-0", "late-1", "late-2").inventory.clusters.values(), late, writer.place, concurrency=3
    )
    assert next(results).name == "well-0"
    results.close()
    gate.set()
    for thread in [t for t in threading.enumerate() if t.name.startswith("kfix collect late")]:
        thread.join(seconds(10))
    assert writer.there() == ("well-0",)


def test_the_manifest_keeps_the_contents_of_the_inventory(tmp_path):
    entry = ClusterEntry(
        "well-1", "h:1", "zk:1/k", "secret.properties", "me", ("a", "b"), Criticality.HIGH, Expected(4, 3), 60.0, 3.0,
        (MaintenanceWindow("w", weekdays=frozenset({0, 6}), at=60, minutes=90),
         MaintenanceWindow("o", datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))),
    )  # fmt: skip
    mute = Mute(("well-*",), ("KFX601",), "known", date(2026, 6, 30), "me")
    clusters = {"well-1": entry, "dead-1": replace(entry, name="dead-1")}
    collection, _ = collected(tmp_path, Loaded(Inventory(clusters, (mute,), "fleet.yaml"), "a" * 64))
    run = collection.finish()
    back = recorded_inventory(runs(place_of(tmp_path))[0].manifest)
    assert back == Inventory({n: replace(e, command_config="") for n, e in clusters.items()}, (mute,), "fleet.yaml")
    assert "secret.properties" not in json.dumps(dict(run.manifest))
    said = run.manifest["entries"]["well-1"]
    assert said["taken_at"] == base().snapshot().taken_at
    assert said["brokers"] == len(base().snapshot().addresses)
    assert {"host", "python", "kfix", "seconds", "concurrency"} <= set(run.manifest)
    assert run.manifest["inventory"] == {"origin": "fleet.yaml", "sha256": "a" * 64}


def test_a_run_of_an_older_kfix_gives_plain_entries():
    old = {"clusters": {"b": 1}, "failed": {"a": "x"}}
    assert recorded_inventory(old) == Inventory({"a": ClusterEntry("a"), "b": ClusterEntry("b")})
    with pytest.raises(UsageError, match="is damaged"):
        recorded_inventory({**old, "entries": {"a": {"criticality": "?"}}})


def test_a_partly_read_cluster_is_collected_and_shown_as_such(tmp_path):
    def partly(_):
        return replace(base().snapshot(), sources=(Source("zookeeper", ok=False, error="no answer in time"),))

    collection, _ = collected(tmp_path, fleet("a"), partly)
    assert collection.finish().manifest["entries"]["a"]["silent"] == ["zookeeper"]


def test_a_store_that_takes_nothing_stops_the_run_before_anybody_is_asked(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be reached"):
        Collection(tmp_path / "file", fleet("well-1"), DAY, "r")


@pytest.mark.parametrize("processes", [1, 2])
def test_a_store_that_is_lost_on_the_way_stops_the_run_and_blames_no_cluster(tmp_path, processes):
    collection = Collection(tmp_path, fleet("well-1", "well-2"), DAY, "r")
    # Nobody can make a folder where a file is.
    (tmp_path / "tables").write_text("")
    with pytest.raises(StoreError, match="cannot be reached"):
        [*collection.results(take, processes=processes)]
    (tmp_path / "tables").unlink()
    assert runs(place_of(tmp_path)) == ()
    assert listed(place_of(tmp_path))[0].clusters == 0


def test_a_damaged_run_is_listed_and_hides_no_other(tmp_path):
    collected(tmp_path, fleet("well-1"), run="a")[0].finish()
    collected(tmp_path, fleet("well-1"), run="b")[0].finish()
    [row] = (tmp_path / "tables" / "runs" / "day=2026-03-01" / "run=a").iterdir()
    row.write_text("{")
    (tmp_path / "staging" / "date=never").mkdir()
    found = {r.id: r for r in listed(place_of(tmp_path))}
    assert (found["a"].state, found["b"].state) == ("damaged", "complete")
    assert "is damaged" in found["a"].why
    assert (found["b"].clusters, found["b"].rows) == (1, 62)
    # An older run must not pass for the newest one of a day.
    with pytest.raises(UsageError, match="is damaged"):
        newest_run(place_of(tmp_path))
    assert newest_run(place_of(tmp_path), run="b").id == "b"


def test_a_name_that_is_unfinished_on_two_days_needs_its_date(tmp_path):
    for day in (1, 2):
        RunWriter(place_of(tmp_path), date(2026, 3, day), "r").begin()
    with pytest.raises(UsageError, match="unfinished on 2026-03-01, 2026-03-02"):
        unfinished_day(place_of(tmp_path), "r")


@pytest.mark.parametrize("how", [{"concurrency": 0}, {"concurrency": 1001}, {"processes": 0}])
def test_bounds_are_enforced(tmp_path, how):
    with pytest.raises(UsageError, match="is not between 1 and 1000"):
        collected(tmp_path, fleet("well-1"), **how)
