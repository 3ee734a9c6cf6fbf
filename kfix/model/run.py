"""One run of a plan, in one line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunSummary:
    """`exit` is -1 where the run has no end; `seconds` are those from the approval to the proof."""

    id: str
    started: str
    cluster: str
    runbook: str
    finding: str
    user: str
    outcome: str
    exit: int
    changed: tuple[str, ...]
    seconds: float | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aborted:
    """How an aborted run leaves the cluster. `rollback` is the command that takes back what stays changed, or ""."""

    run: str
    changed: tuple[str, ...]
    put_back: tuple[str, ...]
    under_way: str
    rollback: str
