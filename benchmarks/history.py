"""SQL over 90 runs on Spark: through kfix against plain Spark on the same files, in turn in one session.

python -m benchmarks.history [--runs 90] [--clusters 20] [--partitions 2000] [--rounds 3]

A is the whole of `kfix audit query --spark` but the start: opening the tables, finding the files of the runs, the
statement, the answer as an Arrow table. B is `spark.read.parquet(FOLDER)` and the same statement. The first round warms
up and is not counted. The rows are 10 % different from run to run, so that the windows find changes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kfix.fleet.demo.synthetic import fleet, stored_of, write_fleet
from kfix.fleet.engines.opening import engine
from kfix.fleet.questions.tables import named_in, tables
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import place_of
from kfix.fleet.store.staging import ROWS, write_file
from kfix.fleet.store.tables import PARTITIONS, RUNS

_DAY = date(2026, 1, 1)
#: A scan with a group by, a window over all runs of one partition of each topic, and one over the sums of each run.
_STATEMENTS = {
    "group by run": "SELECT day, run, count(*) AS n, sum(CASE WHEN leaderless THEN 1 ELSE 0 END) AS leaderless, "
    "sum(n_isr) AS isr FROM partitions GROUP BY day, run ORDER BY day, run",
    "window over the first partition of each topic": "SELECT cluster, count(*) AS changes FROM (SELECT cluster, "
    "leader_epoch - lag(leader_epoch) OVER (PARTITION BY cluster, topic ORDER BY day) AS more "
    "FROM partitions WHERE partition = 0) t "
    "WHERE more <> 0 GROUP BY cluster ORDER BY cluster",
    "window over the runs": "SELECT cluster, day, n - lag(n) OVER (PARTITION BY cluster ORDER BY day) AS more FROM "
    "(SELECT cluster, day, count(*) AS n FROM partitions GROUP BY cluster, day) t ORDER BY cluster, day",
}


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--runs", type=int, default=90)
    given.add_argument("--clusters", type=int, default=20)
    given.add_argument("--partitions", type=int, default=2000)
    given.add_argument("--rounds", type=int, default=3)
    asked = given.parse_args()
    with tempfile.TemporaryDirectory(prefix="kfix-history-") as folder:
        root = _store(Path(folder), asked.runs, asked.clusters, asked.partitions)
        rows = asked.runs * asked.clusters * asked.partitions
        print(f"{asked.runs} runs, {rows} rows of partitions; load {os.getloadavg()[0]:.1f}")
        print("| statement | through kfix, s | plain Spark, s | ratio (range) |\n|---|---|---|---|")
        _compare(root, asked.runs, asked.rounds)


def _store(root: Path, runs: int, clusters: int, partitions: int) -> Path:
    """Writes the first run as a collection does, and the others with the same rows but other epochs, a file each."""
    write_fleet(str(root), _DAY, "r", fleet(clusters, partitions), processes=1)
    whole = [stored_of(c)[0].add_column(0, "cluster", [[c.name] * c.partitions]) for c in fleet(clusters, partitions)]
    rows = pa.concat_tables(whole).select(PARTITIONS.file_schema.names)
    place, at = place_of(str(root)), PARTITIONS.file_schema.get_field_index("leader_epoch")
    first = StoreTable(place, RUNS).files()[0].place
    with first.system.open_input_file(first.path) as opened:
        run = pq.read_table(opened)
    for number in range(1, runs):
        day = _DAY + timedelta(days=number)
        epochs = [7 + (number + i % 10) // 10 for i in range(rows.num_rows)]
        changed = rows.set_column(at, PARTITIONS.file_schema.field(at), [epochs]).cast(PARTITIONS.file_schema)
        for spec, table in ((PARTITIONS, changed), (RUNS, run.cast(RUNS.file_schema))):
            target = StoreTable(place, spec)
            target.replace(day, "r", [write_file(target.folder(day, "r"), spec.name, table, group=ROWS)])
    return root


def _compare(root: Path, runs: int, rounds: int) -> None:
    with engine("local[2]") as used:
        session = used._session.newSession()  # type: ignore[attr-defined]  # noqa: SLF001 - the same session, bare

        def ours(sql: str) -> int:
            shown = tables(place_of(str(root)), days=runs, snapshots=runs)
            return int(used.query(sql, named_in(sql, shown)).num_rows)

        def plain(sql: str) -> int:
            session.read.parquet(str(root / "tables" / PARTITIONS.name)).createOrReplaceTempView("partitions")
            return int(session.sql(sql).toArrow().num_rows)

        for name, sql in _STATEMENTS.items():
            taken = [(_timed(ours, sql), _timed(plain, sql)) for _ in range(rounds + 1)][1:]
            ratios = [a / b for (a, _), (b, _) in taken]
            assert all(a == b for (_, a), (_, b) in taken)
            a, b = (statistics.median(pair[i][0] for pair in taken) for i in (0, 1))
            spread = f"{statistics.median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"
            print(f"| {name} | {a:.2f} | {b:.2f} | {spread} |", flush=True)


def _timed(work: Callable[[str], int], sql: str) -> tuple[float, int]:
    began = time.perf_counter()
    rows = work(sql)
    return time.perf_counter() - began, rows


if __name__ == "__main__":
    main()
