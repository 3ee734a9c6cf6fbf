"""The state of `kfix watch` from one snapshot to the next: current findings, and changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kfix.core.diagnosis.finding import Diagnosis, Finding, Severity

#: The key of the state in which no source of the cluster answers.
UNREACHABLE = "unreachable"


class TurnKind(StrEnum):
    """How a finding changed. `explained`: it is now a consequence of another reported finding, or turned into it.

    `lost` and `back` concern the cluster: no source answers, and one answers again.
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
        """Whether a snapshot shows that the fault has ended. A finding that became a consequence lasts."""
        return self in {TurnKind.FIXED, TurnKind.BACK}


@dataclass(frozen=True, slots=True)
class Turn:
    """One change at one moment. `severity` is the severity after the change, or before it if nothing is left.

    - `worst`: the highest severity of this finding since it began
    - `since`: when it was first seen
    - `finding`: the finding as last seen, None for `lost` and `back`
    - `text`: the reason of `lost` and `back`, or the key of the finding that explains this one
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
    """A finding that was seen and not yet seen to be gone. `worst` is its highest severity so far.

    `into` is the key of the finding that explains it now, or that it turned into; "" if there is none.
    """

    finding: Finding
    since: float
    worst: Severity
    into: str = ""

    @property
    def severity(self) -> Severity:
        return self.finding.worst


@dataclass(frozen=True, slots=True)
class Watched:
    """The findings that stand after the snapshots so far, by key. `lost` is since when no source answers; None: one
    does.

    `explained` holds findings that are now a consequence of another one: each lasts until no snapshot shows it.
    """

    standing: Mapping[str, Standing] = field(default_factory=dict)
    explained: Mapping[str, Standing] = field(default_factory=dict)
    lost: float | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A change in words, for receivers of notifications.

    `cluster` is its id or address, `name` its name for people. `blocked`, `why` and `next` are the first lines of the
    diagnosis of this finding; each is "" if there is nothing to report.
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
    """The requests of the watch to one server since it began; bytes without TLS and TCP."""

    name: str
    connections: int
    requests: int
    sent: int
    received: int


@dataclass(frozen=True, slots=True)
class RecorderState:
    """The ring: its folder, its content and its bounds. `paused` is why nothing is recorded, "" while it works."""

    folder: str
    size: int
    hours: float
    most_size: int
    most_hours: float
    paused: str = ""


@dataclass(frozen=True, slots=True)
class ReceiverState:
    """One receiver of notifications: messages delivered, given up and waiting; `error` is the last failure's."""

    name: str
    delivered: int
    failed: int
    waiting: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class CanaryCount:
    """What a canary has met at one leader or coordinator since the watch began.

    `seconds` is the time of the last try, None if it failed; `total` are those of all tries that worked. `broker` is -1
    without a leader.
    """

    kind: str
    broker: int = -1
    tries: int = 0
    failures: int = 0
    seconds: float | None = None
    total: float = 0.0


@dataclass(frozen=True, slots=True)
class CanaryState:
    """`up`: everything worked in the last round, None before the first; `error` is why no round can be made.

    `counts` are by partition.
    """

    up: bool | None = None
    error: str = ""
    rounds: int = 0
    at: float = 0.0
    counts: Mapping[str, CanaryCount] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WatchState:
    """Everything that the outputs of a watch show after a round.

    - `cluster`: its id or address once it has answered; `name`: its name for people; `target`: the name or address with
      which the watch was started, known even if the cluster never answers
    - `diagnosis`: the last snapshot's, None before the first and while the cluster does not answer, with the reason in
      `error`
    - `confirmed`: it counts; otherwise a second snapshot is about to be taken
    - `complete_at`: the time of the last snapshot without an unread source
    - `next_in`: the pause until the next snapshot, `cpu`: the processor time of this process, both in seconds;
      `memory`: its resident size in bytes
    - `lags`: {group: the records that it is behind, and the seconds, None if unknown}, of the last snapshot
    - `maintenance`: the reason of the current maintenance window, "" without one; known even while the cluster does not
      answer
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
    canary: CanaryState | None = None
    maintenance: str = ""
    lags: Mapping[str, tuple[int, float | None]] = field(default_factory=dict)
