"""Both engines, the same clusters: the same findings and the same answers, with ANSI on and off."""

from collections import Counter
from dataclasses import replace
from functools import partial

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pytest
from deltalake import DeltaTable

from kfix.core.criteria import Criteria
from kfix.core.inventory.model import Inventory, Mute
from kfix.fleet.audit.scenario_sql import EVERY_TOTAL, HITS, LOST_TOPICS
from kfix.fleet.demo.synthetic import fleet, snapshot_of
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.history import recording_sql
from kfix.fleet.judging.case import judge_stored
from kfix.fleet.questions.tables import tables
from kfix.fleet.store.history_tables import PARTITION_CHANGES, TRANSITIONS
from kfix.fleet.store.places import place_of
from kfix.fleet.store.staging import RunWriter
from kfix.fleet.store.tables import ALL, QUORUM
from kfix_diagnostics.engine import diagnose
from kfix_spark import engine as spark_engine
from kfix_spark.engine import _fresh
from tests.unit.diagnostics.all_cases import kraft_cases
from tests.unit.fleet.asked.planted import PlantedFleet
from tests.unit.fleet.audit_runs import AT, again, audited, cluster, day_of, entry
from tests.unit.fleet.audit_runs import reported as reported_by
from tests.unit.fleet.engines.test_embedded import by_url, written

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


#: A quorum that is at risk, one that is lost, so that most of it is unknown, and a whole one.
QUORUMS = ("KFX811-sick-0", "KFX812-sick-0", "KFX813-well-0")
#: For tests that take long: Spark's own setting, which is the stricter one.
ONLY_ANSI = pytest.mark.parametrize("spark", ["true"], ids=["ansi"], indirect=True)


@pytest.mark.parametrize("prevention", [False, True])
def test_every_cluster_is_judged_the_same(spark, run, snapshots, prevention):
    """With ZooKeeper and on KRaft: as by the embedded engine, and as the snapshot itself, which was never stored."""
    work = partial(judge_stored, criteria=Criteria(prevention=prevention))
    found = [(d.name, d.result, d.error) for d in spark.each(work, run.stored())]
    assert found == [(d.name, d.result, d.error) for d in EmbeddedEngine(1).each(work, run.stored())]
    assert {error for *_, error in found} == {""}
    by_name = {name: result for name, result, _ in found}
    for name, snapshot in snapshots.items():
        assert by_name[name] == diagnose(snapshot, criteria=Criteria(prevention=prevention)), name
    assert sum(len([*result.walk()]) for _, result, _ in found) > 20


@ONLY_ANSI
def test_every_case_of_the_catalogue_on_kraft_is_judged_the_same(spark, tmp_path):
    writer = RunWriter(place_of(tmp_path), day_of(0), "r")
    for name, snapshot in kraft_cases().items():
        writer.write(name, snapshot)
    found = {d.name: d.value() for d in spark.each(judge_stored, writer.finish().stored())}
    assert found == {n: diagnose(snapshot, criteria=Criteria(prevention=True)) for n, snapshot in kraft_cases().items()}
    codes = {finding.code for result in found.values() for finding in result.walk()}
    # What only KRaft has, all of it.
    assert codes >= {"KFX118", "KFX119", "KFX120", "KFX405", "KFX504", *(f"KFX81{n}" for n in "12345679")}


@pytest.mark.parametrize("sql", QUESTIONS)
def test_every_answer_is_the_same(spark, sql):
    tables = {"findings": FINDINGS, "older": OLDER}
    embedded, found = EmbeddedEngine(1).query(sql, tables), spark.query(sql, tables)
    assert found.schema == embedded.schema
    assert found.to_pylist() == embedded.to_pylist()


