"""Judging a stored fleet with the pool, against the floor: DuckDB with the same columns and conditions.

python -m benchmarks.fleet [--rows 100000 1000000 10000000] [--processes 2] [--runs 3] [--store FOLDER] [--prevention]

Each measurement is a whole process, start to exit, in turn; not part of `make test`. The store is created if it does
not exist: clusters of 10 000 partitions, 0.1 % of them unhealthy, no dead broker. Peak memory is the sum of the peaks
of all processes (Pss would be less, since the code is shared).
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.nights import both_nights
from benchmarks.whole import DAY, RUN, WIDTH

_AUDIT = """
import json, resource, sys, time
from functools import partial
from kfix.core.criteria import Criteria
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run
from kfix.fleet.engines.pool import each
from kfix.fleet.judging.case import judge_stored
from benchmarks.fleet import peak

if __name__ == "__main__":
    place, processes, prevention = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1"
    began = time.perf_counter()
    findings = rows = failed = 0
    work = partial(judge_stored, criteria=Criteria(prevention=prevention))
    for done in each(work, newest_run(place_of(place)).stored(), processes=processes):
        failed += bool(done.error)
        if done.result:
            found = [*done.result.walk()]
            findings += len(found)
            rows += sum(len(f.partitions) for f in found)
    took = time.perf_counter() - began
    print(json.dumps({"seconds": took, "findings": findings, "rows": rows, "failed": failed, "mb": peak(processes)}))
"""
_FLOOR = """
import json, sys, time
import duckdb
from kfix.core.criteria import EXPECTED, values_of
from kfix_diagnostics.catalogue import partition_checks, predicates
from benchmarks.fleet import peak

place, processes, prevention = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1"
began = time.perf_counter()
with duckdb.connect() as db:
    db.execute(f"SET threads={processes}")
    conditions = predicates(partition_checks(prevention=prevention))
    hits = ", ".join(f"count(*) FILTER ({c.text})" for c in conditions)
    expected = ", ".join(f"{value} AS {name}" for name, value in values_of(EXPECTED).items())
    rows = f"(SELECT *, {expected} FROM read_parquet('{place}/tables/partitions/*/*/*.parquet'))"
    [counts] = db.execute(f"SELECT {hits} FROM {rows}").fetchall()
print(json.dumps({"seconds": time.perf_counter() - began, "rows": sum(counts), "mb": peak(1)}))
"""


def peak(processes: int) -> float:
    """Returns the peak memory in MB: this process plus, for each worker, the peak of the largest worker."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return (own + (workers * processes if processes > 1 else 0)) / 1024


def _cpu() -> float:
    """Returns the CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    given.add_argument("--processes", type=int, default=2)
    given.add_argument("--runs", type=int, default=3)
    given.add_argument("--store", type=Path)
    given.add_argument("--prevention", action="store_true")
    asked = given.parse_args()

    with tempfile.TemporaryDirectory(prefix="kfix-fleet-") as folder:
        print("| rows | processes | audit, s (range) | its CPU, s | floor, s | ratio | peak MB | findings |")
        print("|---|---|---|---|---|---|---|---|")
        for rows in asked.rows:
            place = store(asked.store or Path(folder), rows, asked.processes)
            print(row(place, rows, asked.processes, asked.runs, prevention=asked.prevention), flush=True)
    # Of a fleet's nights all but the first have one before them.
    both_nights((max(1, asked.rows[-1] // WIDTH), WIDTH, False), ("",))


def store(root: Path, rows: int, processes: int, *, sick: float = 0.001, dead_every: int = 0, large: int = 0) -> Path:
    """Returns the store with that many rows, created if it does not exist.

    `sick` is the share of unhealthy partitions; every `dead_every`-th cluster has a dead broker (0: none); `large`
    clusters of 200 000 partitions are added (names that sort between the others).
    """
    from kfix.fleet.demo.synthetic import fleet, write_fleet  # noqa: PLC0415

    # A store of its own for each shape, with this one run.
    named = [("sick", sick, 0.001), ("dead", dead_every, 0), ("large", large, 0)]
    place = root / "-".join([f"rows-{rows}", *(f"{name}-{value}" for name, value, usual in named if value != usual)])
    if not (place / "tables" / "runs" / f"day={DAY.isoformat()}" / f"run={RUN}").exists():
        began = time.perf_counter()
        clusters = fleet(max(1, rows // WIDTH), WIDTH, sick=sick, dead_every=dead_every)
        clusters += [
            replace(one, name=f"{one.name}-large") for one in fleet(large, 20 * WIDTH, sick=sick, dead_every=0)
        ]
        write_fleet(str(place), DAY, RUN, clusters, processes=processes)
        size = sum(p.stat().st_size for p in place.rglob("*") if p.is_file())
        print(f"{rows} rows written in {time.perf_counter() - began:.1f} s, {size / rows:.1f} bytes a row")
    return place


def row(place: Path, rows: int, processes: int, runs: int, *, prevention: bool) -> str:
    audits, floors, cpus, last = [], [], [], {"findings": 0, "mb": 0.0}
    for _ in range(runs):
        took, last = measured(_AUDIT, place, processes, prevention=prevention)
        audits.append(took)
        cpus.append(last["cpu"])
        floors.append(measured(_FLOOR, place, processes, prevention=prevention)[0])
    cpu = statistics.median(cpus)
    audit, floor = statistics.median(audits), statistics.median(floors)
    spread = f"{audit:.2f} ({min(audits):.2f} to {max(audits):.2f})"
    ratio = f"{floor:.2f} | {audit / floor:.1f}x"
    return f"| {rows} | {processes} | {spread} | {cpu:.2f} | {ratio} | {last['mb']:.0f} | {last['findings']} |"


def measured(script: str, place: Path, processes: int, *, prevention: bool) -> tuple[float, dict[str, float]]:
    """Returns (seconds of the whole process, its output). A run with failures ends the benchmark."""
    # A file, since new processes import it again.
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(script)
        file.flush()
        began, before = time.perf_counter(), _cpu()
        command = [sys.executable, file.name, str(place), str(processes), str(int(prevention))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        took = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    said: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    said["cpu"] = _cpu() - before
    if said.get("failed"):
        raise SystemExit(f"{said['failed']} clusters failed")
    return took, said


if __name__ == "__main__":
    main()
