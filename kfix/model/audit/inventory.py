"""The fleet as its people describe it: its clusters, how to reach them, whose they are, what is expected of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import IntEnum
from fnmatch import fnmatchcase

from kfix.model.expected import EXPECTED, Expected
from kfix.model.timing import TIMING


class Criticality(IntEnum):
    """What a cluster's findings weigh in the order of worries; ordered."""

    LOW = 1
    NORMAL = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class MaintenanceWindow:
    """A time in which people work on the cluster: findings are told and counted, and alarm nobody.

    Either once (`start` to `end`, aware), or every week on `weekdays` (0 is Monday) from `at` (minutes after midnight
    UTC) for `minutes`.
    """

    why: str = ""
    start: datetime | None = None
    end: datetime | None = None
    weekdays: frozenset[int] = frozenset()
    at: int = 0
    minutes: int = 0

    def covers(self, when: datetime) -> bool:
        """`when` is aware, UTC."""
        if self.start is not None and self.end is not None:
            return self.start <= when < self.end
        minute = when.hour * 60 + when.minute
        today = when.weekday() in self.weekdays and self.at <= minute < self.at + self.minutes
        # One that began yesterday may last past midnight.
        yesterday = (when.weekday() - 1) % 7 in self.weekdays and minute + 1440 < self.at + self.minutes
        return today or yesterday


@dataclass(frozen=True, slots=True)
class Mute:
    """Findings that people know of and do not want to be woken for. Shown, never hidden; `until` is its last day.

    `clusters` and `findings` are patterns with `*` and `?`; `findings` match a code or a key.
    """

    clusters: tuple[str, ...]
    findings: tuple[str, ...]
    reason: str
    until: date
    by: str = ""

    def matches(self, cluster: str, code: str, key: str) -> bool:
        return any(fnmatchcase(cluster, p) for p in self.clusters) and any(
            fnmatchcase(code, p) or fnmatchcase(key, p) for p in self.findings
        )

    def expired(self, today: date) -> bool:
        return today > self.until


@dataclass(frozen=True, slots=True)
class ClusterEntry:
    """`command_config` is the path of a client properties file; `timeout` (seconds) bounds one look at the cluster."""

    name: str
    bootstrap: str = ""
    zookeeper: str = ""
    command_config: str = ""
    owner: str = ""
    tags: tuple[str, ...] = ()
    criticality: Criticality = Criticality.NORMAL
    expected: Expected = EXPECTED
    restart_grace: float = TIMING.restart_grace
    timeout: float = 10.0
    windows: tuple[MaintenanceWindow, ...] = ()

    def in_maintenance(self, when: datetime) -> MaintenanceWindow | None:
        return next((w for w in self.windows if w.covers(when)), None)


@dataclass(frozen=True, slots=True)
class Inventory:
    """`clusters` by name, in the order of the file. `origin` is the file or folder."""

    clusters: Mapping[str, ClusterEntry] = field(default_factory=dict)
    mutes: tuple[Mute, ...] = ()
    origin: str = ""
