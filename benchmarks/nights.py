"""An audit of the first night and one of the second, after a restart of one broker in each cluster, on both engines.

python -m benchmarks.nights [--clusters 100] [--partitions 10000] [--driver-memory 1g] [--store FOLDER] [--scattered]

A fleet has one first night and 364 others a year. Every measurement is a whole command, start to exit; each engine has
a store of its own. Peak memory and CPU seconds are those of `benchmarks.whole`. The floor of the second night
is DuckDB on the same files: it counts the rows of each condition of the checks, joins both nights, and writes the rows
whose state differs. With `--scattered`, replicas are placed
as by rack-aware placement; else on a ring, which compresses better than any real cluster. Bytes are those of the tables
on the disk: one night of `partitions` and of all tables of a run, and of `partition_changes` on the first and on the
second night.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from benchmarks.whole import DAY, RUN, WHOLE, measured


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--clusters", type=int, default=100)
    given.add_argument("--partitions", type=int, default=10_000)
    given.add_argument("--driver-memory", default="1g")
    given.add_argument("--store", type=Path)
    given.add_argument("--scattered", action="store_true")
    given.add_argument("--engines", nargs="*", default=["", "local[2]"])
    asked = given.parse_args()
    size = (asked.clusters, asked.partitions, asked.scattered)
    both_nights(size, asked.engines, asked.driver_memory, asked.store)


Size = tuple[int, int, bool]
FLOOR = """
import json, sys, tempfile
import duckdb
from kfix.core.criteria import EXPECTED, values_of
from kfix_diagnostics.catalogue import partition_checks, predicates

with duckdb.connect() as db, tempfile.TemporaryDirectory() as folder:
    db.execute("SET threads = 2")
    expected = ", ".join(f"{value} AS {name}" for name, value in values_of(EXPECTED).items())
    hits = ", ".join(f"count(*) FILTER ({c.text})" for c in predicates(partition_checks(prevention=True)))
    for name, day in (("old", sys.argv[2]), ("new", json.loads(sys.argv[3])["new"])):
        files = f"read_parquet('{sys.argv[1]}/tables/partitions/day={day}/*/*.parquet', hive_partitioning = false)"
        db.execute(f'CREATE VIEW "{name}" AS SELECT *, {expected} FROM {files}')
    db.execute(f"SELECT {hits} FROM new").fetchall()
    states = ("leader", "leader_epoch", "replicas", "state_isr", "state_version")
    differ = " OR ".join(f"n.{state} IS DISTINCT FROM o.{state}" for state in states)
    shown = ", ".join(f"n.{name}" for name in ("cluster", "topic", "partition", *states))
    rows = f"SELECT {shown} FROM new n LEFT JOIN old o USING (cluster, topic, partition) WHERE {differ}"
    [count] = db.execute(f"COPY ({rows}) TO '{folder}/changes.parquet' (COMPRESSION zstd)").fetchone()
print(json.dumps({"rows": count}))
"""


def both_nights(size: Size, masters: Sequence[str], memory: str = "1g", store: Path | None = None) -> None:
    """Prints a row for each master of Spark; "" is the embedded engine.

    `size` has the number of clusters, that of the partitions of each, and whether their replicas are scattered.
    """
    print("| engine | night 1, s | its CPU, s | peak MB | night 2, s | its CPU, s | peak MB ", end="")
    print("| night 2 / night 1, wall, CPU and memory | floor of night 2, CPU s | night 2 / floor, CPU ", end="")
    print(f"| changes | MB | 90 nights |\n|{'---|' * 13}")
    with tempfile.TemporaryDirectory(prefix="kfix-nights-") as folder:
        for master in masters:
            name, settings = master or "embedded", {"spark.driver.memory": memory} if master else {}
            print(_row(name, (store or Path(folder)) / name, master, settings, size), flush=True)


def _row(name: str, place: Path, master: str, settings: dict[str, str], size: Size) -> str:
    took = []
    for night in (0, 1):
        _write(place, night, *size)
        took.append(measured(WHOLE, place, master, settings))
    (first, one), (second, two) = took
    ratios = (second / first, *(two[each] / one[each] for each in ("cpu", "mb")))
    floor = measured(FLOOR, place, str(DAY), {"new": str(DAY + timedelta(days=1))})[1]["cpu"]
    nights = " | ".join(f"{wall:.1f} | {of['cpu']:.1f} | {of['mb']:.0f}" for wall, of in took)
    shown = ", ".join(f"{ratio:.2f}x" for ratio in ratios)
    return f"| {name} | {nights} | {shown} | {floor:.1f} | {two['cpu'] / floor:.1f}x | {_stored(place)} |"


def _write(place: Path, night: int, clusters: int, partitions: int, scattered: bool) -> None:
    from kfix.fleet.demo.synthetic import fleet, write_fleet  # noqa: PLC0415

    every = fleet(clusters, partitions, dead_every=0, scattered=scattered)
    several = [replace(c, day_number=night, deaths=2 * night) for c in every]
    write_fleet(str(place), DAY + timedelta(days=night), RUN, several, processes=2)


def _stored(place: Path) -> str:
    """Returns the changes of the second night, the bytes, and those of 90 such nights to 90 times a night of a run."""
    from kfix.fleet.store.delta import StoreTable  # noqa: PLC0415
    from kfix.fleet.store.history_tables import PARTITION_CHANGES  # noqa: PLC0415
    from kfix.fleet.store.places import place_of  # noqa: PLC0415
    from kfix.fleet.store.tables import COLLECTED, PARTITIONS  # noqa: PLC0415

    night = DAY + timedelta(days=1)
    run = [f for spec in COLLECTED for f in StoreTable(place_of(place), spec).files(lambda day, _: day == night)]
    rows = sum(f.size for f in run if f"/{PARTITIONS.name}/" in f.place.path)
    whole = sum(f.size for f in run)
    changes = StoreTable(place_of(place), PARTITION_CHANGES).files()
    first, then = (sum(f.size for f in changes if (f.day == night) is later) for later in (False, True))
    count = sum(f.rows for f in changes if f.day == night)
    megabytes = " + ".join(f"{size / 1e6:.1f}" for size in (rows, whole - rows, first, then))
    return f"{count} | {megabytes} | {(whole + first + 89 * then) / (90 * whole):.2f}x"


if __name__ == "__main__":
    main()
