"""What many audits show together: episodes, times to recovery, what flaps, churn, growth and its forecast.

All times are UTC. A time between two audits is only known to lie between them: bounds state how far.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class Episode:
    """A finding of a cluster from the audit that first reports it to the one that reports it as fixed.

    Audits that could not read the cluster end no episode. `began` is when the run of the first audit began, `ended`
    that of the audit that no longer finds it (None: not ended). The true begin is after `not_before`, the last audit
    that read the whole cluster without the finding (None: there is none), and the true end after `last_seen`, the last
    audit that found it. `state` is "open", "ended" or "unknown": the last audit did not read the cluster, or a source
    of it, or does not include it. `audits` is the number of audits that found it, `unread` of those in between that
    could not tell. `reopened` is the number of earlier episodes of the same finding in the history that was read.
    """

    cluster: str
    key: str
    code: str
    owner: str
    version: str
    severity: str
    rank: int
    prevention: bool
    muted: bool
    began: datetime
    not_before: datetime | None
    last_seen: datetime
    ended: datetime | None
    state: str
    audits: int
    unread: int
    partitions: int
    peak_partitions: int
    reopened: int

    @property
    def seconds(self) -> float:
        """The time from the first audit that found it to the one that reports it as fixed; -1 if it has not ended."""
        return -1.0 if self.ended is None else (self.ended - self.began).total_seconds()

    @property
    def shortest(self) -> float:
        """The least seconds for which it existed: the time between the first and the last audit that found it."""
        return (self.last_seen - self.began).total_seconds()

    @property
    def longest(self) -> float | None:
        """The most seconds for which it existed; None if it has not ended, or nothing is known about its begin."""
        if self.ended is None or self.not_before is None:
            return None
        return (self.ended - self.not_before).total_seconds()

    def age(self, now: datetime) -> float:
        """Returns the seconds since the first audit that found it."""
        return (now - self.began).total_seconds()


@dataclass(frozen=True, slots=True)
class RepairTime:
    """The time to repair of the episodes that ended, of all (`by` is "all"), or by "code" or "owner".

    `median` and `mean` are in seconds, over `ended` episodes. `low` and `high` are the medians of the shortest and the
    longest possible durations; `high` is None if the begin of half of the episodes is not known. `open` is the number
    of episodes that have not ended, which are in none of these figures.
    """

    by: str
    name: str
    ended: int
    median: float
    mean: float
    low: float
    high: float | None
    open: int


@dataclass(frozen=True, slots=True)
class Flapping:
    """A partition, broker or group ("kind") that changes again and again: `changes` in `audits` different audits.

    `per_day` is the number of changes by the days between the first and the last audit of the cluster. `what` names
    the changes, such as "leader 12, restart 3".
    """

    kind: str
    cluster: str
    name: str
    changes: int
    audits: int
    per_day: float
    what: str
    last: date


@dataclass(frozen=True, slots=True)
class RepeatOffender:
    """A topic, broker, rack, owner or version (`by`) with trouble in several audits.

    `audits` is the number of audits with trouble: partitions of the topic without leader or full ISR, changes of the
    brokers, findings that began. `times` counts that trouble: partitions, changes, episodes. `cluster` is empty for
    owners and versions, which span clusters.
    """

    by: str
    cluster: str
    name: str
    audits: int
    times: int


@dataclass(frozen=True, slots=True)
class ChurnRate:
    """The changes of a cluster by day, over `days` days between audits that read it.

    `leader` and `isr` are changes of leaders and of ISRs, the latter a lower bound; `restarts` are those of brokers,
    `controller` changes of the controller, all by day. `partitions` is the number of the last audit.
    """

    cluster: str
    owner: str
    days: float
    partitions: int
    leader: float
    isr: float
    restarts: float
    controller: float


@dataclass(frozen=True, slots=True)
class GrowthForecast:
    """The growth of a `measure` of a cluster, and when it reaches a limit.

    `measure` is "partitions", "replicas", "replicas of a broker" (the fullest) or "skew" (replicas of the fullest
    broker in percent of the mean). `per_day` is the Theil-Sen slope over `points` runs within `days` days, `low` and
    `high` its 90 % interval. `limit` is 0 if there is none. `expected` is the day on which the limit is reached at
    that slope, `earliest` and `latest` at the ends of the interval: None means not within two years, or never.
    `reached` is true if the limit is met now.
    """

    cluster: str
    owner: str
    measure: str
    value: int
    per_day: float
    low: float
    high: float
    points: int
    days: float
    limit: int = 0
    reached: bool = False
    expected: date | None = None
    earliest: date | None = None
    latest: date | None = None


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """The fleet's mean score over the `clusters` that both audits read; `before` and `now` are rounded down."""

    day: date
    run: str
    clusters: int
    before: int
    now: int

    @property
    def change(self) -> int:
        return self.now - self.before


@dataclass(frozen=True, slots=True)
class AuditHistory:
    """The history up to one audit: `audits` audits from `first` to `last`, which read `clusters` clusters.

    Episodes are those that were open at some time within it, the open ones first. `score` is None if no earlier audit
    read a cluster of this one. `unread` are the clusters whose state the last audit does not know, `left` the clusters
    of earlier audits that the last one does not include. `incomplete` lists what could not be read for this, one line
    each. `unknown` names the fields that are empty because of that. `unread_last` is the day of the newest audit if its
    score cards could not be read: `last` is then that of an earlier one.
    """

    first: date | None = None
    last: date | None = None
    now: datetime | None = None
    audits: int = 0
    clusters: int = 0
    episodes: tuple[Episode, ...] = ()
    repair_times: tuple[RepairTime, ...] = ()
    flapping: tuple[Flapping, ...] = ()
    offenders: tuple[RepeatOffender, ...] = ()
    churn: tuple[ChurnRate, ...] = ()
    growth: tuple[GrowthForecast, ...] = ()
    score: ScoreChange | None = None
    unread: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unread_last: date | None = None

    @property
    def is_known(self) -> bool:
        """Whether it is known which findings are open now."""
        return "episodes" not in self.unknown and self.unread_last is None


@dataclass(frozen=True, slots=True)
class HistoryChoice:
    """Which clusters (patterns with `*` and `?`), owners and codes to show; () means all."""

    clusters: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


def of_state(episodes: Iterable[Episode], state: str) -> tuple[Episode, ...]:
    """Returns the episodes in this state, in their order."""
    return tuple(e for e in episodes if e.state == state)
