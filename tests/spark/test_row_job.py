"""Spark judges a run as the embedded engine does, and a damaged file spoils its own cluster only."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kfix.core.criteria import EXPECTED, Criteria, Expected
from kfix.core.derive.partition_facts import NEWER
from kfix.fleet.compacting import compact
from kfix.fleet.embedded import EmbeddedEngine
from kfix.fleet.engine import ClusterJob
from kfix.fleet.judging.tasks import ANSWERS, JudgeTask, RowJudge, done_of, tasks_table
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import read_run
from kfix.fleet.wiring import judge_for_audit

SEEN = pa.schema([("cluster", pa.string())])


def dying(row):
    import os

    if row["cluster"].endswith("3"):
        os._exit(1)
    return pa.RecordBatch.from_pylist([{"cluster": row["cluster"]}], schema=SEEN)


def tasks_of(run, expected: Mapping[str, Expected] | None = None):
    return {
        name: JudgeTask(name, stored, run.day, Criteria(expected=(expected or {}).get(name, EXPECTED)))
        for name, stored in run.stored().items()
    }


def job_of(tasks, work, schema):
    return ClusterJob(tasks_table(tasks.values()), work, schema, tuple(schema.names))


def answers_of(engine, job):
    """All answers as dictionaries; None if the engine has none."""
    with engine.over_rows(lambda: job) as found:
        return None if found is None else found.summary.to_pylist()


def never_stuck(now, before):
    return ()


def judged_by(engine, tasks):
    found = answers_of(engine, job_of(tasks, RowJudge(judge_for_audit, never_stuck), ANSWERS))
    return {done.name: (done.result, done.error) for done in map(done_of, found)}


def judged_here(tasks):
    return {done.name: (done.result, done.error) for done in EmbeddedEngine(1).each(judge_for_audit, tasks)}


@pytest.fixture
def copied(run, tmp_path):
    return read_run(place_of(shutil.copytree(run.root.path, tmp_path / "store")), run.day, run.id)


@pytest.fixture
def expected(run):
    return {name: Expected(3 + i % 3, 2 + i % 2) for i, name in enumerate(run.clusters)}


def test_the_answers_are_those_of_the_embedded_engine(local, run, expected):
    tasks = tasks_of(run, expected)
    assert judged_by(local, tasks) == judged_here(tasks)


def test_rows_of_merged_files_are_numbered_by_cluster(local, copied):
    list(compact(copied.root))
    tasks = tasks_of(copied)
    assert len({task.stored.partitions for task in tasks.values()}) < len(tasks)
    assert judged_by(local, tasks) == judged_here(tasks)


def rewritten(path, change):
    table = change(pq.read_table(path, partitioning=None))
    pq.write_table(table, path, store_schema=False)


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: Path(path).write_bytes(Path(path).read_bytes()[:-100]),
        lambda path: Path(path).unlink(),
        lambda path: rewritten(path, lambda t: t.drop_columns(["leaderless"])),
        lambda path: rewritten(path, lambda t: t.slice(1)),
        lambda path: rewritten(
            path, lambda t: t.set_column(t.schema.get_field_index("n_isr"), "n_isr", pa.nulls(len(t), pa.int64()))
        ),
        lambda path: rewritten(
            path, lambda t: t.set_column(t.schema.get_field_index("n_isr"), "n_isr", pa.array(["2"] * len(t)))
        ),
    ],
    ids=["cut", "gone", "no column", "a row less", "no value", "other type"],
)
def test_a_damaged_file_spoils_its_own_cluster_only(local, copied, harm):
    tasks = dict([*tasks_of(copied).items()][:5])
    name = [*tasks][2]
    harm(tasks[name].stored.partitions)
    found, here = judged_by(local, tasks), judged_here(tasks)
    assert found == here
    assert "partitions" in found[name][1]
    assert [n for n, (_, error) in found.items() if error] == [name]


def test_a_file_that_is_older_than_a_fact_is_judged_by_the_fact_that_it_has_instead(local, copied):
    tasks, names = tasks_of(copied), [*NEWER]
    now = judged_here(tasks)
    for task in tasks.values():
        rewritten(task.stored.partitions, lambda table: table.drop_columns(names))
    here = judged_here(tasks)
    assert judged_by(local, tasks) == here
    # Which log directories had failed, nothing else shows.
    assert {name for name in now if here[name] != now[name]} == {name for name in now if name.startswith("KFX406-sick")}


def test_a_job_that_loses_a_process_gives_no_answer(local, run):
    assert answers_of(local, job_of(tasks_of(run), dying, SEEN)) is None
