"""What happened on a cluster, one event at a time, and what held between: the parts of a post-mortem.

All times are seconds since the epoch, UTC, by the clock of whoever told them: kfix's host for a look, ZooKeeper's
server for a znode, the broker for a line of its log. Nobody's clock is corrected here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from kfix.model.cluster.snapshot import TopicPartition

#: The epoch of a broker that is not registered: a registration has one, its absence has none.
ABSENT: Final = -1


class Theme(StrEnum):
    """What an event is about; the page filters by it."""

    LEADER = "leader"
    ISR = "isr"
    CONTROLLER = "controller"
    BROKER = "broker"
    VIEWS = "views"
    ZOOKEEPER = "zookeeper"
    LOSS = "loss"
    CONFIG = "config"
    REASSIGNMENT = "reassignment"
    FINDING = "finding"
    RUN = "kfix run"


class Tone(StrEnum):
    """`bad` is a sign of an incident, `good` takes one back, `act` is what somebody did on purpose.

    `note` is neither, and worth a line; `plain` is what an output may leave out first.
    """

    BAD = "bad"
    GOOD = "good"
    ACT = "act"
    NOTE = "note"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Event:
    """`not_before` None: it happened at `at`. Else it happened after `not_before` and no later than `at`.

    `text` does not name the partition, so that equal events of many partitions are one line. Events with the same `key`
    are the same fact told by several sources; "" is never the same as another. `lasting` False: the key may come again,
    and names the same fact only near in time. `source` is where it was read: `look FILE`, `journal RUN`, `LOG:LINE`.
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
    """What one source said of one partition at `at`. `since`: when that was written, None where the source is silent.

    `isr` None: not told. `version` is the state znode's, -1 where the source does not know it: equal versions prove
    that nothing was written between, a version one higher that nothing else was.
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
    """How a span is known. `same`: equal at both ends, which does not prove that it was so between."""

    KNOWN = "known"
    SAME = "same"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Span:
    """What held from `begin` to `end`. `value` is a broker id, -1 for none, None where nobody knows."""

    begin: float
    end: float
    value: int | None
    proof: SpanCertainty = SpanCertainty.KNOWN
    isr: tuple[int, ...] | None = None
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of the picture. `partitions` all had this history; `replicas` are the ids that were ever in an ISR."""

    name: str
    spans: tuple[Span, ...]
    partitions: tuple[TopicPartition, ...] = ()
    replicas: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A saved snapshot in one line. `vantage` tells looks apart that were taken at different places."""

    at: float
    name: str
    vantage: str
    findings: int
    worst: str
    could_not_read: tuple[str, ...] = ()


def changes_over(spans: Iterable[Span]) -> int:
    """How many different things are known to have held; 1 is a lane in which nothing happened."""
    seen = [(s.value, None if s.isr is None else frozenset(s.isr)) for s in spans if s.value is not None]
    return sum(1 for n, each in enumerate(seen) if n == 0 or each != seen[n - 1])


class LogTruncation(NamedTuple):
    """A replica's log was cut back: `broker` (-1: the log does not say who wrote it) holds nothing from `offset` on."""

    at: float
    partition: TopicPartition
    broker: int
    offset: int


@dataclass(frozen=True, slots=True)
class LogStatement:
    """What one line of a broker's log tells: events, and what has held since. An unclean election is told as such.

    `deleted`: a topic and the times between which its deletion was begun.
    """

    events: tuple[Event, ...] = ()
    partitions: tuple[tuple[TopicPartition, Observation], ...] = ()
    brokers: tuple[tuple[int, Observation], ...] = ()
    controller: Observation | None = None
    cut: LogTruncation | None = None
    unclean: TopicPartition | None = None
    deleted: tuple[str, float, float] | None = None
