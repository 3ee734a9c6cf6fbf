"""The parts of a post-mortem: events on a cluster, and the states between them.

All times are seconds since the epoch, UTC, by the clock of their source: kfix's host for a snapshot, the ZooKeeper
server for a znode, the broker for a line of its log. No clock is corrected.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from kfix.core.declared import Seconds
from kfix.core.snapshot.snapshot import TopicPartition

#: The epoch of a broker that is not registered: only a registration has one.
ABSENT: Final = -1


class Theme(StrEnum):
    """The subject of an event; the page filters by it."""

    LEADER = "leader"
    ISR = "ISR"
    CONTROLLER = "controller"
    BROKER = "broker"
    VIEWS = "views"
    ZOOKEEPER = "zookeeper"
    LOSS = "loss"
    CONFIG = "config"
    REASSIGNMENT = "reassignment"
    FINDING = "finding"
    RUN = "kfix run"
    WATCH = "watch"


class Tone(StrEnum):
    """`bad` is a sign of an incident, `good` is its end, `act` is a deliberate action.

    `note` is neutral but worth a line; `plain` is what an output leaves out first.
    """

    BAD = "bad"
    GOOD = "good"
    ACT = "act"
    NOTE = "note"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Event:
    """An event that happened at `at`, or, with `not_before`, after `not_before` and no later than `at`.

    `text` does not name the partition, so that equal events of many partitions become one row. Events with the same
    `key` are one fact from several sources; "" equals no other key. With `lasting` False the key may recur, and is the
    same fact only if close in time. `source` is `snapshot FILE`, `journal RUN` or `LOG:LINE`.
    """

    at: float
    theme: Theme
    tone: Tone
    text: str
    source: str
    not_before: float | None = None
    partition: TopicPartition | None = None
    broker: int | None = None
    key: str = ""
    lasting: bool = True


class Observation(NamedTuple):
    """The state of one partition, broker or controller according to one source at `at`.

    `since` is when that state was written, None if the source does not record it. `isr` is None if the source
    does not contain it. `version` is the state znode's, -1 if unknown: equal versions prove that nothing was
    written in between, and a version that is one higher proves exactly one write.
    """

    at: float
    since: float | None
    leader: int
    epoch: int
    isr: tuple[int, ...] | None
    version: int = -1
    until: float = 0.0

    @property
    def last(self) -> float:
        return max(self.at, self.until)


class SpanCertainty(StrEnum):
    """How certain a span is. `same`: equal at both ends, which proves nothing about the time in between."""

    KNOWN = "known"
    SAME = "same"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Span:
    """A state from `begin` to `end`. `value` is a broker id, -1 for none, None for unknown."""

    begin: Seconds
    end: Seconds
    value: int | None
    proof: SpanCertainty = SpanCertainty.KNOWN
    isr: tuple[int, ...] | None = None
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of the picture. All `partitions` had this history; `replicas` were in the ISR at some time, or led."""

    name: str
    spans: tuple[Span, ...]
    partitions: tuple[TopicPartition, ...] = ()
    replicas: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A saved snapshot in one row. `vantage` distinguishes snapshots that were taken from different places.

    `unsettled` findings had just begun, so that they are no findings yet, and the snapshot is not healthy either.
    """

    at: Seconds
    name: str
    vantage: str
    findings: int
    worst: str
    could_not_read: tuple[str, ...] = ()
    unsettled: int = 0


def changes_over(spans: Iterable[Span]) -> int:
    """Returns the number of successive known states; 1 means that nothing changed."""
    seen = [(s.value, None if s.isr is None else frozenset(s.isr)) for s in spans if s.value is not None]
    return sum(1 for n, each in enumerate(seen) if n == 0 or each != seen[n - 1])


class LogTruncation(NamedTuple):
    """A truncation: `broker` (-1 if the log does not name it) removed its records from `offset` on."""

    at: float
    partition: TopicPartition
    broker: int
    offset: int


@dataclass(frozen=True, slots=True)
class LogStatement:
    """The meaning of one line of a broker's log: events, and the states that hold from then on.

    `unclean` is a partition with an unclean election; `deleted` is (topic, begin, end) of a topic deletion.
    """

    events: tuple[Event, ...] = ()
    partitions: tuple[tuple[TopicPartition, Observation], ...] = ()
    brokers: tuple[tuple[int, Observation], ...] = ()
    controller: Observation | None = None
    cut: LogTruncation | None = None
    unclean: TopicPartition | None = None
    deleted: tuple[str, float, float] | None = None
