"""As fast as the wire: `kfix diagnose` against the stock tool and against bare sockets, at 10 000 partitions and more.

python -m benchmarks.wire [--sizes 10000,30000] [--rf 3,1] [--runs 7] [--brokers 3] [--kafka 2.7.1] [--mode zk]

Each size adds topics to one lab (`kfix lab grow`), the first with the first replication factor, the others with the
second. Whole processes in turn; ratios pair by pair. Not part of `make test`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pairs import Pair, pairs, run
from benchmarks.topics import tool_command
from kfix.lab import Lab, LabSpec
from kfix.lab.definition.recipes import KRAFT

KFIX = str(Path(sys.executable).with_name("kfix"))
FLOOR = str(Path(__file__).with_name("floor.py"))
_WIDTH = 20
#: Above this many partitions a busy machine may need more than the default deadline of 5 s.
_NEEDS_TIME = 50_000


@dataclass(frozen=True)
class Goal:
    wall: float
    cpu: float
    floor: float | None
    rss: int


GOALS = {10_000: Goal(0.45, 0.3, 1.6, 60), 30_000: Goal(0.6, 0.4, 1.8, 100), 100_000: Goal(0.8, 0.5, None, 250)}


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--sizes", default="10000,30000")
    given.add_argument("--rf", default="3,1")
    given.add_argument("--runs", type=int, default=7)
    given.add_argument("--brokers", type=int, default=3)
    given.add_argument("--kafka", default="2.7.1")
    given.add_argument("--mode", default=None)
    asked = given.parse_args()
    sizes = [int(size) for size in asked.sizes.split(",")]
    first, later = (int(rf) for rf in asked.rf.split(","))
    with tempfile.TemporaryDirectory(prefix="kfix-wire-") as folder:
        os.environ |= {"KFIX_STATE_HOME": f"{folder}/state", "KFIX_LAB_HOME": f"{folder}/labs", "NO_COLOR": "1"}
        kraft = LabSpec(kafka=asked.kafka, mode=asked.mode).recipe.mode == KRAFT
        settings = {f"{'broker' if kraft else 'zookeeper'}.session.timeout.ms": "30000"}
        spec = LabSpec(
            "wire", asked.kafka, asked.mode, ids=tuple(range(1, asked.brokers + 1)), heap_mb=1400, settings=settings
        )
        lab = Lab.up(spec)
        try:
            print("| partitions | what | A | B | A / B wall (range) | A / B CPU | RSS of A, MB | goal |")
            print("|---|---|---|---|---|---|---|---|")
            for number, size in enumerate(sizes):
                lab.grow(size, later if number else first, _WIDTH)
                measure(lab, size, asked.runs)
        finally:
            lab.down()


def measure(lab: Lab, size: int, count: int) -> None:
    ours = [KFIX, "diagnose", "--bootstrap-server", lab.bootstrap_servers]
    ours += ["--timeout", "30"] if size > _NEEDS_TIME else []
    goal = GOALS.get(size)
    tool = tool_command(lab, "TopicCommand", "--describe", "--unavailable-partitions")
    wanted = f"wall <= {goal.wall}x, CPU <= {goal.cpu}x, RSS <= {goal.rss}" if goal else ""
    report(size, "`kfix diagnose` / `kafka-topics --unavailable-partitions`", pairs(ours, tool, count), wanted)
    for lines in (2, 4) if lab.zookeeper_connect else ():
        floor = [sys.executable, FLOOR, lab.bootstrap_servers, lab.zookeeper_connect, str(lines)]
        both = pairs(ours, [*floor, "also"], count)
        wanted = f"wall <= {goal.floor}x" if goal and goal.floor else ""
        report(size, f"`kfix diagnose` / bare sockets, {lines} sessions, and `import typer`", both, wanted)
    saved = Path(os.environ["KFIX_STATE_HOME"]).with_name("saved.json.gz")
    both = pairs([KFIX, "snapshot", "save", "--overwrite", str(saved), *ours[2:]], ours, count)
    more = both.median("a", "wall") - both.median("b", "wall")
    wanted = f"{saved.stat().st_size / size:.1f} bytes a partition, {more:+.2f} s"
    report(size, "`kfix snapshot save` / `kfix diagnose`", both, f"{wanted} (<= 12 bytes, <= 0.2 s)")


def report(size: int, what: str, pair: Pair, goal: str) -> None:
    low, middle, high = min(pair.ratios), pair.median_ratio, max(pair.ratios)
    cpu = pair.median("a", "cpu") / pair.median("b", "cpu")
    print(
        f"| {size} | {what} | {pair.median('a', 'wall'):.2f} s | {pair.median('b', 'wall'):.2f} s "
        f"| **{middle:.2f}x** ({low:.2f} to {high:.2f}) | {cpu:.2f}x | {max(r.rss for r in pair.a):.0f} | {goal} |",
        flush=True,
    )


if __name__ == "__main__":
    run([KFIX, "--version"])
    main()
