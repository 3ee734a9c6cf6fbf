"""A run, told while it goes on: one line an event, with the seconds since it began, from the journal's own records.

Telling never disturbs a run: where the output is gone the run goes on, and the journal has it all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from kfix.model.plan import Plan

Record = Mapping[str, Any]
_SKIPPED = {"goal_met": "the goal is met", "not_needed": "what it is for is there already"}


class Teller:
    """Listens to a journal. What is repeated while waiting is told once, until it changes."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._console = console
        self._what = {step.id: step.what for step in plan.steps}
        self._wanted = plan.goal.consecutive
        self._began = 0.0
        self._said = ""
        self._in_row = 0

    def __call__(self, record: Record) -> None:
        if record["type"] == "run.start":
            self._began = record["mono"]
        told = self._told(record)
        if told is not None and told[0] != self._said:
            self._said = told[0]
            with suppress(OSError):
                self._line(record["mono"] - self._began, *told)

    def _line(self, seconds: float, text: str, style: str) -> None:
        self._console.print(Text.assemble((f"{seconds:7.2f} s  ", "dim"), (text, style)))

    def _told(self, record: Record) -> tuple[str, str] | None:
        """None for what only the journal needs."""
        match record["type"]:
            case "run.start":
                return f"run {record['run']}", "bold"
            case "facts.recheck":
                return f"{record['key']} was {record['was']}, is {record['is_']}", "red"
            case "verify.sample":
                return self._proof(record) if record["part"] == "proof" else None
            case _:
                return self._of_step(record.get("step", ""), record)

    def _of_step(self, step: str, record: Record) -> tuple[str, str] | None:
        words: tuple[str, str] | None = None
        match record["type"]:
            case "gate.answered" if record["passed"]:
                words = f"approved ({record['answer']})", "green"
            case "step.intent":
                words = self._what[step], "bold"
            case "step.result":
                words = self._result(record)
            case "step.probe":
                words = f"looked at the cluster, did not ask again: {record['progress']}", "yellow"
            case "step.verified":
                words = "took", "green"
            case "step.unproved":
                words = f"did not take ({record['verdict']}): {record['text']}", "yellow"
            case "step.skipped":
                words = f"not needed, {_SKIPPED[record['why']]}", "dim"
        return None if words is None else (f"{step}: {words[0]}", words[1])

    def _result(self, record: Record) -> tuple[str, str]:
        if record["ok"]:
            return "accepted", ""
        if record["changed"] is None:
            return f"no answer ({record['error']}); it may or may not have happened", "red"
        return f"not done: {record['error']}", "yellow"

    def _proof(self, record: Record) -> tuple[str, str] | None:
        if record["verdict"] != "pass":
            self._in_row = 0
            return f"proof: {record['check']}: {record['observed']}", "yellow"
        if record["in_row"] == 0 or record["in_row"] == self._in_row:
            return None
        self._in_row = record["in_row"]
        return f"proof: good read {self._in_row} of {self._wanted}", "green"


def closing(plan: Plan, changed: tuple[str, ...], seconds: float, run: str) -> Text:
    """The last line: what healed it, and how long it took from the approval to the proof."""
    if not changed:
        return Text(f"ALREADY WELL  {plan.finding.key}; nothing was changed (run {run})", "bold green")
    steps = ", ".join(dict.fromkeys(text.partition(":")[0] for text in changed))
    head = Text(f"PROVED HEALED  {plan.finding.key}  by {steps}, {seconds:.2f} s from approval to proof", "bold green")
    return head.append(f"\nlater:  kfix runbook verify {run}", "")


class NdjsonTeller:
    """The journal's records as they are, one a line."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __call__(self, record: Record) -> None:
        with suppress(OSError):
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
            self._file.flush()


class Terminal:
    """The human at the keyboard. Without a terminal on both sides nobody is there."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @property
    def interactive(self) -> bool:
        return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty() and self._console.file.isatty()

    def show(self, text: str) -> None:
        with suppress(OSError):
            self._console.print()
            self._console.print(Text(text), soft_wrap=True)

    def ask(self, prompt: str) -> str | None:
        """End of input, or an output that is gone, is no answer."""
        try:
            self._console.print(Text(prompt, "bold"), end="", soft_wrap=True)
            line = sys.stdin.readline()
        except (OSError, ValueError):
            return None
        return line or None
