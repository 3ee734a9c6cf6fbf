"""The history of runs: one summary per run, read from its journal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kfix.core.clock_steps import clock_notes
from kfix.core.run import RunSummary
from kfix.heal.journal.runs import RunDir, RunStore


def summaries(store: RunStore) -> Iterator[RunSummary]:
    return (summary(run) for run in store.runs())


def summary(run: RunDir) -> RunSummary:
    """Summarises one run. A journal without an end belongs to a run that was killed or is still running."""
    back = run.journal()
    start: dict[str, Any] = next((r for r in back.records if r["type"] == "run.start"), {})
    end: dict[str, Any] = next((r for r in reversed(back.records) if r["type"] == "run.end"), {})
    notes = [back.broken] if back.broken else []
    notes += ["the last line is incomplete: the run was killed while writing it"] if back.torn else []
    notes += [] if end else ["no end recorded: the run was killed or is still running"]
    notes += clock_notes(back.records)
    notes += [f"still set when it ended: {'; '.join(end['left'])}"] if end.get("left") else []
    notes += [f"still being copied when it ended: {', '.join(end['under_way'])}"] if end.get("under_way") else []
    return RunSummary(
        id=run.id,
        started=str(start.get("t", "")),
        cluster=str(start.get("cluster", "")),
        runbook=str(start.get("runbook", "")),
        finding=str(start.get("finding", "")),
        user=str(start.get("who", {}).get("user", "")),
        outcome=str(end.get("outcome", "unknown")),
        exit=int(end.get("exit", -1)),
        changed=tuple(r["step"] for r in back.records if r["type"] == "step.result" and r["changed"] is not False),
        seconds=end.get("seconds_to_proof"),
        notes=tuple(notes),
    )
