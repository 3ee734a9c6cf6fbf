"""Finds the unfinished runs of a cluster in this host's run store, from their journals alone.

Every diagnosis calls it, so it loads neither the planner nor the registries of actions and checks.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kfix.core.run import UnfinishedRun
from kfix.heal.journal.journal import ReadBack, read_back
from kfix.heal.journal.replay import FINAL, replay

#: Enough bytes of a journal's end for its last record, which may name many changes.
_TAIL_BYTES = 65_536

#: The kind of object for which a run changed compaction settings.
_LOG = "log"


def unfinished(runs: Path, cluster: str) -> tuple[UnfinishedRun, ...]:
    """Returns the unfinished runs of `cluster` below the folder `runs`, oldest first; none if the folder is missing.

    A run whose journal cannot be read is left out: `kfix runbook history` shows it.
    """
    starts = {path.parent: start for path in sorted(runs.glob("*/journal.ndjson")) if (start := _start(path))}
    mine = {folder: start for folder, start in starts.items() if start.get("cluster") == cluster}
    open_ = {folder: start for folder, start in mine.items() if _outcome(folder) not in FINAL}
    taken_back = {start.get("undoes") for folder, start in mine.items() if start.get("undoes") and _changed(folder)}
    found = (_read(folder, start) for folder, start in open_.items() if folder.name not in taken_back)
    return tuple(run for run in found if run is not None)


def _start(path: Path) -> Mapping[str, Any]:
    """Returns the first record, or {} if the line is not a record."""
    with suppress(OSError), path.open("rb") as file:
        return _record(file.readline(_TAIL_BYTES))
    return {}


def _outcome(folder: Path) -> str:
    """Returns the outcome in the last record, or "" if the run has no end."""
    with suppress(OSError), (folder / "journal.ndjson").open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        last = _record((file.read().rstrip(b"\n").split(b"\n") or [b""])[-1])
        return str(last.get("outcome", "")) if last.get("type") == "run.end" else ""
    return ""


def _record(line: bytes) -> Mapping[str, Any]:
    with suppress(ValueError, RecursionError):
        found = json.loads(line)
        return found if isinstance(found, dict) else {}
    return {}


def _changed(folder: Path) -> bool:
    return any(record["type"] == "step.intent" for record in read_back(folder / "journal.ndjson").records)


def _read(folder: Path, start: Mapping[str, Any]) -> UnfinishedRun | None:
    back = read_back(folder / "journal.ndjson")
    known = replay(back.records)
    if known.outcome in FINAL or not back.records or not (known.done or known.open or back.broken):
        return None
    if known.nothing_stands and not known.open and not back.broken:
        return None
    first, last = back.records[0], back.records[-1]
    left = _left_set(back, {*known.done, *known.open}, set(known.done))
    who = last.get("who") or {}
    return UnfinishedRun(
        id=folder.name,
        runbook=str(start.get("runbook", "")),
        finding=str(start.get("finding", "")),
        user=str(who.get("user", "")),
        host=str(who.get("host", "")),
        kfix=str(start.get("kfix", "")),
        began=str(first.get("t", "")),
        last=str(last.get("t", "")),
        outcome=known.outcome,
        alive=not known.outcome and process_here(who) is True,
        changed=tuple(known.done),
        doubtful=tuple(name for name in known.open if name not in known.done),
        throttles=bool(left - {_LOG}),
        compaction=_LOG in left,
        broken=bool(back.broken),
    )


def _left_set(back: ReadBack, issued: set[str], done: set[str]) -> set[str]:
    """Returns the kinds of object whose settings may still be set for the run alone: broker, topic (throttles), log."""
    left = set[tuple[str, str]]()
    for record in back.records:
        if record["type"] != "step.intent" or record["step"] not in issued:
            continue
        args: Mapping[str, Any] = record.get("args") or {}
        match record.get("action"):
            case "throttle.rate":
                left.add(("broker", str(args.get("broker"))))
            case "throttle.replicas":
                left.add(("topic", str(args.get("topic"))))
            case "compaction.hasten":
                left.add((_LOG, str(args.get("topic"))))
            case "compaction.restore" if record["step"] in done:
                left.discard((_LOG, str(args.get("topic"))))
            case "throttle.restore" | "throttle.remove" if record["step"] in done:
                left.discard((str(args.get("kind")), str(args.get("name"))))
    return {kind for kind, _ in left}


def process_here(who: Mapping[str, Any]) -> bool | None:
    """Returns whether the process that a record names is alive; None if it ran on another host or is unknown."""
    pid = who.get("pid")
    if who.get("host") != socket.gethostname() or type(pid) is not int or pid <= 0:
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return None
    return True
