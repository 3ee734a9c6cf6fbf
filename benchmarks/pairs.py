"""Times two commands in turn, A B A B ..., so that drift affects both; ratios are taken pair by pair."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    wall: float
    cpu: float
    code: int
    output: str


@dataclass(frozen=True)
class Pair:
    """The figures of A and B over all pairs; ratios are A / B."""

    a: list[Run]
    b: list[Run]

    @property
    def ratios(self) -> list[float]:
        return [x.wall / y.wall for x, y in zip(self.a, self.b, strict=True)]

    def median(self, which: str, field: str) -> float:
        runs: list[Run] = self.a if which == "a" else self.b
        return statistics.median(run.wall if field == "wall" else run.cpu for run in runs)

    def row(self, name: str, goal: str) -> str:
        low, middle, high = min(self.ratios), statistics.median(self.ratios), max(self.ratios)
        cpu = self.median("a", "cpu") / self.median("b", "cpu")
        return (
            f"| {name} | {self.median('a', 'wall'):.3f} | {self.median('b', 'wall'):.3f} "
            f"| **{middle:.2f}x** ({low:.2f} to {high:.2f}) | {cpu:.2f}x | {goal} |"
        )


def run(command: list[str], *, codes: tuple[int, ...] = (0,)) -> Run:
    """Runs one whole process, start to exit. An unexpected exit code ends the benchmark."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ, timeout=120)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in codes:
        raise SystemExit(f"{command[0:4]} exited {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(wall, cpu, done.returncode, done.stdout)


def pairs(a: list[str], b: list[str], count: int, *, warm: int = 1) -> Pair:
    for _ in range(warm):
        run(a)
        run(b)
    first, second = [], []
    for _ in range(count):
        first.append(run(a))
        second.append(run(b))
    return Pair(first, second)
