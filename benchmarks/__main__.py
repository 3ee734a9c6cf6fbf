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
from pathlib import Path

from benchmarks.pairs import pairs, run
from benchmarks.topics import create_topics, tool_command
from kfix.lab import Lab, LabSpec

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
KFIX = str(Path(sys.executable).with_name("kfix"))


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    count = 3 if quick else 9
    with tempfile.TemporaryDirectory(prefix="kfix-bench-") as folder:
        os.environ |= {"KFIX_STATE_HOME": f"{folder}/state", "KFIX_LAB_HOME": f"{folder}/labs", "NO_COLOR": "1"}
        rows = [start(count)]
        lab = Lab.up(LabSpec(name="bench", heap_mb=512, settings={"zookeeper.session.timeout.ms": "6000"}))
        try:
            rows += [diagnose(lab, partitions, count) for partitions in (100, 2000)]
            healed = heal(lab, 2 if quick else 5)
        finally:
            lab.down()
    text = page(rows, healed, count)
    print(text)
    if not quick:
        PAGE.write_text(text)


def start(count: int) -> str:
    floor = [sys.executable, "-c", "import typer, rich"]
    return pairs([KFIX, "--help"], floor, count * 2).row("`kfix --help` / `python -c 'import typer, rich'`", "<= 2.0x")


def diagnose(lab: Lab, partitions: int, count: int) -> str:
    create_topics(lab, partitions)
    ours = [KFIX, "diagnose", "--bootstrap-server", lab.bootstrap_servers]
    theirs = tool_command(lab, "kafka.admin.TopicCommand", "--describe", "--unavailable-partitions")
    measured = pairs(ours, theirs, count)
    name = f"`kfix diagnose`, {partitions} partitions / `kafka-topics --describe --unavailable-partitions`"
    return measured.row(name, "<= 0.5x")


def heal(lab: Lab, count: int) -> list[float]:
    """Returns the seconds from the start of the command to its verified end, once for each newly broken cluster."""
    found = []
    for _ in range(count):
        lab.break_("coordinator-stuck")
        found.append(heal_once(lab))
        lab.mend()
    return found


def heal_once(lab: Lab) -> float:
    # A separate state folder, since the cooldown of a runbook outlasts the next round.
    os.environ["KFIX_STATE_HOME"] = tempfile.mkdtemp(prefix="state-", dir=os.environ["KFIX_LAB_HOME"])
    plan = Path(os.environ["KFIX_STATE_HOME"], "plan.json")
    address = ["--bootstrap-server", lab.bootstrap_servers]
    run([KFIX, "runbook", "plan", "coordinator-stuck", *address, "-o", str(plan)])
    plan_id = json.loads(plan.read_text())["plan_id"][:8]
    return run([KFIX, "runbook", "apply", "--plan", str(plan), "--approve", f"plan:{plan_id}", *address]).wall


HEAD = """# Benchmarks

Run `make bench` to repeat them. Whole processes, start to exit, in turn (A B A B ...) on one machine; medians of at
least {count} pairs, ratios taken pair by pair. 3 brokers of Kafka 2.7.1 and one ZooKeeper share the machine with the
commands. kfix compares all brokers and ZooKeeper and probes the coordinators; the tool of the same jars asks one
broker (it runs with the stock launcher's flags, without its shell wrapper).

| what | A, s | B, s | A / B wall (range) | A / B CPU | goal |
|---|---|---|---|---|---|
{rows}

The incident coordinator-stuck: seconds from the start of `kfix runbook apply --plan FILE --approve plan:ID` to its
exit with the verified result (coordinator and committed offsets answer in several successive checks): median
**{median:.2f}**, range {low:.2f} to {high:.2f}, {runs} runs, each on a newly broken cluster.

**The first verdict while one broker is frozen** (`python -m benchmarks.first_verdict`): on a terminal the reason is
shown 3.5 s after the start of the command (3.47 to 3.65, 5 runs, load 0.8), 1.5 s before the deadline of 5 s for all
sources; then the second snapshot confirms it. Goal: at most 0.5 s after the deadline.
"""


def page(rows: list[str], walls: list[float], count: int) -> str:
    return HEAD.format(
        count=count,
        rows="\n".join(rows),
        median=statistics.median(walls),
        low=min(walls),
        high=max(walls),
        runs=len(walls),
    )


if __name__ == "__main__":
    main()
