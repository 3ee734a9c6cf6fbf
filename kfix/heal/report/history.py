"""Prints the history of runs: one line per run, or one run event by event."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console

from kfix.core.clock_steps import clock_steps
from kfix.core.harmless import for_json
from kfix.core.run import RunSummary
from kfix.front.console import styled, table

_HIDDEN = frozenset({"v", "seq", "prev", "t", "mono", "boot", "type", "run", "plan", "who"})


def print_runs(runs: Iterable[RunSummary], console: Console) -> None:
    found = table(header_style="bold")
    # A run's id is copied into the next command: it is never folded.
    found.add_column("run", no_wrap=True)
    for name in ("runbook", "finding", "by", "outcome", "exit", "changed"):
        found.add_column(name, overflow="fold")
    for run in runs:
        outcome = run.outcome + (f" after {run.seconds:.1f} s" if run.seconds is not None else "")
        exit_code = "" if run.exit < 0 else str(run.exit)
        changed = _loops(run.changed) or "nothing"
        found.add_row(run.id, run.runbook, run.finding, run.user, outcome, exit_code, changed)
        for note in run.notes:
            found.add_row("", "", styled(note, "yellow"))
    console.print(found)


def _loops(steps: Iterable[str]) -> str:
    """Counts the steps of each loop, such as `grow (50)`."""
    counted = Counter(step.partition(":")[0] for step in steps)
    return ", ".join(name if n == 1 else f"{name} ({n})" for name, n in counted.items())


def print_records(records: Iterable[Mapping[str, Any]], console: Console) -> None:
    """Prints the records in their order; a line of its own states where the clock was set between two of them."""
    kept = tuple(records)
    steps = {step.seq: step.words for step in clock_steps(kept)}
    for number, record in enumerate(kept):
        if number in steps:
            console.print(styled(steps[number], "yellow"))
        rest = {k: v for k, v in record.items() if k not in _HIDDEN}
        words = "  ".join(f"{k}={_short(v)}" for k, v in rest.items())
        console.print(styled(f"{record['t']}  {record['type']:<14} {words}"), soft_wrap=True)


def _short(value: Any) -> str:
    return value if isinstance(value, str) else for_json(value)
