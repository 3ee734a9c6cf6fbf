"""What `kfix watch` recorded is in the history with its times: once, however often and in whatever order it is read."""

import json
import shutil
from dataclasses import replace

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from kfix.core.errors import UsageError
from kfix.core.inventory.model import Inventory
from kfix.core.recorder.folder import segments
from kfix.core.recorder.frames import RecordKind, heads
from kfix.core.recorder.ring import Recorder, RingBounds
from kfix.fleet.audit.reading import stored_history
from kfix.fleet.collect import ingesting
from kfix.fleet.collect.ingesting import ingest_rings
from kfix.fleet.demo.synthetic import snapshot_of
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.model.history import HistoryChoice
from kfix.fleet.questions.asking import ask
from kfix.fleet.questions.catalogue import question
from kfix.fleet.questions.tables import tables
from kfix.fleet.store.places import place_of
from kfix.shell.app import app
from tests.unit.fleet.audit_runs import AT, audited, audited_without_scenarios, cluster

EVERY = 15.0
BEGUN = AT + 3600
RECORDS = 24
DAY = 86_400


def taken(number):
    """The cluster at a snapshot of the watch: each time one of five partitions has lost or regained a replica."""
    found = snapshot_of(cluster("a", partitions=30))
    states = dict(found.zookeeper.states)
    for step in range(1, number + 1):
        tp = sorted(states)[step % 5]
        state, replicas = states[tp], found.zookeeper.assignments[tp].replicas
        isr = replicas[:2] if len(state.isr) == 3 else replicas
        written = round((BEGUN + EVERY * step - 7) * 1000)
        states[tp] = state._replace(isr=isr, version=state.version + 1, mzxid=900_000 + step, mtime_ms=written)
    zookeeper = replace(found.zookeeper, states=states)
    return replace(found, taken_at=BEGUN + EVERY * number, zookeeper=zookeeper)


def leaderless(number):
    """The cluster at a snapshot of the watch: from the fifth to the tenth one partition has no leader."""
    found = snapshot_of(cluster("a", partitions=30))
    states = dict(found.zookeeper.states)
    tp = min(states)
    for at, leader in ((4, -1), (10, states[tp].leader)):
        if number >= at:
            now, written = states[tp], round((BEGUN + EVERY * at - 7) * 1000)
            states[tp] = now._replace(
                leader=leader,
                leader_epoch=now.leader_epoch + 1,
                version=now.version + 1,
                mzxid=900_000 + at,
                mtime_ms=written,
            )
    return replace(found, taken_at=BEGUN + EVERY * number, zookeeper=replace(found.zookeeper, states=states))


def record(folder, count=RECORDS, *, first=0, steps=(), of=taken):
    """Records snapshots; the clock of the host is set by `steps`, {number of the snapshot: seconds}."""
    now = [0.0, 0.0]
    recorder = Recorder(folder, RingBounds(10_000_000, 24.0), clock=lambda: now[1], wall=lambda: now[0])
    for number in range(first, first + count):
        shift = sum(seconds for at, seconds in dict(steps).items() if at <= number)
        snapshot = of(number)
        now[:] = [snapshot.taken_at + shift, snapshot.taken_at]
        assert recorder.store(replace(snapshot, taken_at=snapshot.taken_at + shift))
    recorder.close()
    return folder


@pytest.fixture
def ring(tmp_path):
    return record(tmp_path / "ring")


def ingest(root, ring, name="a"):
    [found] = ingest_rings(str(root), [f"{name}={ring}"], Inventory())
    return found


def rows_of(root):
    rows = DeltaTable(str(root / "tables" / "partition_changes")).to_pyarrow_table().to_pylist()
    return sorted(str({k: v for k, v in row.items() if k != "run"}) for row in rows)


def history_of(root):
    found = tables(place_of(root), days=30)
    sql = "SELECT * FROM partition_history ORDER BY topic, partition, valid_from"
    return EmbeddedEngine(1).query(sql, {n: found[n] for n in ("partition_changes", "partition_history")}).to_pylist()


def log_of(root):
    return sorted(p.name for p in (root / "tables" / "partition_changes" / "_delta_log").iterdir())


def test_each_recorded_change_is_one_row_with_the_time_of_its_record(tmp_path, ring):
    found = ingest(tmp_path / "store", ring)
    assert (found.snapshots, found.added, found.there, found.problems) == (RECORDS, 30 + RECORDS - 1, 0, ())
    changed = [row for row in history_of(tmp_path / "store") if row["why"] == "isr"]
    assert sorted(row["valid_from"].timestamp() for row in changed) == [
        BEGUN + EVERY * n - 7 for n in range(1, RECORDS)
    ]
    assert all(row["valid_from_after"] == row["valid_from"] for row in changed)
    ended = [row for row in changed if row["valid_to"] is not None]
    assert {(row["valid_to"] - row["valid_from"]).total_seconds() for row in ended} == {5 * EVERY}


def test_a_ring_that_is_read_again_changes_nothing(tmp_path, ring):
    root = tmp_path / "store"
    ingest(root, ring)
    rows, log = rows_of(root), log_of(root)
    again = ingest(root, shutil.copytree(ring, tmp_path / "copy"))
    assert (again.added, rows_of(root), log_of(root)) == (0, rows, log)


