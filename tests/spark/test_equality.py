"""Both engines, the same clusters: the same findings and the same answers, with ANSI on and off."""

from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kfix.adapters.fleet.places import place_of
from kfix.app import fleet as wiring
from kfix.app.fleet import judge_stored
from kfix.fleet.audit.tables import tables
from kfix.fleet.embedded import EmbeddedEngine
from kfix.fleet.stage import LARGE, Staged
from kfix.model.audit.inventory import Inventory, Mute
from tests.unit.fleet.audit_runs import audited, cluster, day_of, entry
from tests.unit.fleet.audit_runs import reported as reported_by

FINDINGS = pa.table(
    {
        "cluster": ["a", "a", "b", "c", "c", "c"],
        "severity": ["critical", "warning", "warning", "critical", "critical", "info"],
        "partitions": pa.array([3, 1, 0, 7, 5, 2], pa.int32()),
        "share": [0.5, 0.25, None, 1.0, 0.125, 0.0],
        "muted": [False, True, False, None, False, False],
        "seen": pa.array([0, 1, 2, 3, 4, 5], pa.timestamp("ms")),
    }
)
OLDER = pa.table({"cluster": ["a", "b"], "codes": [["KFX101"], []], "n": pa.array([1, 2], pa.int16())})
#: The dialect that both read: no quoted names, casts as CAST(), conditions as CASE.
QUESTIONS = (
    """SELECT cluster, count(*) AS n, sum(partitions) AS lost, max(share) AS worst, avg(share) AS mean
    FROM findings GROUP BY cluster ORDER BY cluster""",
    """SELECT severity, count(DISTINCT cluster) AS clusters, sum(CASE WHEN muted THEN 1 ELSE 0 END) AS muted
    FROM findings GROUP BY severity ORDER BY severity""",
    """WITH worst AS (SELECT cluster, sum(partitions) AS lost FROM findings GROUP BY cluster)
    SELECT w.cluster, lost, o.n AS before, lost - coalesce(o.n, 0) AS more,
    row_number() OVER (ORDER BY lost DESC) AS place
    FROM worst w LEFT JOIN older o ON w.cluster = o.cluster ORDER BY lost DESC, w.cluster""",
    "SELECT cluster, codes, n FROM older ORDER BY cluster",
    """SELECT upper(severity) AS s, 1.5 AS d, CAST(NULL AS BIGINT) AS nothing, 2 AS two, seen
    FROM findings ORDER BY seen""",
    "SELECT sum(partitions) AS s, min(severity) AS m, count(*) AS n FROM findings WHERE cluster = 'nobody'",
    """SELECT cluster, CAST(100 - floor(avg(partitions) * 10) AS BIGINT) AS score
    FROM findings GROUP BY cluster ORDER BY score, cluster""",
)


@pytest.fixture(scope="module", params=["true", "false"], ids=["ansi", "no ansi"])
def spark(request, local):
    with wiring.engine("local[2]", settings={"spark.sql.ansi.enabled": request.param}) as engine:
        yield engine


@pytest.mark.parametrize("prevention", [False, True])
def test_every_cluster_is_judged_the_same(spark, run, prevention):
    work = partial(judge_stored, prevention=prevention)
    found = [(d.name, d.result, d.error) for d in spark.each(work, run.tables)]
    assert found == [(d.name, d.result, d.error) for d in EmbeddedEngine(1).each(work, run.tables)]
    assert sum(len([*result.walk()]) for _, result, _ in found) > 20


@pytest.mark.parametrize("sql", QUESTIONS)
def test_every_answer_is_the_same(spark, sql):
    tables = {"findings": FINDINGS, "older": OLDER}
    embedded, found = EmbeddedEngine(1).query(sql, tables), spark.query(sql, tables)
    assert found.schema == embedded.schema
    assert found.to_pylist() == embedded.to_pylist()


def test_files_are_the_same_table(spark, run):
    sql = (
        "SELECT filename, count(*) AS n, sum(CASE WHEN leaderless THEN 1 ELSE 0 END) AS leaderless, max(topic) AS last,"
        " sum(n_isr) AS isr FROM partitions GROUP BY filename ORDER BY filename"
    )
    tables = {"partitions": [*run.tables.values()]}
    embedded, found = EmbeddedEngine(1).query(sql, tables), spark.query(sql, tables)
    assert found.schema == embedded.schema
    assert found.to_pylist() == embedded.to_pylist()
    assert found.column("filename").to_pylist() == sorted(run.tables.values())