def test_files_are_the_same_table(spark, run, asked):
    sql = (
        "SELECT cluster, day, run, count(*) AS n, sum(CASE WHEN leaderless THEN 1 ELSE 0 END) AS leaderless,"
        " max(topic) AS last, sum(n_isr) AS isr FROM partitions GROUP BY cluster, day, run ORDER BY cluster"
    )
    embedded, found = EmbeddedEngine(1).query(sql, asked), spark.query(sql, asked)
    assert found.schema == embedded.schema
    assert found.to_pylist() == embedded.to_pylist()
    assert found.column("cluster").to_pylist() == sorted(run.clusters)


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """A store with two runs on each of two days, one of them repeated: what it replaced is in none of the tables."""
    root, engine = tmp_path_factory.mktemp("repeated"), EmbeddedEngine(1)
    quorums = {name: kraft_cases()[name] for name in QUORUMS} | {"facts": PlantedFleet().beta(0).snapshot()}
    for number in range(2):
        clusters = [cluster("a/b", number, sick=0.02), cluster("x y+z%41", number, dead=number, deaths=number)]
        for hour, run in enumerate(("n", "1e3")):
            failed = {"gone": "no answer"}
            audited(root, clusters, engine, number=number, failed=failed, run=run, snapshots=quorums, hour=hour)
    again(root, engine, number=1, run="n")
    return root


@ONLY_ANSI
@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.name)
def test_every_reader_counts_the_same_rows(spark, repeated, spec):
    """deltalake's own reader, pyarrow and DuckDB over the files that the log names, and Spark, with kfix and bare."""
    shown = {spec.name: tables(place_of(repeated), days=30, snapshots=99)[spec.name]}
    table = DeltaTable(str(repeated / "tables" / spec.name))
    files = table.file_uris()
    whole = table.to_pyarrow_table()
    if spec is QUORUM:
        names = ("answered", "error", "epoch", "behind", "fetched_seconds")
        assert {name for name in names if whole.column(name).null_count not in {0, whole.num_rows}} == {*names}
    counted = Counter(zip(whole["day"].to_pylist(), whole["run"].to_pylist(), strict=True))
    every = {(day_of(number), run) for number in range(2) for run in ("n", "1e3")}
    # Only the first run of day 1 differs from the run before it, and the first of all is compared with none.
    runs = {TRANSITIONS: 1, PARTITION_CHANGES: 2}.get(spec, len(every))
    assert set(counted) <= every
    assert len(counted) == runs, spec.name
    dataset = pa.dataset.dataset(files, partitioning=HIVE, schema=spec.schema)
    assert dataset.count_rows() == whole.num_rows
    read = f"read_parquet({files!r}, hive_partitioning=true, hive_types={{day: DATE, run: VARCHAR}})"
    by_duckdb = duckdb.sql(f"SELECT day, run, count(*) FROM {read} GROUP BY ALL").fetchall()
    assert {(day, run): n for day, run, n in by_duckdb} == counted
    bare = _fresh(spark._session).read.option("basePath", str(repeated / "tables" / spec.name)).parquet(*files)
    rows = bare.select("day", "run").collect()
    assert {(str(r["day"]), str(r["run"])) for r in rows} >= {(str(day), run) for day, run in counted if run == "n"}
    assert len(rows) == whole.num_rows
    ours, theirs = (e.query(f"SELECT * FROM {spec.name}", shown).to_pylist() for e in (EmbeddedEngine(1), spark))
    assert Counter((r["day"], r["run"]) for r in ours) == counted, spec.name
    assert sorted(map(repr, theirs)) == sorted(map(repr, ours))


HIVE = pa.dataset.partitioning(pa.schema([("day", pa.date32()), ("run", pa.string())]), flavor="hive")


@pytest.mark.parametrize("folder", ["plain", "date=1", "ä b%41+[x]*{y}'?"])
def test_odd_names_of_files(spark, tmp_path, folder):
    stored = written(
        tmp_path / folder,
        {
            ("01", "r", "ä b%41+[x]*{y}'?.parquet"): pa.table({"a": [1]}),
            ("02", "1", "newer.parquet"): pa.table({"a": [2], "b": ["new"]}),
        },
    )
    sql = "SELECT a, b, c, day, run FROM t ORDER BY a"
    for rows in (stored, by_url(stored)):
        given = {"t": rows}
        found = spark.query(sql, given)
        assert found.schema == EmbeddedEngine(1).query(sql, given).schema
        assert found.to_pylist() == EmbeddedEngine(1).query(sql, given).to_pylist()
        assert [(r["a"], r["b"], r["c"], r["day"].day, r["run"]) for r in found.to_pylist()] == [
            (1, None, None, 1, "r"),
            (2, "new", None, 2, "1"),
        ]


