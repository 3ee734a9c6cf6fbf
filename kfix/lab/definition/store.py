"""Where labs are kept on disk, the lock of a lab, and the ports that labs have taken."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.core.errors import LabError, UsageError
from kfix.core.private import open_private, private_folder, write_private
from kfix.lab.definition import state as lab_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kfix.lab.definition.state import LabState

_ROOM_IN_SHM = 2 * 1024**3
_BUSY_SECONDS = 3.0
_LOCK_POLL_SECONDS = 0.05


def labs_home() -> Path:
    if own := os.environ.get("KFIX_LAB_HOME"):
        return Path(own).absolute()
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "kfix" / "labs"


def lab_names(home: Path | None = None) -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in (home or labs_home()).glob("*/lab.json")))


def data_folder(name: str, lab_id: str, lab_dir: Path, shm: Path = Path("/dev/shm")) -> Path:  # noqa: S108 - not a temp file: memory
    """Returns a folder in memory if it has room, so that starts and ISR changes do not wait for a disk."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(shm).free >= _ROOM_IN_SHM and os.access(shm, os.W_OK):
            return shm / f"kfix-lab-{name}-{lab_id}"
    return lab_dir / f"data-{lab_id}"


class Store:
    def __init__(self, name: str, home: Path | None = None) -> None:
        self.name = name
        self.home = home or labs_home()
        self.dir = self.home / name
        self.file = self.dir / "lab.json"
        self._busy_depth = 0

    def exists(self) -> bool:
        return self.file.exists()

    def log_file(self, role: str, number: int) -> Path:
        return self.dir / "logs" / f"{role}-{number}.log"

    def load(self) -> LabState:
        try:
            raw = json.loads(self.file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            others = ", ".join(lab_names(self.home)) or "none"
            raise UsageError(f"no lab {self.name!r}", hint=f"kfix lab up; running labs: {others}") from None
        except json.JSONDecodeError as problem:
            raise LabError(
                f"{self.file} is damaged: {problem}", hint="end its java processes by hand, remove the folder"
            ) from problem
        return lab_state.from_json(raw, str(self.file))

    def save(self, state: LabState) -> None:
        private(self.dir / "logs", self.home)
        # It may hold the password of --sasl: no other user may read it at any time.
        write_private(self.file, json.dumps(lab_state.to_json(state), indent=1).encode())

    def update(self, change: Callable[[LabState], LabState]) -> LabState:
        with _flock(self.home / f".{self.name}.json.lock", seconds=_BUSY_SECONDS):
            state = change(self.load())
            self.save(state)
        return state

    @contextlib.contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """Holds the lock of the lab: one command at a time. The kernel releases the lock of a killed command."""
        if self._busy_depth:
            self._busy_depth += 1
            try:
                yield
            finally:
                self._busy_depth -= 1
            return
        with _flock(self.home / f".{self.name}.lock", seconds=_BUSY_SECONDS, what=what):
            self._busy_depth = 1
            try:
                yield
            finally:
                self._busy_depth = 0

    @contextlib.contextmanager
    def choosing_ports(self) -> Iterator[set[int]]:
        """Yields the ports of all labs. A caller saves the ports it chooses in lab.json before it leaves the lock."""
        with _flock(self.home / ".ports.lock", seconds=30.0):
            taken: set[int] = set()
            for name in lab_names(self.home):
                with contextlib.suppress(
                    LabError, UsageError
                ):  # removed meanwhile, or unreadable: the bind test still protects
                    taken |= Store(name, self.home).load().ports()
            yield taken

    def remove(self, data: str | None, lab_id: str | None) -> None:
        # Only a folder that carries this lab's random id: a damaged lab.json must not point `down` elsewhere.
        if data and lab_id and lab_id in Path(data).name:
            shutil.rmtree(data, ignore_errors=True)
        if self.dir.is_dir():
            for entry in self.dir.iterdir():
                if entry != self.file:
                    shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)
            # Last, so that a `down` that is itself killed can be repeated.
            self.file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self.dir.rmdir()


def private(folder: Path, home: Path | None = None) -> None:
    """Creates a folder that only this user may enter, as `kfix.core.private.private_folder`. Raises LabError."""
    try:
        private_folder(folder, home, "KFIX_LAB_HOME")
    except OSError as problem:
        raise LabError(f"{folder}: the lab cannot be stored there: {problem.strerror}") from problem


@contextlib.contextmanager
def _flock(path: Path, seconds: float, what: str = "") -> Iterator[None]:
    private(path.parent)
    try:
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError as problem:
        raise LabError(f"{path}: the lock cannot be taken: {problem.strerror}") from problem
    with os.fdopen(descriptor, "r+", encoding="utf-8") as handle:
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    handle.seek(0)
                    holder = handle.read().strip() or "another command"
                    raise LabError(
                        f"another kfix lab command is running: {holder}",
                        hint="wait for it, or end that process, then repeat",
                    ) from None
            time.sleep(_LOCK_POLL_SECONDS)
        handle.seek(0)
        handle.truncate()
        handle.write(f"{what} (pid {os.getpid()})" if what else "")
        handle.flush()
        yield
