"""`kfix audit` as a whole process on a store, with its CPU seconds and peak memory; how benchmarks lay out a store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from threading import Thread

DAY = date(2026, 1, 1)
WIDTH = 10_000
RUN = "r"

WHOLE = """
import contextlib, io, json, os, sys, tempfile

if __name__ == "__main__":
    place, master = sys.argv[1], sys.argv[2]
    on = ["--spark", master] if master else ["--processes", "2"]
    on += [word for name, value in json.loads(sys.argv[3]).items() for word in ("--spark-conf", f"{name}={value}")]
    words = ["audit", "--store", place, "--collect", "no", "--fail-on", "never", "-q"]
    sys.argv = ["kfix", *words, *on]
    from kfix.__main__ import main
    with tempfile.TemporaryDirectory() as home, contextlib.redirect_stdout(io.StringIO()) as output:
        os.environ["KFIX_STATE_HOME"] = home
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    print(json.dumps({"failed": int(bool(code)), "characters": len(output.getvalue())}))
"""


def measured(
    script: str, place: Path, second: str, third: Mapping[str, str] | int, **env: str
) -> tuple[float, dict[str, float]]:
    """Returns (seconds of the whole process, its output, `mb` and `cpu`). A run with failures ends the benchmark."""
    last = json.dumps(third) if isinstance(third, Mapping) else str(third)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(script)
        file.flush()
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, file.name, str(place), second, last],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | env,
        )
        peak: list[float] = [0.0]
        used: dict[int, float] = {}
        Thread(target=_watch, args=(process, peak, used), daemon=True).start()
        out, err = process.communicate()
        took = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(err[-2000:])
    said: dict[str, float] = json.loads(out.splitlines()[-1])
    if said.get("failed"):
        raise SystemExit(f"{said['failed']} clusters failed")
    return took, {**said, "mb": peak[0], "cpu": sum(used.values())}


def _watch(process: subprocess.Popen[str], peak: list[float], used: dict[int, float]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], _tree(process.pid, used))
        time.sleep(0.1)


def _tree(root: int, used: dict[int, float]) -> float:
    """Returns the memory in MB of the process and its descendants; `used` takes the CPU seconds of each."""
    parents, pages, ticks = {}, {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            pid = int(entry.name)
            parents[pid], pages[pid], ticks[pid] = int(fields[1]), int(fields[21]), int(fields[11]) + int(fields[12])
    tree = {root}
    for _ in range(8):
        tree |= {pid for pid, parent in parents.items() if parent in tree}
    used |= {pid: ticks.get(pid, 0) / os.sysconf("SC_CLK_TCK") for pid in tree if pid in ticks}
    return sum(pages.get(pid, 0) for pid in tree) * os.sysconf("SC_PAGE_SIZE") / 2**20
