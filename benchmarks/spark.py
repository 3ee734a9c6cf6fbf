"""Judging a stored fleet on Spark against its floor: DuckDB over the same files, and a bare session.

python -m benchmarks.spark [--rows 1000000] [--runs 3] [--store FOLDER] [--sick 0.01] [--dead-every 5] [--no-settings]

Every measurement is a whole process, start to exit; those of one row are taken in turn in one run. Peak memory is the
largest sum of RSS over the process and its descendants (Java and the Python workers; shared pages count every time).
CPU seconds are those of the same processes, as seen up to 0.1 s before each ended.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from benchmarks.fleet import _AUDIT, _FLOOR, store
from benchmarks.nights import both_nights
from benchmarks.whole import WHOLE, WIDTH, measured

#: Judges a run; "warm" in the settings judges it once before.
SPARK = """
import json, sys, time
from kfix.fleet.engines.opening import engine
from kfix.fleet.judging.case import judge_stored
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run

if __name__ == "__main__":
    place, master, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    with engine(master, settings=settings) as one:
        stored = newest_run(place_of(place)).stored()
        if settings.pop("warm", ""):
            list(one.each(judge_stored, stored))
        began = time.perf_counter()
        done = list(one.each(judge_stored, stored))
        judged = time.perf_counter() - began
    findings, failed = sum(len(d.result.findings) for d in done if d.result), sum(bool(d.error) for d in done)
    print(json.dumps({"judged": judged, "findings": findings, "failed": failed}))
"""
_BARE = """
import json, os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
SparkSession.builder.master(sys.argv[2]).config("spark.ui.enabled", "false").getOrCreate().stop()
print(json.dumps({}))
"""
_QUERY = """
import json, sys, time
import pyarrow as pa
from kfix.fleet.engines.opening import engine
with engine(sys.argv[2], settings=json.loads(sys.argv[3])) as one:
    table = pa.table({"cluster": [f"c{i % 997}" for i in range(200_000)], "n": range(200_000)})
    began = time.perf_counter()
    for _ in range(3):
        one.query("SELECT cluster, count(*) AS k, sum(n) AS s FROM t GROUP BY cluster ORDER BY cluster", {"t": table})
    grouped = time.perf_counter() - began
    began = time.perf_counter()
    one.query("SELECT * FROM t", {"t": table})
    arrow = time.perf_counter() - began
    session = one._session
    frame = session.createDataFrame(table)
    began = time.perf_counter()
    frame.collect()
    print(json.dumps({"grouped": grouped / 3, "arrow": arrow, "rows": time.perf_counter() - began}))
"""
#: The whole command, with history, scores and the report on the terminal; "" is the embedded engine.
_NO_AQE = {"spark.sql.adaptive.enabled": "false"}
_USUAL = (
    "-XX:-UseSerialGC -XX:+UseG1GC -XX:Tier4InvocationThreshold=5000 -XX:Tier4MinInvocationThreshold=600 "
    "-XX:Tier4CompileThreshold=15000 -XX:Tier4BackEdgeThreshold=40000"
)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    given.add_argument("--runs", type=int, default=3)
    given.add_argument("--store", type=Path)
    given.add_argument("--sick", type=float, default=0.001)
    given.add_argument("--dead-every", type=int, default=0)
    given.add_argument("--no-settings", action="store_true")
    asked = given.parse_args()

    with tempfile.TemporaryDirectory(prefix="kfix-spark-bench-") as folder:
        # The first start writes the class archive and is not measured.
        measured(SPARK, store(Path(folder), 10_000, 1), "local[2]", {})
        print("| rows | judged on Spark, s (inside) | floor + bare, s | ratio | command on Spark, s | ratio ", end="")
        print("| pool of 2, s | to floor | command, s | peak MB |\n|---|---|---|---|---|---|---|---|---|---|")
        for rows in asked.rows:
            place = store(asked.store or Path(folder), rows, 2, sick=asked.sick, dead_every=asked.dead_every)
            print(_row(place, rows, asked.runs), flush=True)
        # Of a fleet's nights all but the first have one before them.
        both_nights((max(1, asked.rows[-1] // WIDTH), WIDTH, False), ("", "local[2]"))
        if not asked.no_settings:
            _settings(store(asked.store or Path(folder), asked.rows[0], 2), asked.runs)


def _row(place: Path, rows: int, runs: int) -> str:
    spark, bare, floor, pool, judged, whole, whole_pool = [], [], [], [], [], [], []
    peak = 0.0
    for _ in range(runs):
        took, said = measured(SPARK, place, "local[2]", {})
        spark.append(took)
        judged.append(said["judged"])
        peak = max(peak, said["mb"])
        bare.append(measured(_BARE, place, "local[2]", {})[0])
        floor.append(measured(_FLOOR, place, "2", 0)[0])
        pool.append(measured(_AUDIT, place, "2", 0)[0])
        took, said = measured(WHOLE, place, "local[2]", {})
        whole.append(took)
        peak = max(peak, said["mb"])
        whole_pool.append(measured(WHOLE, place, "", {})[0])
    total, low, start, inside = (statistics.median(x) for x in (spark, floor, bare, judged))
    embedded, command, here = (statistics.median(x) for x in (pool, whole, whole_pool))
    return (
        f"| {rows} | {total:.2f} ({inside:.2f}) | {low:.2f} + {start:.2f} | {total / (low + start):.2f}x"
        f" | {command:.2f} | {command / (low + start):.2f}x | {embedded:.2f} | {embedded / low:.1f}x"
        f" | {here:.2f} | {peak:.0f} |"
    )


def _settings(place: Path, runs: int) -> None:
    print("\n| without | whole, s | with it, s | brings |\n|---|---|---|---|")
    plain = statistics.median(measured(SPARK, place, "local[2]", {})[0] for _ in range(runs))
    for name, settings, env in (
        ("class archive", {}, {"KFIX_SPARK_ARCHIVE": "0"}),
        ("serial collector, slow compiler for hot code only", {"spark.driver.extraJavaOptions": _USUAL}, {}),
    ):
        took = statistics.median(measured(SPARK, place, "local[2]", settings, **env)[0] for _ in range(runs))
        print(f"| {name} | {took:.2f} | {plain:.2f} | {took - plain:+.2f} s |", flush=True)
    said = measured(_QUERY, place, "local[2]", {})[1]
    print(f"| Arrow for a result of 200 000 rows | {said['rows']:.2f} | {said['arrow']:.2f} | ", end="")
    print(f"{said['rows'] - said['arrow']:+.2f} s |")
    for name, settings in (
        ("AQE, one grouped query", _NO_AQE),
        ("AQE and few shuffle partitions", _NO_AQE | {"spark.sql.shuffle.partitions": "200"}),
    ):
        other = measured(_QUERY, place, "local[2]", settings)[1]
        brings = other["grouped"] - said["grouped"]
        print(f"| {name} | {other['grouped']:.2f} | {said['grouped']:.2f} | {brings:+.2f} s |", flush=True)


if __name__ == "__main__":
    main()
