"""A run, told while it goes on: one line an event, with the seconds since it began, from the journal's own records.

Telling never disturbs a run: where the output is gone the run goes on, and the journal has it all.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from kfix.harmless import for_json
from kfix.model.plan.answer import Answer
from kfix.model.plan.plan import CheckCall, Plan
from kfix.model.run import Aborted
from kfix.report.console import block, joined, styled
from kfix.report.runbook.progress import ProgressLine
from kfix.report.runbook.words import told_of_run, told_of_step

Record = Mapping[str, Any]
# More than a terminal gives in one line.
_LONGEST_ANSWER = 4096


class Teller:
    """Listens to a journal. What is repeated while waiting is told once, until it changes."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._console = console
        self._what = {step.id: step.what for step in plan.steps}
        self._wanted = plan.goal.consecutive
        self._began: float | None = None
        self._said = ""
        self._in_row = 0
        self._progress = ProgressLine(console)

    def __call__(self, record: Record) -> None:
        # A run that takes another one back is told by the same teller: it begins anew.
        if self._began is None or record["type"] in {"run.start", "run.resumed"}:
            self._began = record["mono"]
        seconds = record["mono"] - self._began
        with suppress(OSError):
            if record["type"] in {"progress", "wait"}:
                self._progress.show(seconds, record)
                return
            self._progress.clear()
            told = self._told(record)
            if told is not None and told[0] != self._said:
                self._said = told[0]
                self._line(seconds, *told)

    def _line(self, seconds: float, text: str, style: str) -> None:
        self._console.print(joined((f"{seconds:7.2f} s  ", "dim"), (text, style)))

    def _told(self, record: Record) -> tuple[str, str] | None:
        """None for what only the journal needs."""
        if record["type"] == "verify.sample":
            return self._proof(record) if record["part"] == "proof" else None
        if "step" not in record or record["type"] == "facts.recheck":
            return told_of_run(record)
        step = record["step"]
        words = told_of_step(record, self._meaning(step))
        return None if words is None else (f"{step}: {words[0]}", words[1])

    def _meaning(self, step: str) -> str:
        """A step that takes another one back is not in the plan that failed."""
        return (
            self._what.get(step)
            or f"takes back: {self._what.get(step.removeprefix('undo-').removeprefix('order-'), step)}"
        )

    def _proof(self, record: Record) -> tuple[str, str] | None:
        if record["verdict"] != "pass":
            self._in_row = 0
            return f"proof: {record['check']}: {record['observed']}", "yellow"
        if record["in_row"] == 0 or record["in_row"] == self._in_row:
            return None
        self._in_row = record["in_row"]
        return f"proof: good read {self._in_row} of {self._wanted}", "green"


def closing(
    plan: Plan,
    changed: tuple[str, ...],
    seconds: float,
    run: str,
    *,
    standing: tuple[tuple[CheckCall, Answer], ...] = (),
    left: tuple[str, ...] = (),
) -> Text:
    """The last lines: what healed it, how long from the approval to the proof, and what is still to come."""
    if not changed and plan.undoes:
        return styled(f"NOTHING TO TAKE BACK  of run {plan.undoes}; nothing was changed (run {run})", "bold green")
    if not changed:
        return styled(f"ALREADY WELL  {plan.finding.key}; nothing was changed (run {run})", "bold green")
    steps = ", ".join(dict.fromkeys(text.partition(":")[0].removeprefix("undo-") for text in changed))
    done = (
        f"TAKEN BACK  run {plan.undoes}: {steps}" if plan.undoes else f"PROVED HEALED  {plan.finding.key}  by {steps}"
    )
    told = [styled(f"{done}, {seconds:.2f} s from approval to proof", "bold green")]
    told += [styled(f"left out:  {text}", "yellow") for text in left]
    told += [
        styled(f"still to come:  {call}: {answer.observed}; wanted: {answer.wanted}", "yellow")
        for call, answer in standing
    ]
    return block(*told, styled(f"later:  kfix runbook verify {run}"))


def aborted(ended: Aborted) -> Text:
    """What an abort put back, what stays as it is, and what takes that back."""
    rows = [
        styled(f"{ended.run}: aborted"),
        styled(f"put back:  {'; '.join(ended.put_back) or 'nothing, and nothing was left to put back'}"),
        styled(f"stays changed:  {'; '.join(ended.changed) or 'nothing'}"),
    ]
    rows += [styled(ended.under_way, "yellow")] if ended.under_way else []
    if ended.rollback:
        rows.append(styled(f"to take it back:  {ended.rollback}"))
    elif ended.changed:
        rows.append(styled("what stays changed cannot be taken back"))
    return block(*rows)


class NdjsonTeller:
    """The journal's records as they are, one a line."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __call__(self, record: Record) -> None:
        with suppress(OSError):
            self._file.write(for_json(record) + "\n")
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
            self._console.print(styled(text), soft_wrap=True)

    def ask(self, prompt: str, within: float | None = None) -> str | None:
        """End of input, `within` seconds without an answer, or an output that is gone, is no answer."""
        try:
            self._console.print(styled(prompt, "bold"), end="", soft_wrap=True)
            self._console.file.flush()
            return typed_line(within)
        except (OSError, ValueError, termios.error):
            return None


#: A pasted block is there at once; nobody types the next line so fast.
_NEXT_LINE_SECONDS = 0.05


def typed_line(within: float | None) -> str | None:
    """One line that was typed from now on. Whatever waits before it is dropped.

    Where more lines come with it, it is a pasted block, and no answer: what is returned then has a second line. The
    terminal itself is read, not `sys.stdin`, whose buffer nobody can empty.
    """
    keyboard = sys.stdin.fileno()
    termios.tcflush(keyboard, termios.TCIFLUSH)
    deadline = None if within is None else time.monotonic() + within
    typed = b""
    while b"\n" not in typed and len(typed) < _LONGEST_ANSWER:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if left is not None and not select.select([keyboard], [], [], left)[0]:
            return None
        more = os.read(keyboard, _LONGEST_ANSWER)
        if not more:
            return None
        typed += more
    line, _, rest = typed.partition(b"\n")
    pasted = bool(rest) or bool(select.select([keyboard], [], [], _NEXT_LINE_SECONDS)[0])
    termios.tcflush(keyboard, termios.TCIFLUSH)
    return line.decode("utf-8", "replace") + ("\n(a pasted block)\n" if pasted else "\n")
