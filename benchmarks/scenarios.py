"""Failures of a fleet on Spark against DuckDB: the same statement over the same bitmasks, in turn in one process.

python -m benchmarks.scenarios [--clusters 50] [--partitions 10000] [--runs 3] [--cores 2]

Every partition is crossed with every failure of its cluster (each broker, pair and rack) and judged by the rules of
`kfix.core.failures.rules`: no state is skipped, equal partitions are not judged together. A core second is
a second of CPU time, so that other work on the machine counts little. The last line is what an
audit does instead: it judges distinct states, and only those that a failure concerns. One run of each comes first and
is not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kfix.core.failures.masks import MOST_REPLICAS
from kfix.core.failures.rules import FORMULAS
from kfix.fleet.audit.scenario_sql import EVERY_FAILURE, JUDGED_RULES, STATE_COLUMNS, TODAY_RULES, today
from kfix.fleet.audit.scenarios import RunScenarios
from kfix.fleet.demo.synthetic import fleet, write_fleet
from kfix.fleet.engines.engine import Engine
from kfix.fleet.engines.opening import engine
from kfix.fleet.store.delta import TableFile
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import Run
from kfix.fleet.store.stored import StoredRows

_DAY, _RUN = date(2026, 1, 1), "r"
_MASKS = f"""
SELECT c.number, {", ".join(f"s.{name}" for name in STATE_COLUMNS)}
FROM partitions p JOIN partition_states s ON s.cluster = p.cluster AND s.state = p.state
JOIN (SELECT cluster, ROW_NUMBER() OVER (ORDER BY cluster) AS number FROM snapshots) c ON c.cluster = p.cluster
ORDER BY p.cluster, p.topic, p.partition
"""
_FAILURES = f"""
WITH {EVERY_FAILURE}
SELECT c.number, ROW_NUMBER() OVER (ORDER BY f.cluster, f.kind, f.name) AS failure, f.down,
       (c.controller_bit & f.down) <> 0 AS new_controller
FROM failures f
JOIN (SELECT *, ROW_NUMBER() OVER (ORDER BY cluster) AS number FROM snapshots) c ON c.cluster = f.cluster
"""
_STATES = f"""(
  SELECT /*+ BROADCAST(f) */ f.failure, f.down, f.new_controller, s.*
  FROM {today("masks")} s JOIN failures f ON f.number = s.number
)"""
_KEYS = ", ".join(("failure", *JUDGED_RULES))
CROSSED = f"""
SELECT {_KEYS}, COUNT(*) AS n FROM {FORMULAS.select(_STATES, JUDGED_RULES, MOST_REPLICAS, TODAY_RULES)} AS judged
GROUP BY {_KEYS}
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="kfix-bench-") as folder,
        engine(processes=given.cores) as duck,
        engine(f"local[{given.cores}]") as spark,
    ):
        run = write_fleet(folder, _DAY, _RUN, fleet(given.clusters, given.partitions, sick=0.01))
        tables = prepared(folder, run, duck)
        seconds = measured(tables, {"duckdb": duck, "spark": spark}, given.runs)
        states = sum(row["n"] for row in duck.query(CROSSED, tables).to_pylist())
        print(f"{states:.2e} states, {tables['masks'].rows} partitions, load {os.getloadavg()[0]:.1f}")
        rates = {name: states / statistics.median(taken) for name, taken in seconds.items()}
        for name, rate in rates.items():
            print(f"{name}: {statistics.median(seconds[name]):.2f} CPU seconds, {rate:.2e} states a core second")
        print(f"spark / duckdb: {rates['spark'] / rates['duckdb']:.2f}x")
        began = time.perf_counter()
        judged = RunScenarios(place_of(folder), run, duck).every()
        taken = time.perf_counter() - began
        print(
            f"as an audit does it, duckdb: {taken:.2f} s, {len(judged.rows)} rows, {states / taken:.2e} states a second"
        )


def prepared(folder: str, run: Run, duck: Engine) -> Mapping[str, Any]:
    """Returns the tables of the statement: a file of masks for each eighth of the rows, and the failures."""
    scenarios = RunScenarios(place_of(folder), run, duck)
    tables = scenarios.tables
    masks = duck.query(_MASKS, {**tables, "partitions": scenarios.partitions})
    schema = pa.schema([pa.field("day", pa.date32()), pa.field("run", pa.string()), *masks.schema])
    files, size = [], masks.num_rows // 8 + 1
    for n in range(8):
        path = f"day={_DAY}/run={_RUN}/masks-{n}.parquet"
        place = Path(folder, "masks", path)
        place.parent.mkdir(parents=True, exist_ok=True)
        part = masks.slice(n * size, size)
        pq.write_table(part, place, compression="zstd")
        files.append(TableFile(place_of(place), _DAY, _RUN, part.num_rows, place.stat().st_size, None))
    rows = StoredRows(schema, place_of(Path(folder, "masks")), tuple(files))
    return {"masks": rows, "failures": duck.query(_FAILURES, tables)}


def measured(tables: Mapping[str, Any], engines: Mapping[str, Engine], runs: int) -> Mapping[str, list[float]]:
    """Returns CPU seconds by engine; the engines take turns, and their answers are compared."""
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    answers = []
    for turn in range(runs + 1):
        for name, one in engines.items():
            began = cpu_seconds()
            found = one.query(CROSSED, tables)
            if turn:
                seconds[name].append(cpu_seconds() - began)
            else:
                answers.append(sorted(tuple(row.values()) for row in found.to_pylist()))
    assert answers[0] == answers[1], "the engines differ"
    return seconds


def cpu_seconds() -> float:
    """Returns the CPU time of this process and its living descendants, such as Spark's Java."""
    parents: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parents.setdefault(int(fields[1]), []).append(int(folder.name))
                used[int(folder.name)] = int(fields[11]) + int(fields[12])
    mine, left = 0, [os.getpid()]
    while left:
        process = left.pop()
        mine += used.get(process, 0)
        left += parents.get(process, [])
    return mine / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
