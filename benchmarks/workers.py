"""What a second worker brings, and what the driver needs: a standalone Spark cluster of workers with one core each.

python -m benchmarks.workers [--rows 10000000] [--runs 2] [--store FOLDER] [--large 24]

Judges the same run with one worker and with two, cold (the whole process, start to exit) and warm (judged a second time
in one session), then the same for a run with `--large` clusters of 200 000 partitions among those of 10 000, and prints
the peak memory of the driver (Python and Java) for a tenth of the rows and for all. Not part of `make test`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.fleet import store
from benchmarks.spark import SPARK
from benchmarks.whole import measured
from tests.spark.standalone import Standalone


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--rows", type=int, default=10_000_000)
    given.add_argument("--runs", type=int, default=2)
    given.add_argument("--store", type=Path)
    given.add_argument("--large", type=int, default=24)
    asked = given.parse_args()
    with tempfile.TemporaryDirectory(prefix="kfix-workers-") as folder:
        root, logs = asked.store or Path(folder), Path(folder)
        few = store(root, asked.rows // 10, 2)
        stores = {"even": store(root, asked.rows, 2)}
        if asked.large:
            stores["large among small"] = store(root, asked.rows // 2, 2, large=asked.large)
        print("| run | workers | cold, whole process, s | warm, judging, s | driver, MB |\n|---|---|---|---|---|")
        took: dict[tuple[str, int], tuple[float, float]] = {}
        for name, place in stores.items():
            for workers in (1, 2):
                with Standalone(logs, workers=workers) as cluster:  # type: ignore[no-untyped-call]
                    runs = [measured(SPARK, place, cluster.url, {}) for _ in range(asked.runs)]
                    warm = [measured(SPARK, place, cluster.url, {"warm": "1"})[1]["judged"] for _ in range(asked.runs)]
                cold, memory = min(seconds for seconds, _ in runs), max(said["mb"] for _, said in runs)
                took[name, workers] = cold, min(warm)
                print(f"| {name} | {workers} | {cold:.2f} | {min(warm):.2f} | {memory:.0f} |", flush=True)
        for name in stores:
            (cold_one, warm_one), (cold_two, warm_two) = took[name, 1], took[name, 2]
            print(f"{name}: a second core brings {cold_one / cold_two:.2f}x cold, {warm_one / warm_two:.2f}x warm")
        with Standalone(logs, workers=2) as cluster:  # type: ignore[no-untyped-call]
            sizes = [max(measured(SPARK, p, cluster.url, {})[1]["mb"] for _ in range(2)) for p in (few, stores["even"])]
        print(f"driver: {sizes[0]:.0f} MB for {asked.rows // 10} rows, {sizes[1]:.0f} MB for {asked.rows}")


if __name__ == "__main__":
    main()