def test_a_ring_that_is_read_while_it_grows_is_as_if_read_once(tmp_path, ring, monkeypatch):
    monkeypatch.setattr(ingesting, "_SMALL_FILES", 3)
    once, often, growing = tmp_path / "once", tmp_path / "often", tmp_path / "growing"
    for number in range(0, RECORDS, 4):
        record(growing, 4, first=number)
        ingest(often, growing)
    ingest(once, growing)
    assert rows_of(often) == rows_of(once)
    # Those of the day, and one of the day before, when the first states were written.
    assert len(DeltaTable(str(often / "tables" / "partition_changes")).file_uris()) <= 3 + 1


def test_a_ring_that_is_half_written_is_read_up_to_its_last_whole_record(tmp_path, ring):
    [segment] = segments(ring)
    whole = segment.read_bytes()
    ends = [head.end for head in heads(whole) if head.kind is not RecordKind.REMARK]
    for kept in (1, 7, RECORDS - 1):
        for more in (0, 1, 30):
            torn = tmp_path / f"torn {kept} {more}"
            shutil.copytree(ring, torn)
            segments(torn)[0].write_bytes(whole[: ends[kept - 1] + more])
            root = tmp_path / f"store {kept} {more}"
            assert ingest(root, torn).added == 30 + kept - 1
    assert ingest(root, ring).added == 1


@pytest.mark.parametrize("order", ["ring last", "ring first", "ring between"])
def test_a_change_that_an_audit_saw_too_counts_once_whoever_comes_first(tmp_path, ring, order):
    engine, root = EmbeddedEngine(1), tmp_path / "store"
    nights = [replace(taken(0), taken_at=AT), replace(taken(RECORDS - 1), taken_at=AT + DAY)]
    if order == "ring first":
        ingest(root, ring)
    audited(root, [], engine, snapshots={"a": nights[0]})
    if order == "ring between":
        ingest(root, ring)
    audited(root, [], engine, number=1, snapshots={"a": nights[1]})
    if order == "ring last":
        ingest(root, ring, "a")
    history = history_of(root)
    changed = [row for row in history if row["why"] != "first"]
    assert len(changed) == RECORDS - 1
    assert sum(row["valid_to"] is None for row in history) == 30
    [churn] = stored_history(place_of(root), engine, HistoryChoice(), days=30).churn
    assert churn.isr == pytest.approx(RECORDS - 1)


@pytest.mark.parametrize("audit_sees", [0, 7])
def test_an_outage_between_two_audits_has_its_seconds_and_counts_once(tmp_path, audit_sees):
    engine, root = EmbeddedEngine(1), tmp_path / "store"
    nights = [replace(leaderless(0), taken_at=AT), leaderless(audit_sees), replace(leaderless(20), taken_at=AT + DAY)]
    for number, night in enumerate(nights if audit_sees else nights[::2]):
        audited(root, [], engine, number=number, snapshots={"a": night})
    ingest(root, record(tmp_path / "ring", of=leaderless))
    [times] = ask(place_of(root), engine, question("leaderless-times"), days=30).rows.to_pylist()
    assert [times[name] for name in ("outages", "open", "mean_least", "longest_most")] == [1, 0, 6 * EVERY, 6 * EVERY]
    [moves] = ask(place_of(root), engine, question("moving-leaders"), days=30).rows.to_pylist()
    assert moves["times"] == 2


def test_an_outage_that_is_older_than_the_days_asked_is_still_open(tmp_path):
    engine, root = EmbeddedEngine(1), tmp_path / "store"
    for number in range(3):
        night = replace(leaderless(7 if number else 0), taken_at=AT + number * DAY)
        audited_without_scenarios(root, [], engine, number=number, snapshots={"a": night})
    [times] = ask(place_of(root), engine, question("leaderless-times"), days=1).rows.to_pylist()
    assert (times["outages"], times["open"], times["last_began"]) == (1, 1, None)


def test_without_the_ring_only_the_last_state_of_a_day_is_known(tmp_path):
    engine, root = EmbeddedEngine(1), tmp_path / "store"
    for number, night in enumerate((replace(taken(0), taken_at=AT), replace(taken(RECORDS - 1), taken_at=AT + DAY))):
        audited(root, [], engine, number=number, snapshots={"a": night})
    assert len([row for row in history_of(root) if row["why"] != "first"]) == 5


def test_a_clock_that_is_set_while_the_watch_records_adds_no_change_twice(tmp_path):
    root, growing = tmp_path / "store", tmp_path / "growing"
    steps = {12: -7200.0}
    record(growing, 12)
    first = ingest(root, growing)
    record(growing, 12, first=12, steps=steps)
    then = ingest(root, growing)
    assert (first.added, then.added) == (30 + 11, 12)
    assert ingest(root, growing).added == 0


def test_the_command_says_what_it_added_and_needs_a_name(tmp_path, ring):
    words = ["fleet", "ingest", "--store", str(tmp_path / "store")]
    done = CliRunner().invoke(app, [*words, f"a={ring}"])
    assert (done.exit_code, done.stdout) == (
        0,
        f"a: {RECORDS} snapshots, {30 + RECORDS - 1} changes of partitions added\n",
    )
    done = CliRunner().invoke(app, [*words, "--json", f"a={ring}"])
    told = {"cluster": "a", "snapshots": RECORDS, "added": 0, "already": RECORDS - 1}
    assert json.loads(done.stdout) == {"ingested": [told]}
    with pytest.raises(UsageError, match="the store has no name for cluster a"):
        ingest_rings(str(tmp_path / "store"), [str(ring)], Inventory())
    with pytest.raises(UsageError, match="holds no recording"):
        ingest_rings(str(tmp_path / "store"), [f"a={tmp_path / 'store'}"], Inventory())
