"""`make bench`: ratios against peers and floors in one run, written to docs/benchmarks.md.

python -m benchmarks            everything (a lab of 3 brokers, about 5 minutes)
python -m benchmarks --quick    fewer runs, nothing written
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.pairs import pairs, run
from benchmarks.topics import create_topics, tool_command
from kfix.core.errors import KfixError
from kfix.core.kafka import group_messages
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.security import Security
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline
from kfix.lab import Lab, LabSpec

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
KFIX = str(Path(sys.executable).with_name("kfix"))
IMPORTS = [sys.executable, "-c", "import typer, rich"]


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    count = 3 if quick else 9
    with tempfile.TemporaryDirectory(prefix="kfix-bench-") as folder:
        os.environ |= {"KFIX_STATE_HOME": f"{folder}/state", "KFIX_LAB_HOME": f"{folder}/labs", "NO_COLOR": "1"}
        light = "`kfix --help` / `python -c 'import typer, rich'`"
        rows = [pairs([KFIX, "--help"], IMPORTS, count * 2).row(light, "<= 1.5x")]
        lab = Lab.up(LabSpec(name="bench", heap_mb=512, settings={"zookeeper.session.timeout.ms": "6000"}))
        try:
            rows += [diagnose(lab, partitions, count) for partitions in (100, 2000)]
            rows.insert(1, saved(lab, Path(folder, "small.json"), count))
            healed = heal(lab, 2 if quick else 7)
        finally:
            lab.down()
    text = page(rows, healed, count)
    print(text)
    if not quick:
        PAGE.write_text(text)


def saved(lab: Lab, file: Path, count: int) -> str:
    run([KFIX, "snapshot", "save", str(file), "--bootstrap-server", lab.bootstrap_servers])
    name = "`kfix diagnose --from`, 100 partitions / `python -c 'import typer, rich'`"
    return pairs([KFIX, "diagnose", "--from", str(file)], IMPORTS, count * 2).row(name, "<= 2.0x")


def diagnose(lab: Lab, partitions: int, count: int) -> str:
    create_topics(lab, partitions)
    ours = [KFIX, "diagnose", "--bootstrap-server", lab.bootstrap_servers]
    theirs = tool_command(lab, "TopicCommand", "--describe", "--unavailable-partitions")
    measured = pairs(ours, theirs, count)
    name = f"`kfix diagnose`, {partitions} partitions / `kafka-topics --describe --unavailable-partitions`"
    return measured.row(name, "<= 0.5x")


def heal(lab: Lab, count: int) -> list[tuple[float, float]]:
    """Returns, for each newly broken cluster, the seconds from the start of the command to the moment when the
    coordinator answers again, and to the verified end of the command.
    """
    found = []
    for _ in range(count):
        broken = lab.break_("coordinator-stuck")
        found.append(heal_once(lab, str(broken.group), broken.dead[0]))
        lab.mend()
    return found


def heal_once(lab: Lab, group: str, dead: int) -> tuple[float, float]:
    # A separate state folder, since the cooldown of a runbook outlasts the next round.
    os.environ["KFIX_STATE_HOME"] = tempfile.mkdtemp(prefix="state-", dir=os.environ["KFIX_LAB_HOME"])
    plan = Path(os.environ["KFIX_STATE_HOME"], "plan.json")
    address = ["--bootstrap-server", lab.bootstrap_servers]
    run([KFIX, "runbook", "plan", "coordinator-stuck", *address, "-o", str(plan)])
    plan_id = json.loads(plan.read_text())["plan_id"][:8]
    probe = _Probe([lab.address(b) for b in lab.broker_ids if b != dead], group)
    began = time.perf_counter()
    probe.start()
    wall = run([KFIX, "runbook", "apply", "--plan", str(plan), "--approve", f"plan:{plan_id}", *address]).wall
    probe.join()
    return probe.answered - began, wall


class _Probe(threading.Thread):
    """Asks for the coordinator and the committed offsets of a group every 5 ms, by requests of its own."""

    def __init__(self, addresses: list[str], group: str) -> None:
        super().__init__(daemon=True)
        self._lines = {}
        for address in addresses:
            host, _, port = address.rpartition(":")
            self._lines[int(port)] = BrokerConnection(Endpoint(host, int(port)), Security())
        self._group = group
        self.answered = 0.0

    def run(self) -> None:
        give_up = time.perf_counter() + 30
        while not self.answered and time.perf_counter() < give_up:
            time.sleep(0.005)
            try:
                if self._answers():
                    self.answered = time.perf_counter()
            except KfixError:
                continue

    def _answers(self) -> bool:
        asked = next(iter(self._lines.values()))
        found = asked.call(group_messages.find_coordinator(self._group), Deadline.after(2))
        line = self._lines.get(found.endpoint.port)
        if found.error or line is None:
            return False
        error, _ = line.call(group_messages.offset_fetch(self._group), Deadline.after(2))
        return error == 0


HEAD = """# Benchmarks

Run `make bench` to repeat them. Whole processes, start to exit, in turn (A B A B ...) on one machine; medians of at
least {count} pairs, ratios taken pair by pair. 3 brokers of Kafka 2.7.1 and one ZooKeeper share the machine with the
commands. kfix compares all brokers and ZooKeeper and probes the coordinators; the tool of the same jars asks one
broker (it runs with the stock launcher's flags, without its shell wrapper). Larger clusters, the floor on bare sockets,
judging alone and frozen servers: [benchmarks-large.md](benchmarks-large.md).

| what | A, s | B, s | A / B wall (range) | A / B CPU | goal |
|---|---|---|---|---|---|
{rows}

The incident coordinator-stuck, {runs} times, each on a newly broken cluster: seconds from the start of the command
`kfix runbook apply --plan FILE --approve plan:ID`

| until | median | range | goal |
|---|---|---|---|
| the coordinator answers FindCoordinator and OffsetFetch (asked every 5 ms from outside) | {answers} | <= 0.5 |
| the command exits with the proved result, after three successive checks | {exits} | <= 0.9 |

Load of the machine at the end: {load:.1f}.
"""


def page(rows: list[str], healed: list[tuple[float, float]], count: int) -> str:
    answers, exits = zip(*healed, strict=True)
    return HEAD.format(
        count=count,
        rows="\n".join(rows),
        answers=_middle(answers),
        exits=_middle(exits),
        runs=len(healed),
        load=os.getloadavg()[0],
    )


def _middle(seconds: Sequence[float]) -> str:
    return f"**{statistics.median(seconds):.2f}** | {min(seconds):.2f} to {max(seconds):.2f}"


if __name__ == "__main__":
    main()
