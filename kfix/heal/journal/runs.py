"""The store of runs: `<state>/kfix/runs/<run-id>/` holds the plan, the journal and the gate screens as shown."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from kfix.core.errors import RefusedError, UsageError
from kfix.core.ports import Clock
from kfix.core.private import new_folder, open_private, private_folder
from kfix.heal.journal.clocks import seconds_since
from kfix.heal.journal.journal import JournalError, ReadBack, read_back
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
