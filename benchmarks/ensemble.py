"""What comparing the servers of an ensemble costs: `kfix diagnose` with all of three, and with one of them.

python -m benchmarks.ensemble [--sizes 1000,10000] [--runs 9] [--kafka 2.7.1]

The same lab, the same brokers, whole processes in turn; ratios pair by pair. The cost may grow with the ensemble, not
with the partitions. Not part of `make test`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.pairs import pairs
from benchmarks.wire import report
from kfix.lab import Lab, LabSpec

KFIX = str(Path(sys.executable).with_name("kfix"))
_WIDTH = 20
_SERVERS = 3


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--sizes", default="1000,10000")
    given.add_argument("--runs", type=int, default=9)
    given.add_argument("--kafka", default="2.7.1")
    asked = given.parse_args()
    with tempfile.TemporaryDirectory(prefix="kfix-ensemble-") as folder:
        os.environ |= {"KFIX_STATE_HOME": f"{folder}/state", "KFIX_LAB_HOME": f"{folder}/labs", "NO_COLOR": "1"}
        settings = {"zookeeper.session.timeout.ms": "30000"}
        lab = Lab.up(LabSpec("ensemble", asked.kafka, "zk", zookeepers=_SERVERS, heap_mb=1000, settings=settings))
        try:
            print("| partitions | what | A | B | A / B wall (range) | A / B CPU | RSS of A, MB | goal |")
            print("|---|---|---|---|---|---|---|---|")
            for size in map(int, asked.sizes.split(",")):
                lab.grow(size, 1, _WIDTH)
                measure(lab, size, asked.runs)
        finally:
            lab.down()


def measure(lab: Lab, size: int, count: int) -> None:
    ours = [KFIX, "diagnose", "--bootstrap-server", lab.bootstrap_servers, "--zookeeper"]
    servers = lab.zookeeper_connect
    both = pairs([*ours, servers], [*ours, servers.split(",")[0]], count)
    more = 1000 * (both.median("a", "wall") - both.median("b", "wall"))
    report(size, f"`kfix diagnose`, {_SERVERS} servers of ZooKeeper / one of them", both, f"{more:+.0f} ms")


if __name__ == "__main__":
    main()
