"""Snapshot files of isolated networks in a store: a night like any other, with the times at which they were taken."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from kfix.core.errors import UsageError
from kfix.core.inventory.model import Inventory
from kfix.core.saved.files import save
from kfix.fleet.collect.importing import import_files
from kfix.fleet.demo.synthetic import snapshot_of
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.questions.tables import tables
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run, runs
from kfix.fleet.store.staging import RunWriter
from kfix.fleet.store.tables import ALL
from kfix.fleet.upkeep import compact
from kfix.shell.app import app
from tests.each import for_each
from tests.unit.fleet.audit_runs import AT, again, audited, cluster, day_of, entry, reported

NAMED = Inventory({name: entry(name, id=f"id of {name}", owner="plant") for name in ("north", "south")})


def snapshot(name, number=0, *, later=0.0, **more):
    found = snapshot_of(cluster(name, number, partitions=30, **more))
    at = replace(found.cluster, id=f"id of {name}")
    return replace(found, cluster=at, taken_at=AT + 86_400 * number + later)


def saved(folder, name, number=0, **more):
    path = folder / f"{name}-{number}.json.gz"
    save(snapshot(name, number, **more), path)
    return str(path)


def files_of(root):
    return {str(p): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_files_of_several_days_are_runs_of_those_days_and_a_second_import_changes_nothing(tmp_path):
    store, engine = tmp_path / "store", EmbeddedEngine(1)
    given = [saved(tmp_path, "north", n, dead=1, later=60.0 * n) for n in range(2)] + [saved(tmp_path, "south", 1)]
    found = import_files(str(store), given, NAMED)
    assert [(i.run.day, i.added, i.there) for i in found] == [
        (day_of(0), ("north",), ()),
        (day_of(1), ("north", "south"), ()),
    ]
    assert [(i.run.began, i.run.ended) for i in found] == [
        (AT, AT + 0.4),
        (AT + 86_400, AT + 86_460.4),
    ]
    before = files_of(store)
    again_found = import_files(str(store), given, NAMED)
    assert [(i.run, i.added, i.there) for i in again_found] == [(i.run, (), i.added) for i in found]
    assert files_of(store) == before
    for number, each in enumerate(found):
        report = reported(store, again(store, engine, number=number, run=each.run.id, inventory=NAMED), engine)
    assert {c.cluster: (c.owner, c.taken_at) for c in report.clusters} == {
        "north": ("plant", AT + 86_460),
        "south": ("plant", AT + 86_400),
    }
    assert {f.since for f in report.findings if f.code == "KFX302"} == {day_of(0)}
    assert "KFX705" not in {f.code for f in report.findings}


def test_a_collected_night_gets_the_clusters_that_it_could_not_read(tmp_path):
    """The tables are those of a run that collected all of them; what was merged before stays as it is."""
    engine = EmbeddedEngine(1)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    why = {"north": "no route", "far": "no route"}
    for root, names in ((whole, ("north", "west", "south")), (parts, ("west", "south"))):
        failed = {n: w for n, w in why.items() if n not in names}
        audited(root, [], engine, snapshots={n: snapshot(n) for n in names}, failed=failed)
    assert list(compact(place_of(parts)))
    [found] = import_files(str(parts), [saved(tmp_path, "north")], NAMED, run="n")
    assert (found.added, found.run.failed) == (("north",), {"far": "no route"})
    assert newest_run(place_of(parts)).clusters == newest_run(place_of(whole)).clusters
    again(parts, engine)
    one, two = (tables(place_of(root), days=9) for root in (whole, parts))
    own = {"began", "ended", "manifest", "engine", "kfix", "why"}
    for spec in ALL:
        taken = own | ({"seconds"} if spec.name == "clusters" else set())
        names = [f'"{name}"' for name in spec.schema.names if name not in taken]
        sql = f"SELECT {', '.join(names)} FROM {spec.name} ORDER BY ALL"
        assert engine.query(sql, two).to_pylist() == engine.query(sql, one).to_pylist(), spec.name


def test_nothing_that_the_store_has_is_replaced(tmp_path):
    store = str(tmp_path / "store")
    first = saved(tmp_path, "north")
    import_files(store, [first], NAMED, run="n")
    before = files_of(tmp_path / "store")
    save(snapshot("north", later=5.0), tmp_path / "later.json")
    with pytest.raises(UsageError, match="has north already, taken at 2026-03-02 02:00:00 UTC: nothing is replaced"):
        import_files(store, [saved(tmp_path, "south"), str(tmp_path / "later.json")], NAMED, run="n")
    assert files_of(tmp_path / "store") == before


def test_an_import_that_was_killed_is_repeated(tmp_path, monkeypatch):
    store = tmp_path / "store"
    given = [saved(tmp_path, "north"), saved(tmp_path, "south")]
    import_files(str(store), [f"west={saved(tmp_path, 'west')}"], NAMED, run="n")
    with monkeypatch.context() as killed:
        killed.setattr(RunWriter, "_commit", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            import_files(str(store), given, NAMED, run="n")
    assert newest_run(place_of(store)).clusters.keys() == {"west"}
    [found] = import_files(str(store), given, NAMED, run="n")
    assert (found.added, [*found.run.clusters]) == (("north", "south"), ["north", "south", "west"])
    assert len(runs(place_of(store))) == 1


@for_each(
    ("content", "says"),
    [
        (b"Topic: orders Partition: 0", "is not a snapshot file"),
        (b'{"format":"kfix.snapshot","version":1,', "is damaged: invalid JSON"),
        (b'{"format":"kfix.snapshot","version":99}', "this kfix reads up to 1"),
        (b"\x1f\x8b\x08\x00broken", "is damaged"),
        (None, "cannot be read: no such file"),
    ],
)
def test_a_file_that_is_no_snapshot_is_one_line_and_nothing_is_stored(tmp_path, content, says):
    path = tmp_path / "given.json"
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        import_files(str(tmp_path / "store"), [saved(tmp_path, "north"), f"south={path}"], NAMED)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "store").rglob("*.parquet"))


def test_a_snapshot_of_another_cluster_or_time_is_refused(tmp_path):
    store = str(tmp_path / "store")
    north, south, late = (saved(tmp_path, *which) for which in (("north",), ("south",), ("north", 40_000)))
    for given, options, says in (
        ([f"north={south}"], {}, "is of cluster id of south; north is id of north"),
        ([saved(tmp_path, "west")], {}, "the store has no name for cluster id of west"),
        ([north, f"north={north}"], {}, "is a second snapshot of north"),
        ([late], {}, "which has not come yet"),
        ([north], {"day": day_of(1)}, "--date needs --run"),
    ):
        with pytest.raises(UsageError, match=says):
            import_files(store, given, NAMED, **options)
    import_files(store, [north], NAMED, run="n")
    with pytest.raises(UsageError, match="south: was taken at 2026-03-04 02:00:00 UTC, and the run 'n' began at"):
        import_files(store, [saved(tmp_path, "south", 2)], NAMED, run="n", day=day_of(0))


def test_the_command_says_which_run_has_the_snapshots_and_how_to_audit_it(tmp_path):
    store = str(tmp_path / "store")
    words = ["fleet", "import", f"north={saved(tmp_path, 'north')}", "--store", store]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    name = newest_run(place_of(store)).id
    assert done.output == (
        f"run {name} of 2026-03-02: 1 cluster added\n"
        f"  next: kfix audit --collect no --store {store} --date 2026-03-02 --run {name}\n"
    )
    done = CliRunner().invoke(app, [*words, "--json"])
    assert json.loads(done.output) == {
        "imported": [{"run": name, "date": "2026-03-02", "added": [], "already": ["north"]}]
    }
    assert name.startswith(f"{datetime.fromtimestamp(AT, UTC):%H%M%S}-")
    # Its next snapshot needs no name once an audit knows its id.
    again(tmp_path / "store", EmbeddedEngine(1), run=name)
    done = CliRunner().invoke(app, ["fleet", "import", saved(tmp_path, "north", 1), "--store", store])
    assert (done.exit_code, newest_run(place_of(store)).clusters) == (0, {"north": 30})
