"""An audit of the first night and one of the second, after a restart of one broker in each cluster, on both engines.

python -m benchmarks.nights [--clusters 100] [--partitions 10000] [--driver-memory 1g] [--store FOLDER]

A fleet has one first night and 364 others a year. Every measurement is a whole command, start to exit; each engine has
a store of its own. Peak memory is that of `benchmarks.spark`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from benchmarks.fleet import DAY, RUN
from benchmarks.spark import WHOLE, measured


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--clusters", type=int, default=100)
    given.add_argument("--partitions", type=int, default=10_000)
    given.add_argument("--driver-memory", default="1g")
    given.add_argument("--store", type=Path)
    asked = given.parse_args()
    both_nights(asked.clusters, asked.partitions, ("", "local[2]"), asked.driver_memory, asked.store)


def both_nights(
    clusters: int, partitions: int, masters: Sequence[str], memory: str = "1g", store: Path | None = None
) -> None:
    """Prints a row for each master of Spark; "" is the embedded engine."""
    print("| engine | night 1, s | peak MB | night 2, s | peak MB | night 2 / night 1 | changes |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="kfix-nights-") as folder:
        for master in masters:
            name, settings = master or "embedded", {"spark.driver.memory": memory} if master else {}
            print(_row(name, (store or Path(folder)) / name, master, settings, (clusters, partitions)), flush=True)


def _row(name: str, place: Path, master: str, settings: dict[str, str], size: tuple[int, int]) -> str:
    took = []
    for night in (0, 1):
        _write(place, night, *size)
        took.append(measured(WHOLE, place, master, settings))
    (first, one), (second, two) = took
    return (
        f"| {name} | {first:.1f} | {one['mb']:.0f} | {second:.1f} | {two['mb']:.0f} | {second / first:.2f}x"
        f" | {_changes(place)} |"
    )


def _write(place: Path, night: int, clusters: int, partitions: int) -> None:
    from kfix.fleet.synthetic import fleet, write_fleet  # noqa: PLC0415

    several = [replace(c, day_number=night, deaths=2 * night) for c in fleet(clusters, partitions, dead_every=0)]
    write_fleet(str(place), DAY + timedelta(days=night), RUN, several, processes=2)


def _changes(place: Path) -> int:
    from kfix.fleet.store.delta import StoreTable  # noqa: PLC0415
    from kfix.fleet.store.history_tables import TRANSITIONS  # noqa: PLC0415
    from kfix.fleet.store.places import place_of  # noqa: PLC0415

    return sum(file.rows for file in StoreTable(place_of(place), TRANSITIONS).files())


if __name__ == "__main__":
    main()
