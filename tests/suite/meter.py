"""CPU seconds of a process and of all that it started, also of daemons that it no longer waits for.

A control group counts them: the servers of a lab are children of nobody, and `getrusage` never sees them.
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


class Meter:
    """Counts from `start` on. `exact` is False where no control group may be made: then daemons are not counted."""

    def __init__(self) -> None:
        self._group: Path | None = None
        self._parent: Path | None = None

    @property
    def exact(self) -> bool:
        return self._group is not None

    def start(self) -> Meter:
        for controller in (_GROUPS / "cpuacct", _GROUPS):
            if not any((controller / file).exists() for file in ("cpuacct.usage", "cgroup.controllers")):
                continue
            group = controller / f"kfix-tests-{os.getpid()}"
            with contextlib.suppress(OSError):
                group.mkdir()
                (group / "cgroup.procs").write_text(str(os.getpid()))
                self._group, self._parent = group, controller
                break
        return self

    def stop(self) -> None:
        """Leaves the group; one that still holds a process stays, and costs nothing."""
        if self._group is None or self._parent is None:
            return
        with contextlib.suppress(OSError):
            (self._parent / "cgroup.procs").write_text(str(os.getpid()))
            self._group.rmdir()
        self._group = None

    def seconds(self) -> float:
        if self._group is None:
            own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
        usage = self._group / "cpuacct.usage"
        if usage.exists():
            return int(usage.read_text()) / 1e9
        rows = dict(line.split() for line in (self._group / "cpu.stat").read_text().splitlines())
        return int(rows["usage_usec"]) / 1e6
