"""How long an operator at a terminal waits for the first verdict while servers are frozen (SIGSTOP) or hardly answer.

python -m benchmarks.first_verdict [RUNS] [--partitions N] [--kafka 4.3.1] [--controllers 1|3]

A lab of 3 brokers and 3 ZooKeeper servers, or on KRaft 1 or 3 controllers of their own; about 3 minutes with 5 runs.
With N, so many partitions with one replica are created first. On KRaft the active controller is frozen, and brokers:
of three controllers another one becomes active meanwhile, of one none.

The verdict is the first line of the screen after one snapshot, or, where a second snapshot is needed, the reason that
is shown before it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pexpect

from benchmarks.slow_line import slow_line
from kfix.lab import Lab, LabSpec
from kfix.lab.definition.recipes import KRAFT

KFIX = str(Path(sys.executable).with_name("kfix"))
#: The default of `--timeout`, in seconds: no source may take longer.
DEADLINE = 5.0
_LARGE_HEAP_MB = 1400
#: Of the first lines, what follows the wait: the reason, or the verdict of a cluster in which nothing is blocked.
VERDICT = r"why: |\(20\d\d-\d\d-\d\d "

#: (brokers, ZooKeeper servers) that are frozen, out of three each.
FROZEN = (((), ()), ((3,), ()), ((), (1,)), ((), (1, 2)), ((2, 3), ()), ((3,), (1,)), ((2, 3), (1, 2)))

#: (brokers, whether the active controller, too) that are frozen on KRaft.
FROZEN_ON_KRAFT = (((), False), ((), True), ((3,), False), ((3,), True), ((2, 3), True))

#: Lines to the only ZooKeeper server that is given, and how many bytes they pass in a second.
SLOW = {"ZooKeeper behind a trickling line (10 kB/s)": 10_000, "ZooKeeper behind a half-open line": 0}


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("runs", type=int, nargs="?", default=5)
    given.add_argument("--partitions", type=int, default=0)
    given.add_argument("--kafka", default="2.7.1")
    given.add_argument("--controllers", type=int, default=3)
    asked = given.parse_args()
    count, on_kraft = asked.runs, LabSpec(kafka=asked.kafka).recipe.mode == KRAFT
    with tempfile.TemporaryDirectory(prefix="kfix-bench-") as folder:
        os.environ |= {"KFIX_STATE_HOME": f"{folder}/state", "KFIX_LAB_HOME": f"{folder}/labs", "NO_COLOR": "1"}
        # A long session: a frozen broker stays registered, so that its silence is all there is to see.
        settings = {f"{'broker' if on_kraft else 'zookeeper'}.session.timeout.ms": "300000"}
        heap = _LARGE_HEAP_MB if asked.partitions else LabSpec.heap_mb
        spec = LabSpec(name="bench", kafka=asked.kafka, settings=settings, heap_mb=heap)
        lab = Lab.up(replace(spec, controllers=asked.controllers) if on_kraft else replace(spec, zookeepers=3))
        try:
            lab.break_("healthy")
            if asked.partitions:
                lab.grow(asked.partitions, 1, 20)
            print(
                f"| frozen | first verdict after the deadline of {DEADLINE:.0f} s (range) | it begins |\n|---|---|---|"
            )
            if on_kraft:
                for brokers, active in FROZEN_ON_KRAFT:
                    with frozen_on_kraft(lab, brokers, active=active):
                        row(words(brokers, (), "active controller" if active else ""), lab, count)
            for brokers, servers in () if on_kraft else FROZEN:
                with frozen(lab, brokers, servers):
                    row(words(brokers, servers), lab, count)
            for what, rate in () if on_kraft else SLOW.items():
                with slow_line(lab.zookeeper_connect.split(",")[0], rate) as address:
                    row(what, lab, count, address)
        finally:
            lab.down()
    print(f"{count} runs each, load {os.getloadavg()[0]:.1f}")


def row(what: str, lab: Lab, count: int, zookeeper: str | None = None) -> None:
    found = [first_verdict(lab, zookeeper) for _ in range(count)]
    waits = [seconds - DEADLINE for seconds, _ in found]
    middle = f"{statistics.median(waits):+.2f} s ({min(waits):+.2f} to {max(waits):+.2f})"
    print(f"| {what} | {middle} | {found[-1][1]} |", flush=True)


def words(brokers: tuple[int, ...], servers: tuple[int, ...], controller: str = "") -> str:
    parts = [f"{len(ids)} of 3 {what}" for ids, what in ((brokers, "brokers"), (servers, "ZooKeeper servers")) if ids]
    return " and ".join([*parts, *([controller] if controller else [])]) or "none"


@contextmanager
def frozen(lab: Lab, brokers: tuple[int, ...], servers: tuple[int, ...]) -> Iterator[None]:
    for broker in brokers:
        lab.stop(broker)
    for server in servers:
        lab.stop(server, "zookeeper")
    try:
        yield
    finally:
        for server in servers:
            lab.cont(server, "zookeeper")
        for broker in brokers:
            lab.cont(broker)
        time.sleep(3)


@contextmanager
def frozen_on_kraft(lab: Lab, brokers: tuple[int, ...], *, active: bool) -> Iterator[None]:
    with lab.access() as access:
        controller = access.controller() if active else None
    for broker in brokers:
        lab.stop(broker)
    if controller is not None:
        lab.stop(controller, "controller")
    try:
        yield
    finally:
        if controller is not None:
            lab.cont(controller, "controller")
        for broker in brokers:
            lab.cont(broker)
        time.sleep(5)


def first_verdict(lab: Lab, zookeeper: str | None = None) -> tuple[float, str]:
    """Returns the seconds from the start of the process to the verdict on the terminal, and the line it is in."""
    began = time.perf_counter()
    address = ["--bootstrap-server", lab.bootstrap_servers]
    if named := zookeeper or lab.zookeeper_connect:
        address += ["--zookeeper", named]
    child = pexpect.spawn(KFIX, ["diagnose", *address], timeout=60, dimensions=(50, 140), encoding="utf-8")
    child.expect(VERDICT)
    waited = time.perf_counter() - began
    line = (str(child.before).splitlines() or [""])[-1] + str(child.after) + child.readline()
    child.close(force=True)
    return waited, line.strip()[:90]


if __name__ == "__main__":
    main()
