"""What the run store knows: one line a run, made from its journal alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kfix.model.run import RunSummary
from kfix.runbook.journal.runs import RunDir, RunStore


def summaries(store: RunStore) -> Iterator[RunSummary]:
    return (summary(run) for run in store.runs())


def summary(run: RunDir) -> RunSummary:
    """A journal without an end is a run that was killed, or that is still going on."""
    back = run.journal()
    start: dict[str, Any] = next((r for r in back.records if r["type"] == "run.start"), {})
    end: dict[str, Any] = next((r for r in reversed(back.records) if r["type"] == "run.end"), {})
    notes = [back.broken] if back.broken else []
    notes += ["the last line is torn: the run was cut off while writing"] if back.torn else []
    notes += [] if end else ["it has no end: killed, or still going on"]
    notes += [f"left on: {'; '.join(end['left'])}"] if end.get("left") else []
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
