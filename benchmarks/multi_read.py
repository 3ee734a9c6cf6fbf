"""The state znodes of a large cluster by multiRead and by getData, from the same server, in turn.

python -m benchmarks.multi_read [--size 30000] [--runs 9] [--kafka 3.9.2]

Seconds from the first request to the last decoded state, over as many sessions as `kfix diagnose` has. Not part of
`make test`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time

from kfix.core.timing import Deadline
from kfix.core.zookeeper.bulk import has_multi_read, read_many
from kfix.core.zookeeper.connect import open_line, parse_connect
from kfix.core.zookeeper.wire import ZooKeeperLine
from kfix.lab import Lab, LabSpec

_SECONDS = 60.0
_WIDTH = 20


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--size", type=int, default=30_000)
    given.add_argument("--runs", type=int, default=9)
    given.add_argument("--kafka", default="3.9.2")
    asked = given.parse_args()
    with tempfile.TemporaryDirectory(prefix="kfix-multi-read-") as folder:
        os.environ |= {"KFIX_STATE_HOME": f"{folder}/state", "KFIX_LAB_HOME": f"{folder}/labs"}
        settings = {"zookeeper.session.timeout.ms": "30000"}
        lab = Lab.up(LabSpec("multi", asked.kafka, "zk", heap_mb=1400, settings=settings))
        try:
            lab.grow(asked.size, 1, _WIDTH)
            measure(lab, asked.size, asked.runs)
        finally:
            lab.down()


def measure(lab: Lab, size: int, runs: int) -> None:
    connect = parse_connect(lab.zookeeper_connect)
    paths = [
        f"/brokers/topics/grown-{topic}/partitions/{partition}/state"
        for topic in range(size // _WIDTH)
        for partition in range(_WIDTH)
    ]
    print("| sessions | multiRead, s | getData, s | multiRead / getData (range) |")
    print("|---|---|---|---|")
    for sessions in (1, 2, 4):
        # New ones each time: the server ends a session that says nothing.
        lines = [open_line(connect, Deadline.after(_SECONDS)) for _ in range(sessions)]
        if not has_multi_read(lines[0], Deadline.after(_SECONDS)):
            raise SystemExit("this server has no multiRead")
        pairs = [(read(lines, paths, multi=True), read(lines, paths, multi=False)) for _ in range(runs)]
        ratios = sorted(a / b for a, b in pairs)
        multi, single = (statistics.median(times) for times in zip(*pairs, strict=True))
        middle = statistics.median(ratios)
        print(f"| {sessions} | {multi:.2f} | {single:.2f} | **{middle:.2f}x** ({ratios[0]:.2f} to {ratios[-1]:.2f}) |")


def read(lines: list[ZooKeeperLine], paths: list[str], *, multi: bool) -> float:
    for line in lines:
        line.multi_read = multi
    began = time.perf_counter()
    found = read_many(lines, paths, lambda _, data, *__: len(data), Deadline.after(_SECONDS))
    taken = time.perf_counter() - began
    missing = sum(each is None for each in found)
    if missing:
        raise SystemExit(f"{missing} of {len(paths)} states do not exist")
    return taken


if __name__ == "__main__":
    main()
