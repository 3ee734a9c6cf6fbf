"""Reports a run while it is executed: one line per event, with the seconds since it began, from journal records.

An output that has gone away never stops a run; the journal holds everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from kfix.core.diagnosis.finding import REQUEST
from kfix.core.harmless import for_json
from kfix.core.run import Aborted
from kfix.front.console import block, joined, styled
from kfix.heal.hints import raise_features
from kfix.heal.model.answer import Answer
from kfix.heal.model.plan import CheckCall, Plan
from kfix.heal.report.words import ProgressLine, run_words, step_words

Record = Mapping[str, Any]


class RunReporter:
    """Listens to a journal and prints it. A line that repeats while waiting is printed once, until it changes."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._console = console
        self._what = {step.id: step.what for step in plan.steps}
        self._consecutive = plan.goal.consecutive
        self._began: float | None = None
        self._last = ""
        self._in_row = 0
        self._progress = ProgressLine(console)

    def __call__(self, record: Record) -> None:
        # The same reporter also reports the rollback of a failed run, which starts at 0 s.
        if self._began is None or record["type"] in {"run.start", "run.resumed"}:
            self._began = record["mono"]
        seconds = record["mono"] - self._began
        with suppress(OSError):
            if record["type"] in {"progress", "wait"}:
                self._progress.show(seconds, record)
                return
            self._progress.clear()
            words = self._words_of(record)
            if words is not None and words[0] != self._last:
                self._last = words[0]
                self._line(seconds, *words)

    def _line(self, seconds: float, text: str, style: str) -> None:
        self._console.print(joined((f"{seconds:7.2f} s  ", "dim"), (text, style)))

    def _words_of(self, record: Record) -> tuple[str, str] | None:
        """Returns text and style of a line, or None for records that are not shown."""
        if record["type"] == "verify.sample":
            return self._proof(record) if record["part"] == "proof" else None
        if "step" not in record or record["type"] == "facts.recheck":
            return run_words(record)
        step = record["step"]
        words = step_words(record, self._meaning(step))
        return None if words is None else (f"{step}: {words[0]}", words[1])

    def _meaning(self, step: str) -> str:
        """Returns what a step does. A reverting step is not in the plan of the run that failed."""
        return (
            self._what.get(step)
            or f"reverts: {self._what.get(step.removeprefix('undo-').removeprefix('order-'), step)}"
        )

    def _proof(self, record: Record) -> tuple[str, str] | None:
        if record["verdict"] != "pass":
            self._in_row = 0
            return f"proof: {record['check']}: {record['observed']}", "yellow"
        if record["in_row"] == 0 or record["in_row"] == self._in_row:
            return None
        self._in_row = record["in_row"]
        return f"proof: successful check {self._in_row} of {self._consecutive}", "green"


def closing(
    plan: Plan,
    changed: tuple[str, ...],
    seconds: float,
    run: str,
    *,
    standing: tuple[tuple[CheckCall, Answer], ...] = (),
    left: tuple[str, ...] = (),
    at: str = "",
) -> Text:
    """Returns the last lines: what healed the finding, the time from approval to proof, and what is still pending.

    `at` ends the command that verifies it again.
    """
    if not changed and plan.undoes:
        return styled(f"NOTHING TO ROLL BACK  of run {plan.undoes}; nothing was changed (run {run})", "bold green")
    requested = plan.finding.code == REQUEST
    if not changed and requested:
        return styled(f"NOTHING TO DO  {plan.runbook.id}; nothing was changed (run {run})", "bold green")
    if not changed:
        return styled(f"ALREADY HEALTHY  {plan.finding.key}; nothing was changed (run {run})", "bold green")
    steps = ", ".join(dict.fromkeys(text.partition(":")[0].removeprefix("undo-") for text in changed))
    done = f"DONE AND PROVED  {plan.runbook.id}" if requested else f"PROVED HEALED  {plan.finding.key}"
    done = f"ROLLED BACK  run {plan.undoes}: {steps}" if plan.undoes else f"{done}  by {steps}"
    words = [styled(f"{done}, {seconds:.1f} s from approval to proof", "bold green")]
    words += [styled(f"skipped:  {text}", "yellow") for text in left]
    words += [
        styled(f"still pending:  {call}: {answer.observed}; expected: {answer.wanted}", "yellow")
        for call, answer in standing
    ]
    if then := raise_features(plan, at):
        words.append(styled(f"to end the upgrade, once no node will go back to the old version:  {then}"))
    return block(*words, styled(f"to verify again later:  kfix runbook verify {run}{at}"))


def aborted(ended: Aborted) -> Text:
    """Returns what an abort restored, which changes remain, and the command that reverts them."""
    rows = [
        styled(f"{ended.run}: aborted"),
        styled(f"restored:  {'; '.join(ended.put_back) or 'nothing, because nothing had to be restored'}"),
        styled(f"changes that remain:  {'; '.join(ended.changed) or 'none'}"),
    ]
    rows += [styled(ended.under_way, "yellow")] if ended.under_way else []
    if ended.rollback:
        rows.append(styled(f"to revert them:  {ended.rollback}"))
    elif ended.changed:
        rows.append(styled("these changes cannot be reverted"))
    return block(*rows)


class NdjsonReporter:
    """Prints the journal's records as they are, one per line."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __call__(self, record: Record) -> None:
        with suppress(OSError):
            self._file.write(for_json(record) + "\n")
            self._file.flush()