def test_odd_names_of_files(spark, tmp_path):
    import pyarrow.parquet as pq

    odd = tmp_path / "date=1" / "ä b%41+[x]*{y}'?.parquet"
    odd.parent.mkdir()
    pq.write_table(pa.table({"a": [1]}), odd)
    newer = tmp_path / "newer.parquet"
    pq.write_table(pa.table({"a": [2], "b": ["new"]}), newer)
    sql = "SELECT a, b, filename FROM t ORDER BY a"
    for given in ([str(odd), str(newer)], [odd.as_uri(), newer.as_uri()]):
        found = spark.query(sql, {"t": given})
        assert found.to_pylist() == EmbeddedEngine(1).query(sql, {"t": given}).to_pylist()
        assert found.column("filename").to_pylist() == [str(odd), str(newer)]


def test_an_empty_table_answers(spark):
    sql = "SELECT count(*) AS n, sum(partitions) AS s FROM findings"
    tables = {"findings": FINDINGS.slice(0, 0)}
    assert spark.query(sql, tables) == EmbeddedEngine(1).query(sql, tables)


def test_audits_over_several_days_are_the_same_with_all_sql_on_spark(spark, tmp_path):
    """New, still, worse, fixed, unknown, mutes, trends, offenders: every statement of the second stage on each."""
    inventory = Inventory(
        {n: entry(n, tags=("prod",)) for n in "abc"},
        (Mute(("a",), ("KFX401",), "being replaced", day_of(9)),),
    )
    told = {}
    for name, engine in (("embedded", EmbeddedEngine(1)), ("spark", spark)):
        root = tmp_path / name
        runs = [
            ([cluster("a", dead=1), cluster("b", sick=0.02), cluster("c")], {}),
            ([cluster("a", 1, dead=1, partitions=900), cluster("b", 1, sick=0.02)], {"c": "no broker answered"}),
            ([cluster("a", 2), cluster("b", 2, sick=0.02), cluster("c", 2, dead=1)], {}),
        ]
        reports = [
            reported_by(
                root, audited(root, clusters, engine, number=number, failed=failed, inventory=inventory), engine
            )
            for number, (clusters, failed) in enumerate(runs)
        ]
        told[name] = [
            (r.findings, r.trend, r.cluster_trends, r.offenders, r.mutes, [replace(c, seconds=0.0) for c in r.clusters])
            for r in reports
        ]
    assert told["spark"] == told["embedded"]
    seen = {f.status for findings, *_ in told["spark"] for f in findings}
    assert seen == {"new", "still", "worse", "fixed", "unknown"}


def test_questions_about_a_store_are_answered_the_same(spark, tmp_path):
    audited(tmp_path, [cluster("a/b", sick=0.02), cluster("x y+z", dead=1)], EmbeddedEngine(1))
    shown = tables(place_of(tmp_path), days=30)
    for sql in (
        (
            "SELECT cluster, day, run, count(*) AS n, sum(partition) AS s FROM partitions "
            "GROUP BY cluster, day, run ORDER BY cluster"
        ),
        "SELECT cluster, key, status, severity, n_partitions FROM findings ORDER BY cluster, key",
        "SELECT cluster, score, risk, collected FROM clusters ORDER BY cluster",
        "SELECT day, run, clusters, partitions FROM runs",
    ):
        here, there = EmbeddedEngine(1).query(sql, shown), spark.query(sql, shown)
        assert (there.schema, there.to_pylist()) == (here.schema, here.to_pylist()), sql


def test_small_second_stages_are_answered_here_and_large_ones_on_spark(spark, tmp_path):
    asked = []

    class Listening:
        name = "near"

        def query(self, sql, tables):
            asked.append("near")
            return EmbeddedEngine(1).query(sql, tables)

    for large, rows, where in ((LARGE, 10, ["near"]), (5, 10, []), (0, 1, [])):
        asked.clear()
        table = pa.table({"n": pa.array(range(rows), pa.int64())})
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(table, path)
        staged = Staged(spark, Listening(), large)
        for given in (table, [str(path)]):
            assert staged.query("SELECT sum(n) AS s FROM t", {"t": given}).to_pylist() == [{"s": sum(range(rows))}]
        assert asked == where * 2
        assert staged.name == spark.name