def test_an_empty_table_answers(spark):
    sql = "SELECT count(*) AS n, sum(partitions) AS s FROM findings"
    tables = {"findings": FINDINGS.slice(0, 0)}
    assert spark.query(sql, tables) == EmbeddedEngine(1).query(sql, tables)


@ONLY_ANSI
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


@ONLY_ANSI
def test_every_table_of_a_second_night_is_the_same_and_no_row_of_it_passes_through_the_driver(spark, tmp_path):
    """One broker of each cluster was restarted meanwhile, one cluster has another name, one topic was created again."""
    roots = {name: tmp_path / name for name in ("embedded", "spark")}
    told = {}
    for name, engine in (("embedded", EmbeddedEngine(1)), ("spark", DriverWithoutRows(spark))):
        for number in range(2):
            several = [replace(c, day_number=number, deaths=2 * number) for c in fleet(6, 300, sick=0.01, dead_every=3)]
            renamed = replace(snapshot_of(several.pop()), taken_at=day_seconds(number))
            ids = {topic: f"{topic} {number}" for topic in list(renamed.zookeeper.topics_created)[:1]}
            report = reported_by(
                roots[name],
                audited(
                    roots[name],
                    several,
                    engine,
                    number=number,
                    snapshots={
                        f"called {number}": replace(renamed, topic_ids=ids),
                        "facts": replace(PlantedFleet().beta(0).snapshot(), taken_at=day_seconds(number)),
                    },
                ),
                engine,
            )
        told[name] = (report.findings, report.trend, report.cluster_trends, report.history, report.scenarios)
    assert told["spark"] == told["embedded"]
    shown = {name: tables(place_of(root), days=30, snapshots=9) for name, root in roots.items()}
    own = {"began", "ended", "manifest", "engine", "seconds", "taken_at"}
    for spec in ALL:
        kept = [f'"{column}"' for column in spec.schema.names if column not in own]
        sql = f"SELECT {', '.join(kept)} FROM {spec.name} ORDER BY ALL"
        rows = {name: EmbeddedEngine(1).query(sql, tables_).to_pylist() for name, tables_ in shown.items()}
        assert rows["spark"] == rows["embedded"], spec.name
        assert rows["spark"] or spec is QUORUM, spec.name
    kinds = {(r["kind"], r["cluster"]) for r in rows_of(shown["spark"], TRANSITIONS)}
    kinds |= {(r["why"], r["cluster"]) for r in rows_of(shown["spark"], PARTITION_CHANGES)}
    assert {kind for kind, _ in kinds} >= {"first", "leader", "isr", "restart", "recreated"}
    assert "called 0" not in {name for _, name in kinds}


class DriverWithoutRows:
    """Spark as an engine of which this process asks no rows of these tables, and no failures."""

    def __init__(self, engine):
        self._engine = engine

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def query(self, sql, given):
        writes = (recording_sql.TRANSITIONS, recording_sql.EPISODES, EVERY_TOTAL, HITS, LOST_TOPICS)
        assert not sql.startswith(writes)
        return self._engine.query(sql, given)


def day_seconds(number):
    return AT + 86_400 * number


def rows_of(shown, spec):
    return EmbeddedEngine(1).query(f"SELECT * FROM {spec.name}", shown).to_pylist()


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


def test_small_statements_are_answered_here_and_large_ones_on_spark(spark, tmp_path, monkeypatch):
    asked = []

    class Listening:
        def query(self, sql, tables):
            asked.append("near")
            return EmbeddedEngine(1).query(sql, tables)

    monkeypatch.setattr(spark, "_small", Listening())
    for large, rows, where in ((spark_engine.LARGE, 10, ["near"]), (5, 10, []), (0, 1, [])):
        asked.clear()
        monkeypatch.setattr(spark_engine, "LARGE", large)
        table = pa.table({"a": pa.array(range(rows), pa.int64())})
        stored = written(tmp_path / str(rows), {("01", "r", "x.parquet"): table})
        for given in (table, stored):
            assert spark.query("SELECT sum(a) AS s FROM t", {"t": given}).to_pylist() == [{"s": sum(range(rows))}]
        assert asked == where * 2
