"""Runs of plans: one in a line of the history, how one was aborted, and one that was begun and not finished."""

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


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """A run of this host's run store that changed something, and neither proved its goal nor was aborted or taken back.

    `began` and `last` are the times of its first and last record. `outcome` is "" where the run has no end; then it was
    killed, or `alive` says that its process still carries it out. `changed` and `doubtful` are steps, the latter those
    whose result was never recorded. `throttles`: it has set throttles that it has not removed, `compaction` the same of
    settings that hasten compaction. `broken`: its journal is damaged, so that there may be more. `options` are those
    that a command about it needs to reach its cluster, besides the address, which its plan has.
    """

    id: str
    runbook: str
    finding: str
    user: str
    host: str
    kfix: str
    began: str
    last: str
    outcome: str
    alive: bool
    changed: tuple[str, ...]
    doubtful: tuple[str, ...]
    throttles: bool
    compaction: bool
    broken: bool
    options: str = ""
