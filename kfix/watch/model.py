"""What `kfix watch` knows from one snapshot to the next: which findings stand, and what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kfix.core.diagnosis.finding import Diagnosis, Finding, Severity

#: The key of what is reported while no source of the cluster answers.
UNREACHABLE = "unreachable"


class TurnKind(StrEnum):
    """How a finding changed. `explained`: it is now a consequence of another finding, which is reported.

    `lost` and `back` are of the cluster: no source answers, and one answers again.
    """

    NEW = "new"
    WORSE = "worse"
    BETTER = "better"
    EXPLAINED = "explained"
    FIXED = "fixed"
    LOST = "lost"
    BACK = "back"

    @property
    def over(self) -> bool:
        """Whether a snapshot shows that the fault has ended. One that became a consequence of another lasts."""
        return self in {TurnKind.FIXED, TurnKind.BACK}


@dataclass(frozen=True, slots=True)
class Turn:
    """One change at one moment. `severity` is that after the change; where nothing is left, the one before.

    `worst` is the most severe that this finding was since it began. `since` is when it was first seen. `finding` is the
    finding as it was last seen, None for `lost` and `back`; `text` is the reason of those, or the key of the finding
    that explains this one.
    """

    kind: TurnKind
    key: str
    at: float
    since: float
    severity: Severity
    worst: Severity
    finding: Finding | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """A finding that was found and not yet seen to be gone. `worst` is the most severe that it was so far."""

    finding: Finding
    since: float
    worst: Severity

    @property
    def severity(self) -> Severity:
        return self.finding.worst


@dataclass(frozen=True, slots=True)
class Watched:
    """What stands after the snapshots so far, by key. `lost` is since when no source answers; None: one does.

    `explained` is what stood and is now a consequence of another finding: it lasts, and ends when nothing shows it.
    """

    standing: Mapping[str, Standing] = field(default_factory=dict)
    explained: Mapping[str, Standing] = field(default_factory=dict)
    lost: float | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A change in words, for receivers of notifications.

    `cluster` is its id or address, `name` what people call it. `blocked`, `why` and `next` are the first lines of the
    diagnosis of this finding; each is "" where there is nothing to say.
    """

    cluster: str
    name: str
    kind: TurnKind
    key: str
    code: str
    obj: str
    severity: Severity
    at: float
    since: float
    summary: str
    blocked: str = ""
    why: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True)
class ServerCost:
    """What the watch has asked of one server since it began; bytes without TLS and TCP."""

    name: str
    connections: int
    requests: int
    sent: int
    received: int


@dataclass(frozen=True, slots=True)
class RecorderState:
    """The ring: its folder, what it holds and its bounds. `paused` is why nothing is recorded, "" while it works."""

    folder: str
    size: int
    hours: float
    most_size: int
    most_hours: float
    paused: str = ""


@dataclass(frozen=True, slots=True)
class ReceiverState:
    """One receiver of notifications: messages delivered, given up and waiting; `error` is that of the last failure."""

    name: str
    delivered: int
    failed: int
    waiting: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class WatchState:
    """Everything that the outputs of a watch show after a round.

    `cluster` is its id or address once it has answered, `name` what people call it, and `target` the name or address
    that the watch was started with, which is known even if the cluster never answers.

    `diagnosis` is that of the last snapshot, None before the first and while the cluster does not answer, with the
    reason in `error`. `confirmed`: it counts, otherwise a second snapshot is about to be taken. `complete_at` is the
    time of the last snapshot without an unread source. `next_in` is the pause until the next snapshot, `cpu` the
    processor time of this process, both in seconds; `memory` is its resident size in bytes. `maintenance` is the reason
    of the maintenance window at this time, "" without one; it is known even while the cluster does not answer.
    """

    name: str
    at: float
    every: float
    cluster: str = ""
    target: str = ""
    diagnosis: Diagnosis | None = None
    confirmed: bool = False
    error: str = ""
    turns: tuple[Turn, ...] = ()
    watched: Watched = field(default_factory=Watched)
    snapshots: int = 0
    failures: int = 0
    complete_at: float | None = None
    began: float = 0.0
    reading: float = 0.0
    next_in: float = 0.0
    cpu: float = 0.0
    memory: int = 0
    costs: tuple[ServerCost, ...] = ()
    recorder: RecorderState | None = None
    receivers: tuple[ReceiverState, ...] = ()
    exporter: str = ""
    maintenance: str = ""
