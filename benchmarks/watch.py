"""What `kfix watch` costs: its process, and each server of the cluster, against repeated commands in the same run.

python -m benchmarks.watch [--sizes 1000,10000] [--rounds 20]

One lab; each size adds topics (`kfix lab grow`). The cost of one snapshot is the difference of a watch of many and one
of 2 snapshots, so that the start counts for neither; a round of the peers is one whole process. CPU time, not wall
time, so that other work on the machine matters little. Not part of `make test`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from benchmarks.pairs import Run, run
from benchmarks.topics import tool_command
from kfix.lab import Lab, LabSpec

KFIX = str(Path(sys.executable).with_name("kfix"))
#: The pause between two snapshots in normal use, in seconds.
EVERY = 15.0
#: (percent of a core, MB) by partitions.
GOALS = {1000: (1.0, 80), 10_000: (5.0, None)}
_ANY = (0, 20, 21, 22)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--sizes", default="1000,10000")
    given.add_argument("--rounds", type=int, default=20)
    asked = given.parse_args()
    with tempfile.TemporaryDirectory(prefix="kfix-watch-") as folder:
        os.environ |= {"KFIX_STATE_HOME": f"{folder}/state", "KFIX_LAB_HOME": f"{folder}/labs", "NO_COLOR": "1"}
        lab = Lab.up(LabSpec(name="watch", heap_mb=700, settings={"zookeeper.session.timeout.ms": "30000"}))
        try:
            for size in map(int, asked.sizes.split(",")):
                run([KFIX, "lab", "grow", str(size), "--name", "watch"])
                time.sleep(5)
                measure(lab, size, asked.rounds, Path(folder, f"ring-{size}"))
        finally:
            lab.down()
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")


def measure(lab: Lab, size: int, rounds: int, ring: Path) -> None:
    address = ["--bootstrap-server", lab.bootstrap_servers]
    watch = [KFIX, "watch", *address, "--every", "1", "--recorder", str(ring), "--snapshots"]
    short, long = run([*watch, "2"], codes=_ANY), run([*watch, str(rounds + 2)], codes=_ANY)
    mine = (long.cpu - short.cpu) / rounds
    share = 100 * mine / EVERY
    percent, memory = GOALS.get(size, (None, None))
    goals = f" (goal: <= {percent} %)" if percent else "", f" (goal: <= {memory} MB)" if memory else ""
    print(f"{size} partitions: {1000 * mine:.0f} ms of CPU a snapshot, {share:.2f} % of a core every 15 s{goals[0]}")
    print(f"  {long.rss:.0f} MB resident at most{goals[1]}; start {short.cpu - 2 * mine:.2f} s of CPU")
    peers = {
        "kfix diagnose": [KFIX, "diagnose", *address],
        "kafka-topics --describe --unavailable-partitions": tool_command(
            lab, "kafka.admin.TopicCommand", "--describe", "--unavailable-partitions"
        ),
    }
    for name, command in peers.items():
        each: list[Run] = [run(command, codes=_ANY) for _ in range(3)]
        cpu = statistics.median(r.cpu for r in each)
        print(f"  {mine / cpu:.2f}x the CPU of {name} ({cpu:.2f} s, {max(r.rss for r in each):.0f} MB)")
    files = [path.stat().st_size for path in ring.glob("*.kfr")]
    print(f"  {sum(files) / 1000:.0f} kB recorded for {rounds + 4} snapshots of a cluster at rest")
    for line in asked_of(address):
        print(f"  {line}", flush=True)


def asked_of(address: list[str]) -> list[str]:
    """Returns what a watch asks of each server for one snapshot, by its own metrics."""
    command = [KFIX, "watch", *address, "--every", "1", "--exporter", ":0", "--within", "60"]
    watch = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert watch.stdout is not None
        url = next(line.split("metrics: ")[1].strip() for line in watch.stdout if "metrics: " in line)
        time.sleep(8)
        with urllib.request.urlopen(url, timeout=5) as answer:
            families = {f.name: f for f in text_string_to_metric_families(answer.read().decode())}
    finally:
        watch.terminate()
        watch.wait()
    [taken] = [s.value for s in families["kfix_watch_snapshots"].samples]

    def by_server(name: str) -> dict[str, float]:
        return {s.labels["server"]: s.value / taken for s in families[f"kfix_watch_{name}"].samples}

    requests, received = by_server("requests"), by_server("received_bytes")
    connections = by_server("connections")
    return [
        f"{server}: {requests[server]:.0f} requests, {connections[server]:.1f} connections, "
        f"{received[server] / 1000:.0f} kB received a snapshot"
        for server in sorted(requests)
    ]


if __name__ == "__main__":
    main()
