"""The store of runs: `<state>/kfix/runs/<run-id>/` holds the plan, the journal and the gate screens of a run."""

import hashlib
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from kfix.core.clock_steps import clock_notes
from kfix.core.errors import RefusedError, UsageError
from kfix.core.ports import Clock
from kfix.core.private import new_folder, open_private, private_folder
from kfix.core.run import RunSummary, UnfinishedRun
from kfix.heal.journal.journal import JournalError, ReadBack, read_back
from kfix.heal.journal.replay import FINAL, replay, seconds_since
from kfix.heal.model.plan import Plan
from kfix.heal.plan import planfile

_STAMP = "%Y%m%dT%H%M%SZ"
_ID = re.compile(r"(\d{8}T\d{6}Z)-")
#: A clock that was set to the wrong time zone is at most this far off (seconds). After more, ids follow the clock.
_MOST_AHEAD = 86_400.0


@dataclass(frozen=True, slots=True)
class RunDir:
    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def plan_path(self) -> Path:
        return self.path / "plan.json"

    @property
    def journal_path(self) -> Path:
        return self.path / "journal.ndjson"

    def plan(self) -> Plan:
        return planfile.read(self.plan_path)

    def journal(self) -> ReadBack:
        return read_back(self.journal_path)

    def open_journal(self) -> BinaryIO:
        handle = open_private(self.journal_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        return os.fdopen(handle, "ab")

    def reopen_journal(self, back: ReadBack) -> BinaryIO:
        """Opens the journal for appending after its last complete line. An incomplete one is cut off."""
        handle = open_private(self.journal_path, os.O_WRONLY | os.O_APPEND)
        os.ftruncate(handle, back.size)
        return os.fdopen(handle, "ab")

    def keep_screen(self, name: str, text: str) -> str:
        """Keeps what the operator was shown and returns its SHA-256. Raises JournalError if that fails."""
        digest = hashlib.sha256(text.encode()).hexdigest()
        try:
            handle = open_private(self.path / f"{name}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise JournalError(f"the gate's screen cannot be kept: {error.strerror}") from error
        return digest


class RunStore:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.runs_dir = home / "runs"
        self.locks_dir = home / "locks"

    def create(self, plan: Plan, now: float) -> RunDir:
        """Creates the folder of a new run. Raises RefusedError if it cannot be written.

        Its id begins with the time, or with the second after the latest run's, if the clock was set back since then.
        """
        stamp = self._stamp(now)
        path = self.runs_dir / f"{stamp}-{plan.short_id}"
        try:
            private_folder(self.runs_dir, self.home)
            for n in range(2, 100):
                if not path.exists():
                    break
                path = self.runs_dir / f"{stamp}-{plan.short_id}-{n}"
            new_folder(path)
        except OSError as error:
            raise RefusedError(f"{path}: the run cannot be recorded: {error.strerror}; nothing was changed") from error
        run = RunDir(path)
        try:
            planfile.write(plan, run.plan_path)
        except UsageError as error:
            # An empty folder would look like a run whose journal is lost, and spend the plan.
            with suppress(OSError):
                path.rmdir()
            raise RefusedError(f"the run cannot be recorded: {error}; nothing was changed") from error
        return run

    def runs(self) -> Iterator[RunDir]:
        """Yields the runs, oldest first."""
        if self.runs_dir.is_dir():
            yield from (RunDir(p) for p in sorted(self.runs_dir.iterdir()) if p.is_dir())

    def find(self, text: str) -> RunDir:
        """Returns the run whose id is `text`, or the only one whose id contains it. Raises UsageError."""
        all_runs = tuple(self.runs())
        found = [r for r in all_runs if r.id == text] or [r for r in all_runs if text and text in r.id]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"{text!r} matches several runs: {', '.join(r.id for r in found)}")
        last = f"the latest is {all_runs[-1].id}" if all_runs else f"there are no runs under {self.runs_dir}"
        raise UsageError(f"there is no run {text!r}; {last}", hint="kfix runbook history lists them")

    def spent_by(self, plan_id: str) -> RunDir | None:
        """Returns the run that started a change of this plan. A run declined before its first change does not count."""
        for run in self.runs():
            if plan_id[:8] in run.id and _began(run.journal()):
                return run
        return None

    def rolled_back_by(self, run_id: str) -> RunDir | None:
        """Returns the run that started to roll this one back."""
        for run in self.runs():
            back = run.journal()
            if back.records and back.records[0].get("undoes") == run_id and _began(back):
                return run
        return None

    def last_change(self, plan: Plan, clock: Clock) -> tuple[RunDir, dict[str, Any]] | None:
        """Returns the latest run of this runbook that changed one of these partitions, with its last intent."""
        found = [(run, intent) for run in self.runs() if (intent := _last_intent(run, plan)) is not None]
        return min(reversed(found), key=lambda each: seconds_since(each[1], clock), default=None)

    def _stamp(self, now: float) -> str:
        names = (path.name for path in self.runs_dir.iterdir()) if self.runs_dir.is_dir() else ()
        latest = max((found[1] for name in names if (found := _ID.match(name))), default="")
        stamp = datetime.fromtimestamp(now, UTC).strftime(_STAMP)
        with suppress(ValueError, OverflowError):
            ahead = datetime.strptime(latest, _STAMP).replace(tzinfo=UTC).timestamp() - int(now)
            if 0 < ahead <= _MOST_AHEAD:
                return datetime.fromtimestamp(int(now) + ahead + 1, UTC).strftime(_STAMP)
        return stamp


def _last_intent(run: RunDir, plan: Plan) -> dict[str, Any] | None:
    """Returns the intent of the last change that was made or may have been made; a refused one changed nothing."""
    records = run.journal().records
    if not records or not _is_for(records[0], plan):
        return None
    refused = set[str]()
    for record in records[::-1]:
        if record["type"] == "step.result" and record["changed"] is False:
            refused.add(str(record["step"]))
        elif record["type"] == "step.intent":
            step = str(record["step"])
            if step not in refused:
                return record
            refused.discard(step)
    return None


def _began(journal: ReadBack) -> bool:
    """Returns whether the run started a change. A damaged journal counts, because it may hide one."""
    return bool(journal.broken) or any(r["type"] == "step.intent" for r in journal.records)


def _is_for(start: Mapping[str, Any], plan: Plan) -> bool:
    """Returns whether a run was for the same finding. Partitions are compared, because a key may contain a count."""
    if (start.get("cluster"), start.get("runbook")) != (plan.cluster.name, plan.runbook.id):
        return False
    partitions = {str(tp) for tp in plan.finding.partitions}
    return start.get("finding") == plan.finding.key or bool(partitions & set(start.get("partitions", ())))


# Finds the unfinished runs of a cluster in this host's run store, from their journals alone.
#
# Every diagnosis calls it, so it loads neither the planner nor the registries of actions and checks.

#: Enough bytes of a journal's end for its last record, which may name many changes.
_TAIL_BYTES = 65_536

#: The kinds of object for which a run changed compaction settings, and retention.
_LOG, _KEPT = "log", "kept"


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
        throttles=bool(left - {_LOG, _KEPT}),
        compaction=_LOG in left,
        retention=_KEPT in left,
        broken=bool(back.broken),
    )


def _left_set(back: ReadBack, issued: set[str], done: set[str]) -> set[str]:
    """Returns the kinds of object whose settings may still be set for the run: broker, topic (throttles), log, kept."""
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
            case "retention.hold":
                left.add((_KEPT, str(args.get("topic"))))
            case "retention.restore" if record["step"] in done:
                left.discard((_KEPT, str(args.get("topic"))))
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


# The history of runs: one summary per run, read from its journal.


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
