"""What many audits show together: episodes, times to recovery, what flaps, churn, growth and its forecast.

All times are UTC. A time between two audits is only known to lie between them: bounds state how far.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated

from kfix.core.declared import OrNull


@dataclass(frozen=True, slots=True)
class Episode:
    """A finding of a cluster from the audit that first reports it to the one that reports it as fixed.

    Audits that could not read the cluster end no episode. The true begin is after `not_before`, and the true end after
    `last_seen`.
    """

    cluster: str
    key: str
    code: str
    owner: str
    version: str
    severity: str
    rank: Annotated[int, "the highest so far"]
    prevention: bool
    muted: bool
    began: Annotated[datetime, "the start of the first run whose audit found it"]
    not_before: Annotated[datetime | None, "the last run before that whose audit read the whole cluster"]
    last_seen: Annotated[datetime, "the last run whose audit found it"]
    ended: Annotated[datetime | None, "the run whose audit no longer found it; null: it has not ended"]
    state: Annotated[str, "open, ended, or unknown: it, or a source of it, was not read or is no longer audited"]
    audits: Annotated[int, "audits that found it"]
    unread: Annotated[int, "audits since it began in which it was unknown"]
    partitions: int
    peak_partitions: int
    reopened: Annotated[int, "earlier episodes of the same finding in this history"]

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
    """The time to repair of the episodes that ended, in seconds."""

    by: Annotated[str, "all, code or owner"]
    name: str
    ended: int
    median: OrNull[float]
    mean: OrNull[float]
    low: Annotated[OrNull[float], "the median of the shortest possible durations"]
    high: Annotated[float | None, "that of the longest; null if the begin of half of the episodes is unknown"]
    open: Annotated[int, "episodes that have not ended, which are in none of these figures"]


@dataclass(frozen=True, slots=True)
class Flapping:
    """What changes again and again."""

    kind: Annotated[str, "partition, broker or group"]
    cluster: str
    name: str
    changes: int
    days: Annotated[int, "days with a change"]
    per_day: Annotated[float, "changes by the days between the first and the last audit of the cluster"]
    what: Annotated[str, 'the changes, such as "leader 12, restart 3"']
    last: date


@dataclass(frozen=True, slots=True)
class RepeatOffender:
    """What had trouble in several audits: partitions without leader or full ISR, changes, findings that began."""

    by: Annotated[str, "topic, broker, rack, owner or version"]
    cluster: Annotated[str, '"" for owners and versions, which span clusters']
    name: str
    audits: Annotated[int, "audits with trouble"]
    times: Annotated[int, "how much: partitions, changes, episodes"]


@dataclass(frozen=True, slots=True)
class ChurnRate:
    """The changes of a cluster by day."""

    cluster: str
    owner: str
    days: Annotated[float, "the days between audits that read it"]
    partitions: Annotated[int, "that of the last audit"]
    leader: Annotated[float, "changes of leaders"]
    isr: Annotated[float, "changes of ISRs, a lower bound"]
    restarts: Annotated[float, "of brokers"]
    controller: Annotated[float, "changes of the controller"]


@dataclass(frozen=True, slots=True)
class GrowthForecast:
    """The growth of a measure of a cluster, and when it reaches a limit.

    `skew` is the replicas of the fullest broker in percent of the mean.
    """

    cluster: str
    owner: str
    measure: Annotated[str, "partitions, replicas, replicas of a broker (the fullest) or skew"]
    value: int
    per_day: Annotated[float, "the Theil-Sen slope"]
    low: Annotated[float, "the low end of its 90 % interval"]
    high: Annotated[float, "the high end"]
    points: Annotated[int, "runs that it was calculated from"]
    days: Annotated[float, "the days between them"]
    limit: Annotated[int | None, "null if there is none"] = None
    reached: Annotated[bool, "the limit is met now"] = False
    expected: Annotated[date | None, "the day on which it is reached; null: not within two years"] = None
    earliest: Annotated[date | None, "the same at the high end of the interval"] = None
    latest: Annotated[date | None, "the same at the low end"] = None


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """The fleet's score over the clusters that both audits read."""

    day: date
    run: str
    clusters: int
    before: float
    now: float

    @property
    def change(self) -> float:
        return round(self.now - self.before, 2)


@dataclass(frozen=True, slots=True)
class AuditHistory:
    """What the audits up to one show together. Episodes are those that were open at some time within it."""

    first: Annotated[date | None, "day of the first audit"] = None
    last: Annotated[date | None, "day of the last audit"] = None
    now: Annotated[datetime | None, "when the run of the last audit began"] = None
    audits: Annotated[int, "those that were read"] = 0
    clusters: Annotated[int, "those that they include"] = 0
    episodes: Annotated[tuple[Episode, ...], "open ones first, then unknown, then ended ones; the latest first"] = ()
    repair_times: tuple[RepairTime, ...] = ()
    flapping: tuple[Flapping, ...] = ()
    offenders: tuple[RepeatOffender, ...] = ()
    churn: tuple[ChurnRate, ...] = ()
    growth: tuple[GrowthForecast, ...] = ()
    score: Annotated[ScoreChange | None, "null if no earlier audit read a cluster of this one"] = None
    unread: Annotated[tuple[str, ...], "clusters whose state the last audit does not know"] = ()
    left: Annotated[tuple[str, ...], "clusters of earlier audits that the last one does not include"] = ()
    incomplete: Annotated[tuple[str, ...], "what could not be read for this history, one line each"] = ()
    unknown: Annotated[tuple[str, ...], "fields above that are empty (null in JSON) since they could not be read"] = ()
    unread_last: Annotated[date | None, "day of the newest audit if unreadable: `last` is then an earlier one"] = None

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
