"""What TLS costs a `kfix watch`, which opens its connections anew for each snapshot (ADR 27): against plaintext.

python -m benchmarks.watch_tls [--lines 2.7.1,4.3.1] [--rounds 30] [--pairs 3]

Two labs a line of Kafka, alike but for TLS with client certificates at brokers and controllers, read in turn. CPU time,
of the watch and of the brokers; the cost of a snapshot is the difference of a watch of many and one of 2 snapshots. Not
part of `make test`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pairs import run
from benchmarks.watch import KFIX, asked_of
from kfix.lab import Lab, LabSpec

_TICK = os.sysconf("SC_CLK_TCK")
_SHORT = 2
#: {name of the lab: its security}
WAYS = {"tls": "mtls", "plaintext": "plaintext"}


@dataclass(frozen=True)
class Cost:
    """Seconds of CPU a snapshot: of the watch, and of all brokers above what they use at rest."""

    watch: float
    brokers: float


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("--lines", default="2.7.1,4.3.1")
    given.add_argument("--rounds", type=int, default=30)
    given.add_argument("--pairs", type=int, default=3)
    asked = given.parse_args()
    for line in asked.lines.split(","):
        with tempfile.TemporaryDirectory(prefix="kfix-watch-tls-") as folder:
            os.environ |= {"KFIX_STATE_HOME": f"{folder}/state", "KFIX_LAB_HOME": f"{folder}/labs", "NO_COLOR": "1"}
            mode = "zk" if line.startswith("2.") else "kraft"
            labs: dict[str, Lab] = {}
            try:
                for way, security in WAYS.items():
                    labs[way] = Lab.up(LabSpec(name=way, kafka=line, mode=mode, security=security))
                compare(labs, line, asked.rounds, asked.pairs)
            finally:
                for lab in labs.values():
                    lab.down()
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")


def compare(labs: dict[str, Lab], line: str, rounds: int, count: int) -> None:
    for lab in labs.values():  # Java compiles what a watch needs
        run([KFIX, "watch", *address_of(lab), "--every", "1", "--snapshots", "10"])
    costs: dict[str, list[Cost]] = {way: [] for way in labs}
    for _ in range(count):
        for way, lab in labs.items():
            costs[way].append(measured(lab, rounds))
    print(f"Kafka {line}, {len(labs['tls'].broker_ids)} brokers, {count} pairs of {rounds} snapshots")
    for what in ("watch", "brokers"):
        tls, plain = ([getattr(each, what) for each in costs[way]] for way in WAYS)
        ratio = statistics.median(tls) / statistics.median(plain)
        print(
            f"  CPU a snapshot, {what}: {1000 * statistics.median(tls):.0f} ms with TLS ({spread(tls)}), "
            f"{1000 * statistics.median(plain):.0f} ms without ({spread(plain)}): {ratio:.1f}x"
        )
    for way, lab in labs.items():
        for said in asked_of(address_of(lab)):
            print(f"  {way}: {said}", flush=True)


def address_of(lab: Lab) -> list[str]:
    files = lab.client_files
    return ["--command-config", str(files[0])] if files else ["--bootstrap-server", lab.bootstrap_servers]


def measured(lab: Lab, rounds: int) -> Cost:
    watch = [KFIX, "watch", *address_of(lab), "--every", "1", "--snapshots"]
    rest = at_rest(lab, 5.0)
    short = run([*watch, str(_SHORT)])
    began, before = time.monotonic(), used_by_brokers(lab)
    long = run([*watch, str(rounds + _SHORT)])
    theirs = used_by_brokers(lab) - before - rest * (time.monotonic() - began)
    return Cost((long.cpu - short.cpu) / rounds, theirs / (rounds + _SHORT))


def at_rest(lab: Lab, seconds: float) -> float:
    """Returns the cores that the brokers use without a watch."""
    before = used_by_brokers(lab)
    time.sleep(seconds)
    return (used_by_brokers(lab) - before) / seconds


def used_by_brokers(lab: Lab) -> float:
    """Returns the seconds of CPU that the processes of the brokers have used so far."""
    return sum(used_by(record.pid) for each in lab.broker_ids if (record := lab.state.record("broker", each)))


def used_by(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def spread(values: list[float]) -> str:
    return f"{1000 * min(values):.0f} to {1000 * max(values):.0f}"


if __name__ == "__main__":
    main()
