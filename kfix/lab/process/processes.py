"""Processes of a lab: pid, start time and a tag on the command line, so that a reused pid is never signalled."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kfix.core.errors import LabError

_START_TIME_FIELD = 22 - 3  # of /proc/PID/stat, counted from the state, which follows the command in brackets
POLL_SECONDS = 0.05
_EXEC_TRIES = 5
_STOPPED = frozenset("Tt")
_ENDED = frozenset("ZXx")


@dataclass(frozen=True)
class ProcessRecord:
    role: str
    id: int
    pid: int
    start: int
    log: str


@dataclass(frozen=True)
class ProcessStat:
    state: str
    start: int


def read_stat(pid: int) -> ProcessStat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command may itself hold brackets and spaces: the last bracket ends it.
    fields = text.rpartition(")")[2].split()
    return ProcessStat(state=fields[0], start=int(fields[_START_TIME_FIELD]))


def is_tagged(pid: int, lab_id: str) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        for _ in range(_EXEC_TRIES):
            # `ip netns exec` becomes the program it starts; in between it has no command line.
            if any(words):
                break
            time.sleep(POLL_SECONDS / 10)
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    # A whole word: `pgrep -f kfix.lab.id=...` or an editor on lab.json must not count.
    return any(word in words for word in (f"-Dkfix.lab.id={lab_id}".encode(), f"kfix.lab.id={lab_id}".encode()))


def state_of(record: ProcessRecord, lab_id: str) -> str:
    """`alive`, `stopped` (SIGSTOP) or `dead`; another process under the same pid counts as dead."""
    _reap(record.pid)
    stat = read_stat(record.pid)
    if stat is None or stat.start != record.start or stat.state in _ENDED or not is_tagged(record.pid, lab_id):
        return "dead"
    return "stopped" if stat.state in _STOPPED else "alive"


def send(record: ProcessRecord, lab_id: str, number: signal.Signals) -> bool:
    """Returns False if the process no longer exists or is not one of this lab."""
    try:
        handle = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return False
    try:
        # The check follows the open: from here on the handle means this very process, whatever its pid becomes.
        if state_of(record, lab_id) == "dead":
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def wait_dead(records: list[ProcessRecord], lab_id: str, seconds: float) -> None:
    """Returns when none of the processes exists. Raises LabError after `seconds`."""
    _wait(records, seconds, "still running", lambda record: state_of(record, lab_id) == "dead")


def wait_stopped(record: ProcessRecord, lab_id: str, seconds: float) -> None:
    """Returns when every thread of the process is stopped, which is after the signal: a thread may be in the kernel.

    A process that died meanwhile counts as stopped. Raises LabError after `seconds`.
    """
    _wait([record], seconds, "not stopped", lambda each: _threads(each, lab_id) <= _STOPPED)


def wait_running(record: ProcessRecord, lab_id: str, seconds: float) -> None:
    """Returns when no thread of the process is stopped any more. Raises LabError after `seconds`."""
    _wait([record], seconds, "still stopped", lambda each: not _threads(each, lab_id) & _STOPPED)


def _wait(records: list[ProcessRecord], seconds: float, what: str, holds: Callable[[ProcessRecord], bool]) -> None:
    deadline = time.monotonic() + seconds
    while left := [record for record in records if not holds(record)]:
        if time.monotonic() > deadline:
            names = ", ".join(f"{record.role} {record.id} (pid {record.pid})" for record in left)
            raise LabError(f"{what} after {seconds:.0f} s: {names}", hint="kfix lab down ends it by force")
        time.sleep(POLL_SECONDS)


def _threads(record: ProcessRecord, lab_id: str) -> frozenset[str]:
    """The states of all threads of the process; none if it is dead."""
    if state_of(record, lab_id) == "dead":
        return frozenset()
    states = (read_stat(int(each.name)) for each in _tasks(record.pid))
    return frozenset(each.state for each in states if each is not None) - _ENDED


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []


def find_tagged(lab_id: str) -> list[ProcessRecord]:
    """Returns every process with the lab's tag, also one without a record, started just before `up` was killed."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and is_tagged(int(entry.name), lab_id):
            stat = read_stat(int(entry.name))
            if stat is not None and stat.state not in _ENDED:
                found.append(ProcessRecord("process", int(entry.name), int(entry.name), stat.start, ""))
    return found


def _reap(pid: int) -> None:
    # A dead child of this process stays a zombie until its exit code is read.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
