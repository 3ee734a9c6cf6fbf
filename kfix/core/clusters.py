"""The protocol by which the use cases get their clusters, and its options."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kfix.core.access import Access
from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import Diagnosis, Finding
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import DiagnosisTimes

if TYPE_CHECKING:
    from kfix.core.ports import ClusterChanger, ClusterLock, ClusterReader


class OpenCluster(Protocol):
    """A cluster that is open for reading, for its lock, and, through `heal.safety.door`, for changes."""

    @property
    def reader(self) -> ClusterReader: ...

    @property
    def changer(self) -> ClusterChanger: ...

    @property
    def lock(self) -> ClusterLock: ...


@dataclass(frozen=True, slots=True)
class DiagnoseOptions(Criteria):
    """How a live cluster is judged, and what else is asked of it.

    `groups` are probed besides those that the brokers list. `before` is a saved snapshot to compare with. `keep`
    remembers the snapshot for later diagnoses. `waiting` receives the seconds between two snapshots (docs/adr/003),
    and `first`, before that, the diagnosis of the first one, which the second may correct; without it, none is made.
    `interrupted` receives it if Ctrl-C ends the wait for the second.
    """

    groups: tuple[str, ...] = ()
    keep: bool = True
    before: Path | None = None
    waiting: Callable[[float], None] = lambda _seconds: None
    first: Callable[[Diagnosis], None] | None = None
    interrupted: Callable[[Diagnosis], None] = lambda _diagnosis: None


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """`vantage` names the place from which the cluster is read; `every_log_end` is for all partitions.
    `fleet_facts` are what the questions of a fleet need (docs/fleet-questions.md).

    With `keep` False the snapshot is not stored for later diagnoses, only the names of its groups and brokers.
    """

    groups: tuple[str, ...] = ()
    vantage: str = ""
    every_log_end: bool = False
    keep: bool = True
    fleet_facts: bool = False


class Clusters(Protocol):
    """Opens and diagnoses clusters. Raises UsageError for an unusable access, UnreachableError if no broker answers."""

    def diagnose(self, access: Access, options: DiagnoseOptions) -> tuple[Diagnosis, Snapshot]: ...

    def findings_before_change(self, access: Access, judged: DiagnosisTimes) -> tuple[Finding, ...]:
        """Returns a fresh diagnosis with these times, stored nowhere; a second one confirms a reported network cut."""
        ...

    def snapshot(self, access: Access, options: SnapshotOptions) -> Snapshot: ...

    def open(self, access: Access, snapshot: Snapshot | None = None) -> AbstractContextManager[OpenCluster]:
        """Opens a cluster; a `snapshot` that was just taken saves a reading of the addresses."""
        ...
