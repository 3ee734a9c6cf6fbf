"""Runs of plans: a row of the history, the result of an abort, and an unfinished run."""

from dataclasses import dataclass
from typing import Annotated


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
    """A run of this host that changed something, and neither proved its goal nor was aborted or rolled back."""

    id: str
    runbook: str
    finding: str
    user: str
    host: str
    kfix: str
    began: Annotated[str, "time of the first record of its journal, ISO 8601, UTC"]
    last: Annotated[str, "time of the last record"]
    outcome: Annotated[str, 'how it ended, "" if it was killed or is still being carried out']
    alive: Annotated[bool, "true: its process is still carrying it out; it does not count for exit_code"]
    changed: Annotated[tuple[str, ...], "its steps that changed the cluster"]
    doubtful: Annotated[tuple[str, ...], "its steps that were issued, and whose result was not recorded"]
    throttles: Annotated[bool, "true: it has set throttles that it has not removed"]
    compaction: Annotated[bool, "true: it has set settings that hasten compaction, and has not restored them"]
    retention: Annotated[bool, "true: it keeps all records of a topic for a time, and has not restored its retention"]
    broken: Annotated[bool, "true: its journal is damaged, so there may be more"]
    options: Annotated[str, "what a command about it has to repeat to reach the cluster, besides the address"] = ""
