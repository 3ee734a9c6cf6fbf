"""Times two commands in turn, A B A B ..., so that drift affects both; ratios are taken pair by pair."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

_LONGEST = 180.0


@dataclass(frozen=True)
class Run:
    wall: float
    cpu: float
    code: int
    output: str
    rss: float = 0.0  # MB at its peak


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
        return float(statistics.median(getattr(run, field) for run in runs))

    @property
    def median_ratio(self) -> float:
        return statistics.median(self.ratios)

    def row(self, name: str, goal: str) -> str:
        low, middle, high = min(self.ratios), self.median_ratio, max(self.ratios)
        cpu = self.median("a", "cpu") / self.median("b", "cpu")
        return (
            f"| {name} | {self.median('a', 'wall'):.3f} | {self.median('b', 'wall'):.3f} "
            f"| **{middle:.2f}x** ({low:.2f} to {high:.2f}) | {cpu:.2f}x | {goal} |"
        )


def run(command: list[str], *, codes: tuple[int, ...] = (0,)) -> Run:
    """Runs one whole process, start to exit. An unexpected exit code ends the benchmark."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        # As installed: the byte code of the modules is there, which the warm-up writes.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=env)
        killer = threading.Timer(_LONGEST, process.kill)
        killer.start()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said = out.read().decode()
        if process.returncode not in codes:
            said = f"{said[-2000:]}\n{err.read().decode()[-2000:]}"
            raise SystemExit(f"{command[0:4]} exited {process.returncode}:\n{said}")
    return Run(wall, used.ru_utime + used.ru_stime, process.returncode, said, used.ru_maxrss / 1024)


def pairs(a: list[str], b: list[str], count: int, *, warm: int = 1) -> Pair:
    for _ in range(warm):
        run(a)
        run(b)
    first, second = [], []
    for _ in range(count):
        first.append(run(a))
        second.append(run(b))
    return Pair(first, second)
