"""The inventory of a fleet: its clusters, their addresses, owners and expected settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import IntEnum
from fnmatch import fnmatchcase

from kfix.core.criteria import EXPECTED, Criteria, Expected
from kfix.core.timing import TIMING


class Criticality(IntEnum):
    """The weight of a cluster in the order of risk; the values are ordered."""

    LOW = 1
    NORMAL = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def word(self) -> str:
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> Criticality:
        """Returns the member of a word in a store; NORMAL for a word that a damaged or newer store has."""
        return cls.__members__.get(word.upper(), cls.NORMAL)


@dataclass(frozen=True, slots=True)
class MaintenanceWindow:
    """A maintenance window. Findings within it are shown and counted, but raise no alert.

    A window is either a single one (`start` to `end`, both with a time zone) or weekly: on `weekdays` (0 is Monday)
    from `at` (minutes after midnight UTC) for `minutes`.
    """

    why: str = ""
    start: datetime | None = None
    end: datetime | None = None
    weekdays: frozenset[int] = frozenset()
    at: int = 0
    minutes: int = 0

    def covers(self, when: datetime) -> bool:
        """Returns whether `when`, a time with the zone UTC, lies within the window."""
        if self.start is not None and self.end is not None:
            return self.start <= when < self.end
        minute = when.hour * 60 + when.minute
        today = when.weekday() in self.weekdays and self.at <= minute < self.at + self.minutes
        # A window that began yesterday may last past midnight.
        yesterday = (when.weekday() - 1) % 7 in self.weekdays and minute + 1440 < self.at + self.minutes
        return today or yesterday


@dataclass(frozen=True, slots=True)
class Mute:
    """Known findings that raise no alert. They are still shown; `until` is the last day of the mute.

    `clusters` and `findings` are patterns with `*` and `?`; `findings` match a code or a key.
    """

    clusters: tuple[str, ...]
    findings: tuple[str, ...]
    reason: str
    until: date
    by: str = ""

    def names(self, cluster: str) -> bool:
        return any(fnmatchcase(cluster, p) for p in self.clusters)

    def matches(self, cluster: str, code: str, key: str) -> bool:
        return self.names(cluster) and any(fnmatchcase(code, p) or fnmatchcase(key, p) for p in self.findings)

    def expired(self, today: date) -> bool:
        return today > self.until


@dataclass(frozen=True, slots=True)
class ClusterEntry:
    """One cluster of the inventory.

    `bootstrap_controller` are listeners of KRaft controllers. `id` is Kafka's id of the cluster: another cluster that
    answers instead is refused. `command_config` is the path of a client properties file. `timeout` limits reading the
    cluster, `restart_grace` is the time in which a missing broker may be restarting; both are in seconds. `zones` are
    {rack: its name for people}. `restart_command` and `upgrade_command` are the templates of the commands that
    restart a node and bring it to another version. With `trusted`, the client properties may read other secrets.
    """

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
    bootstrap_controller: str = ""
    id: str = ""
    zones: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = False
    restart_command: str = ""
    upgrade_command: str = ""

    @property
    def criteria(self) -> Criteria:
        """Returns how the cluster is judged unless an option says otherwise."""
        return Criteria(restart_grace=self.restart_grace, expected=self.expected, zones=self.zones)

    def in_maintenance(self, when: datetime) -> MaintenanceWindow | None:
        return next((w for w in self.windows if w.covers(when)), None)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The clusters by name, in the order of the file, and the mutes. `origin` is the path of the file or folder."""

    clusters: Mapping[str, ClusterEntry] = field(default_factory=dict)
    mutes: tuple[Mute, ...] = ()
    origin: str = ""
