"""Tasks of Spark judge, compare and write: the store is as if the embedded engine had done it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

import kfix_spark.engine
from kfix.core.inventory.model import Inventory, Mute
from kfix.fleet.audit import judged
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.model.audit import ClusterRow, FindingRow
from kfix.fleet.store.audits import audits, read_rows
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.history_tables import PARTITION_CHANGES
from kfix.fleet.store.places import place_of
from kfix.fleet.store.staging import RunTable
from kfix.fleet.store.tables import AUDITED, FINDINGS
from tests.unit.fleet.audit_runs import again, audited, cluster, day_of, entry

NAMES = "abcdefgh"
INVENTORY = Inventory({name: entry(name) for name in NAMES}, (Mute(("a",), ("KFX401",), "being replaced", day_of(9)),))


def clusters(number):
    return [cluster(n, number, sick=0.01 * (i % 3), dead=(i + number) % 2) for i, n in enumerate(NAMES[: 8 - number])]


def stored(root):
    """The rows of the last audit, without what measures time."""
    last = audits(place_of(root))[-1]
    cards = [replace(card, seconds=0.0) for card in read_rows(ClusterRow, last)]
    findings = sorted(read_rows(FindingRow, last), key=lambda f: (f.cluster, f.key))
    return findings, cards, [m.covers for m in last.mutes]


@pytest.fixture
def stores(tmp_path):
    """Two stores with the same two runs, the first of them audited."""
    roots = [tmp_path / "here", tmp_path / "spark"]
    for root in roots:
        audited(root, clusters(0), EmbeddedEngine(1), inventory=INVENTORY)
    return roots


def second(root, engine):
    return audited(root, clusters(1), engine, number=1, failed={"h": "no broker answered"}, inventory=INVENTORY)


def test_tasks_judge_compare_and_write_as_without_spark(local, stores, monkeypatch):
    here, there = stores
    monkeypatch.setattr(judged, "_ROWS_A_TASK", 600)
    found = second(there, local)
    monkeypatch.undo()
    second(here, EmbeddedEngine(1))
    assert stored(there) == stored(here)
    files = StoreTable(place_of(there), FINDINGS).files(lambda day, _: day == found.day)
    # Two clusters a task; the process of the audit adds what is about the fleet, and the cluster that was not read.
    assert len(files) == 5
    assert ("a", "b") in [file.clusters for file in files]
    assert {f.status for f in read_rows(FindingRow, found)} == {"new", "still", "fixed", "worse", "unknown"}


def rows_of(root, spec, day):
    table = DeltaTable(str(root / "tables" / spec.name)).to_pyarrow_table(filters=[("day", "=", day)])
    return sorted(str({k: v for k, v in row.items() if k != "seconds"}) for row in table.to_pylist())


def writes_nothing(table, batches):
    assert sum(batch.num_rows for batch in batches) == 0, table.spec.name
    return ()


def test_after_restarts_executors_write_what_changed(local, tmp_path, monkeypatch):
    """One broker of each cluster was restarted: a third of all partitions changed, and none passes through here."""
    roots = [tmp_path / "here", tmp_path / "spark"]
    for root, engine in zip(roots, (EmbeddedEngine(1), local), strict=True):
        audited(root, [cluster(n, partitions=600) for n in NAMES[:4]], EmbeddedEngine(1))
        if engine is local:
            monkeypatch.setattr(kfix_spark.engine, "_ROWS_A_PART", 1000)
            monkeypatch.setattr(judged, "_ROWS_A_TASK", 1000)
            monkeypatch.setattr(RunTable, "__call__", writes_nothing)  # This process writes no changes.
        audited(root, [cluster(n, 1, partitions=600, deaths=2) for n in NAMES[:4]], engine, number=1)
    for spec in AUDITED[:-1]:
        here, there = (rows_of(root, spec, day_of(1)) for root in roots)
        assert here == there, spec.name
    files = StoreTable(place_of(roots[1]), PARTITION_CHANGES).files(lambda day, _: day == day_of(1))
    assert len(files) == 4
    assert sum(file.rows for file in files) > 4 * 250


def test_a_damaged_earlier_audit_is_left_out_as_without_spark(local, stores):
    for root in stores:
        [file] = StoreTable(place_of(root), FINDINGS).files()
        whole = Path(file.place.path).read_bytes()
        # The columns of the footer can be read, the rows cannot.
        Path(file.place.path).write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
    here, there = stores
    damaged = [second(here, EmbeddedEngine(1)).manifest["damaged"], second(there, local).manifest["damaged"]]
    assert stored(there) == stored(here)
    assert all(len(each) == 1 and "is damaged" in each[0] for each in damaged)
    assert {f.status for f in stored(there)[0]} == {"new"}


class Dying(judged.JudgeClusters):
    def __call__(self, part):
        if any(each.cluster == "c" for each in part):
            os._exit(1)
        return judged.JudgeClusters.__call__(self, part)


def test_a_cluster_that_ends_its_process_is_not_judged_and_the_others_are(local, stores, monkeypatch):
    monkeypatch.setattr(judged, "JudgeClusters", Dying)
    monkeypatch.setattr(judged, "_ROWS_A_TASK", 600)
    found = [second(root, engine) for root, engine in zip(stores, (EmbeddedEngine(2), local), strict=True)]
    here, there = stores
    assert stored(there) == stored(here)
    assert [[*audit.manifest["not_read"]] for audit in found] == [["c", "h"]] * 2
    assert {f.status for f in read_rows(FindingRow, found[1]) if f.cluster == "c" and f.code != "KFX701"} == {"unknown"}


def test_an_audit_that_is_repeated_replaces_its_files(local, stores):
    _, there = stores
    second(there, local)
    before = stored(there)
    again(there, local, number=1, inventory=INVENTORY)
    findings, cards, mutes = stored(there)
    # What was reported once is not news again, and no row is there twice.
    assert len(findings) == len({(f.cluster, f.key) for f in findings})
    assert (findings, cards, mutes) == before
