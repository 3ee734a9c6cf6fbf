"""Runs of plans: a row of the history, the result of an abort, and an unfinished run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunSummary:
    """`exit` is -1 if the run has no end; `seconds` are those from the approval to the proof."""

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
    """The state after an abort. `rollback` is the command that reverts the remaining changes, or ""."""

    run: str
    changed: tuple[str, ...]
    put_back: tuple[str, ...]
    under_way: str
    rollback: str


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """A run of this host's run store that changed something, and neither proved its goal nor was aborted or rolled
    back.

    `began` and `last` are the times of its first and last record. `outcome` is "" if the run has no end: it was killed,
    or, with `alive`, its process still carries it out. `changed` and `doubtful` are steps, the latter without a
    recorded result. `throttles` and `compaction`: it has not removed its throttles or its settings that hasten
    compaction. `broken`: its journal is damaged, so there may be more. `options` are the options, besides the address
    in its plan, with which a command about it reaches its cluster.
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
