"""`kfix lab demo`: the founding incident on a real cluster, from "consumers hang" to "proved healed".

It runs every command that it shows as a process of its own, as an operator would type it; no output is canned.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from kfix.core.derive.coordinator import partition_of_group
from kfix.core.errors import KfixError
from kfix.front.console import HarmlessConsole, console_on, styled
from kfix.lab import Lab, LabSpec
from kfix.lab.cli.console import end_like_ctrl_c, progress
from kfix.lab.workload.workload import Workload, WorkloadPlan

GROUP, TOPIC = "payments", "orders"
_HANG_SECONDS, _WELL_SECONDS, _RECOVERY_SECONDS = 6.0, 3.0, 60.0


class DemoError(KfixError):
    """The demo did not proceed as expected: a fault of kfix or of the machine."""


def demo(
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the demo's lab.")] = "demo",
    keep: Annotated[bool, typer.Option("--keep", help="Leave the healed cluster running.")] = False,
) -> None:
    """Replay the founding incident on a real cluster: break it, diagnose it, heal it behind gates, prove it."""
    console = console_on(sys.stdout)
    end_like_ctrl_c()
    story = _Story(console)
    story.chapter("A cluster", "A real ZooKeeper and three real Kafka 2.7.1 brokers, on this machine only.")
    with progress() as report:
        lab = Lab.up(LabSpec(name=name, racks=("a", "b", "c")), progress=report)
    try:
        story.took(f"up: {lab.bootstrap_servers}")
        _play(story, lab)
        if keep:
            story.say(f"the cluster is still running; end it with: kfix lab down --name {name}")
    finally:
        if not keep:
            lab.down()
            story.say("everything that the demo started has been stopped")
    story.summary()


@dataclass
class _Story:
    console: HarmlessConsole
    began: float = field(default_factory=time.monotonic)
    lap: float = field(default_factory=time.monotonic)
    times: list[tuple[str, float]] = field(default_factory=list)

    def chapter(self, title: str, why: str) -> None:
        self.lap = time.monotonic()
        self.console.print()
        self.console.rule(styled(f"{len(self.times) + 1}. {title}", "bold"), align="left")
        self.console.print(why, style="dim", markup=False)
        self.times.append((title, 0.0))

    def say(self, text: str, style: str = "") -> None:
        self.console.print(f"  {text}", style=style, markup=False)

    def took(self, text: str) -> None:
        seconds = time.monotonic() - self.lap
        self.times[-1] = (self.times[-1][0], seconds)
        self.say(f"{text}  ({seconds:.1f} s)", style="green")

    def command(self, words: list[str]) -> None:
        self.console.print()
        self.console.print("$ kfix " + " ".join(words), style="bold cyan", markup=False, soft_wrap=True)

    def summary(self) -> None:
        self.console.print()
        self.console.rule(styled("How long it took", "bold"), align="left")
        for title, seconds in self.times:
            self.console.print(f"  {seconds:6.1f} s  {title}", markup=False)
        self.console.print(f"  {time.monotonic() - self.began:6.1f} s  in all", markup=False, style="bold")


def _play(story: _Story, lab: Lab) -> None:

    def service(group: str, seconds: float) -> Workload:
        load = Workload(WorkloadPlan(lab.bootstrap_servers, TOPIC, group, rate=40, seconds=seconds))
        load.start()
        return load

    partition = partition_of_group(GROUP, 5)
    _well(story, lab, service)
    story.chapter("The incident", "The steps of a production incident, on this cluster:")
    broken = lab.break_("coordinator-stuck", partition=partition)
    for sentence in broken.did:
        story.say(sentence)
    story.took(f"group {GROUP!r} is coordinated by __consumer_offsets-{partition}, which has no leader now")
    story.chapter(
        "Consumers hang",
        f"The same service again, and one whose group ({_other(partition)}) has another coordinator.",
    )
    hanging, witness = service(GROUP, 300), service(_other(partition), 300)
    _watch_hang(story, hanging, witness)
    witness.stop()
    story.took("brokers are up, the topic has leaders, and one group receives nothing")
    _diagnose(story, lab)
    healed_at = _heal(story, lab)
    _recover(story, hanging, healed_at)


def _well(story: _Story, lab: Lab, service: Callable[[str, float], Workload]) -> None:
    story.chapter("A service", f"A producer of topic {TOPIC!r} and a consumer of group {GROUP!r}, counted.")
    with lab.access() as access:
        access.create_topic(TOPIC, [list(lab.broker_ids)] * 3, {"min.insync.replicas": "1"})
    load = service(GROUP, 60)
    _until(lambda: load.counts().received > 0, "the healthy consumer receives its first record")
    time.sleep(_WELL_SECONDS)
    counts = load.stop()
    if counts.lost or counts.waiting:
        raise DemoError(f"the healthy service did not receive all records: {counts}")
    story.took(
        f"sent {counts.sent}, acknowledged {counts.acknowledged}, received {counts.received}, lost {counts.lost}"
    )


def _watch_hang(story: _Story, hanging: Workload, witness: Workload) -> None:
    ends = time.monotonic() + _HANG_SECONDS
    while time.monotonic() < ends:
        time.sleep(_HANG_SECONDS / 3)
        stuck, well = hanging.counts(), witness.counts()
        story.say(
            f"group {hanging.plan.group}: sent {stuck.acknowledged:4d}, received {stuck.received:4d}      "
            f"group {witness.plan.group}: sent {well.acknowledged:4d}, received {well.received:4d}",
            style="red" if not stuck.received else "",
        )
    if hanging.counts().received:
        raise DemoError(f"group {GROUP} received records although its coordinator is stuck")


def _diagnose(story: _Story, lab: Lab) -> None:
    story.chapter("The diagnosis", "kfix reads every broker and ZooKeeper, compares them, and probes the coordinators.")
    code = _run(story, ["diagnose", "--bootstrap-server", lab.bootstrap_servers])
    if code != 21:
        raise DemoError(f"kfix diagnose ended with exit code {code}, not with 21 (critical)")
    story.took("exit code 21: critical, with the command that heals it")


def _heal(story: _Story, lab: Lab) -> float:
    """Runs the remedy and returns its end, in seconds of the monotonic clock."""
    story.chapter(
        "The remedy", "The runbook plans, shows its evidence, and stops at its gate: nothing changes without approval."
    )
    address = ["--bootstrap-server", lab.bootstrap_servers]
    if sys.stdin.isatty() and sys.stdout.isatty():
        code = _run(story, ["runbook", "apply", "coordinator-stuck", *address])
    else:
        code = _apply_without_terminal(story, address)
    if code != 0:
        raise DemoError(f"the runbook ended with exit code {code}; the cluster is as it was left (docs/exit-codes.md)")
    story.took("exit code 0: applied and proved")
    return time.monotonic()


def _apply_without_terminal(story: _Story, address: list[str]) -> int:

    with tempfile.TemporaryDirectory(prefix="kfix-demo-") as folder:
        plan = Path(folder, "plan.json")
        planned = _run(story, ["runbook", "plan", "coordinator-stuck", *address, "--output-file", str(plan)])
        if planned != 0:
            return planned
        approval = f"plan:{json.loads(plan.read_text())['plan_id'][:8]}"
        story.say(f"no terminal for the gate: the approval names exactly this plan, {approval}", style="yellow")
        return _run(story, ["runbook", "apply", "--plan", str(plan), "--approve", approval, *address])


def _recover(story: _Story, hanging: Workload, healed_at: float) -> None:
    story.chapter(
        "The proof that counts", f"The consumer of group {GROUP!r} has been waiting all the time; it was not restarted."
    )
    _until(lambda: hanging.counts().received > 0, f"group {GROUP} receives records again")
    first = time.monotonic() - healed_at
    counts = hanging.stop()
    story.say(f"the first record came {max(0.0, first):.1f} s after the runbook's end")
    if counts.lost or counts.waiting or not counts.received:
        raise DemoError(f"the service did not receive all records after the remedy: {counts}")
    story.took(
        f"sent {counts.sent}, acknowledged {counts.acknowledged}, received {counts.received}, "
        f"lost {counts.lost}, duplicated {counts.duplicated}"
    )


def _run(story: _Story, words: list[str]) -> int:

    story.command(words)
    story.console.file.flush()
    own_state = os.environ | {"PYTHONUNBUFFERED": "1"}
    return subprocess.run([sys.executable, "-m", "kfix", *words], check=False, env=own_state).returncode


def _until(holds: Callable[[], bool], what: str) -> None:
    ends = time.monotonic() + _RECOVERY_SECONDS
    while not holds():
        if time.monotonic() > ends:
            raise DemoError(f"not within {_RECOVERY_SECONDS:.0f} s: {what}")
        time.sleep(0.05)


def _other(partition: int) -> str:
    """Returns a group of another offsets partition."""
    return next(g for g in ("billing", "shipping", "search", "audit") if partition_of_group(g, 5) != partition)
