"""What was read of a text so far: every format adds to it, and it notices repetitions and differences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kfix.core.numbers import broker_id
from kfix.core.snapshot.group_reading import GroupReading
from kfix.core.snapshot.pasted import Complaint, Key, TwoRows
from kfix.core.snapshot.snapshot import Assignment, Endpoint, Mode, PartitionView, TopicPartition
from kfix.diagnose.pasted.commands import PastedCommand
from kfix.diagnose.pasted.lines import PastedLine

_TOPIC: Final = re.compile(r"(?!\.\.?\Z)[a-zA-Z0-9._-]{1,249}\Z")
NOBODY = -1
LEADER_NOT_AVAILABLE = 5
COORDINATOR_NOT_AVAILABLE = 15
#: The subject of a line which shows that a topic was deleted.
DELETED: Final = "deleted"
#: What a cluster has once: any node shows that it works again.
OF_ALL: Final = frozenset({"quorum", "controller"})
#: What concerns one replica of a partition: others may be back without it.
OF_REPLICAS: Final = frozenset({"shrunk", "fetch failed"})
#: Redpanda's tool, whose output shows no ISR.
RPK: Final = "rpk"
#: The levels of log entries that report an error.
ERRORS: Final = frozenset({"ERROR", "FATAL"})
#: Most characters of a line that are kept as evidence.
_LONGEST_TEXT: Final = 400


#: (about, name, code, broker, the node or file of the line if the text names no broker).
ComplaintKey = tuple[str, str, int, int, str]


class BadRowError(Exception):
    """A row of a known kind lacks something, which the message names."""


@dataclass(frozen=True, slots=True)
class _Read:
    view: PartitionView
    number: int
    source: str

    @property
    def words(self) -> str:
        leader = "no leader" if self.view.leader < 0 else f"leader {self.view.leader}"
        epoch = f", leader epoch {self.view.leader_epoch}" if self.view.leader_epoch >= 0 else ""
        isr = ", ".join(map(str, self.view.isr))
        return f"{leader}{epoch}, ISR [{isr}] (line {self.number}, {self.source})"


class Unread(NamedTuple):
    """Unused lines: how many, and the most important one (`worse` is higher for an error)."""

    lines: int = 0
    worse: int = -1
    shown: str = ""

    def plus(self, line: PastedLine, worse: int = 0) -> Unread:
        first = worse > self.worse
        return Unread(self.lines + 1, max(worse, self.worse), line.shown if first else self.shown)


@dataclass(slots=True)
class Gathered:
    """`view_of` is the broker that a client asked, -1 if the text names none; `controller` likewise.

    - `groups`: {group: its state, "" if unknown}
    - `unused`: {tool: number of its lines}, for outputs without any use
    - `short`: {brokers or topics: a sentence}, for outputs that state more of them than the text shows
    - `partial`: why descriptions may leave rows out, "" if none does
    - `readings`: groups whose descriptions have times
    - `foreign`: topics of another cluster
    - `ended`: errors that are over
    - `command`: the command above the open block
    - `errors`: the lines of the levels ERROR and FATAL that kfix does not know
    """

    formats: Counter[str] = field(default_factory=Counter)
    read: dict[TopicPartition, _Read] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    assigned: dict[TopicPartition, Assignment] = field(default_factory=dict)
    moves: dict[TopicPartition, Assignment] = field(default_factory=dict)
    stated: dict[str, int] = field(default_factory=dict)
    endpoints: dict[int, Endpoint] = field(default_factory=dict)
    listed: dict[int, Endpoint] | None = None
    registered: tuple[int, ...] | None = None
    alive: dict[int, str] = field(default_factory=dict)
    dead: dict[int, str] = field(default_factory=dict)
    elr: dict[Key, tuple[int, ...]] = field(default_factory=dict)
    last_known_elr: dict[Key, tuple[int, ...]] = field(default_factory=dict)
    observers: dict[Key, tuple[int, ...]] = field(default_factory=dict)
    marked: Counter[str] = field(default_factory=Counter)
    unmarked: Counter[str] = field(default_factory=Counter)
    groups: dict[str, str] = field(default_factory=dict)
    unused: Counter[str] = field(default_factory=Counter)
    complaints: dict[ComplaintKey, Complaint] = field(default_factory=dict)
    settled: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    readings: list[GroupReading] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    ended: set[ComplaintKey] = field(default_factory=set)
    two_rows: list[TwoRows] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    skipped: Unread = field(default_factory=Unread)
    repeated: Unread = field(default_factory=Unread)
    errors: Unread = field(default_factory=Unread)
    short: dict[str, str] = field(default_factory=dict)
    partial: str = ""
    command: PastedCommand = field(default_factory=PastedCommand)
    cluster_id: str = ""
    view_of: int = NOBODY
    controller: int = NOBODY
    mode: Mode = Mode.UNKNOWN

    def partition(self, tp: TopicPartition, view: PartitionView, line: PastedLine, source: str) -> None:
        """Adds the facts of one row about a partition.

        Of two different rows the one with the higher leader epoch counts, otherwise the later one. Raises BadRowError
        for a row that no broker prints, since nothing is known of its partition.
        """
        _require_possible(tp.topic, view)
        new, old = _Read(view, line.number, source), self.read.get(tp)
        if old is None:
            self.read[tp] = new
            return
        kept, other = (old, new) if old.view.leader_epoch > view.leader_epoch >= 0 else (new, old)
        if _same(old.view, view):
            self.repeat(line)
        else:
            self.two_rows.append(TwoRows(tp, *(f"{r.words}: used" if r is kept else r.words for r in (old, new))))
        # A znode does not hold the replicas, and a description does not show the epoch.
        whole = kept.view._replace(
            replicas=kept.view.replicas or other.view.replicas,
            leader_epoch=max(kept.view.leader_epoch, other.view.leader_epoch),
        )
        self.read[tp] = _Read(whole, kept.number, kept.source)

    def complain(
        self,
        about: str,
        name: str,
        code: int,
        line: PastedLine,
        *,
        at: float = -1.0,
        broker: int = NOBODY,
        detail: str = "",
    ) -> ComplaintKey:
        """Adds an error and returns its key; a repeated error counts as a repeated line, and the last one counts."""
        node = line.node or line.file
        key = (about, name, code, broker, node if broker < 0 else "")
        old = self.complaints.get(key)
        if old is None:
            text = line.text[:_LONGEST_TEXT]
            self.complaints[key] = Complaint(about, name, code, line.number, text, at, broker, detail, line.where, node)
            return key
        self.repeat(line)
        last = line.number if _later((at, line.number), (old.at, old.line)) else old.line
        self.complaints[key] = old._replace(
            line=last, at=max(at, old.at), times=old.times + 1, detail=old.detail or detail
        )
        return key

    def add_to_pod(self, pod: str, why: str, line: PastedLine) -> None:
        """Adds the reason why a container of a pod ended, also to what an earlier line shows of the pod."""
        key = self.complain("pod", pod, -1, line, detail=f"{pod} ({why})")
        if why not in (old := self.complaints[key]).detail:
            self.complaints[key] = old._replace(detail=f"{old.detail.removesuffix(')')}, {why})")

    def detail(self, about: str, broker: int, detail: str) -> None:
        """Changes the detail of an error of a broker, if there is one."""
        key = (about, "", -1, broker, "")
        if (old := self.complaints.get(key)) is not None:
            self.complaints[key] = old._replace(detail=detail)

    def settle(self, about: str, name: str, line: PastedLine, at: float = -1.0) -> None:
        """Notes that `name` works again in this line; earlier errors no longer count."""
        old = self.settled.get((about, name))
        if old is None or _later((at, line.number), old):
            self.settled[about, name] = (at, line.number)

    def discovered(self, group: str, line: PastedLine, at: float) -> None:
        """Notes that the coordinator of a group was found, which settles only COORDINATOR_NOT_AVAILABLE."""
        self.settle(f"group {COORDINATOR_NOT_AVAILABLE}", group, line, at)

    def lasting(self) -> tuple[Complaint, ...]:
        """Returns the errors that no later line settles."""
        return tuple(each for key, each in self.complaints.items() if key not in self.ended and not self._over(each))

    def is_deleted(self, topic: str, at: float, number: int) -> bool:
        """Returns whether a later line shows that the topic was deleted."""
        end = self.settled.get((DELETED, topic))
        return end is not None and _later(end, (at, number))

    def _over(self, error: Complaint) -> bool:
        if any(self.is_deleted(topic, error.at, error.line) for topic in (error.name, error.name.rpartition("-")[0])):
            return True
        broker = str(error.broker) if error.broker >= 0 else error.node
        subject = "" if error.about in OF_ALL else error.name or broker
        subject += f" {broker}" if error.about in OF_REPLICAS else ""
        ends = (self.settled.get((about, subject)) for about in (error.about, f"{error.about} {error.code}"))
        return any(end is not None and _later(end, (error.at, error.line)) for end in ends)

    def controls(self, controller: int, about: str, line: PastedLine) -> None:
        """Sets the controller from its own record; an earlier line that showed none (`about` it) no longer counts."""
        self.controller = controller
        self.settle(about, "", line)

    def skip(self, line: PastedLine, level: str = "") -> None:
        """Counts a line that kfix does not know: errors matter most, then warnings, then prose."""
        self.skipped = self.skipped.plus(line, 2 if level in ERRORS else 1 if level == "WARN" else 0)
        if level in ERRORS:
            self.errors = self.errors.plus(line)

    def repeat(self, line: PastedLine) -> None:
        self.repeated = self.repeated.plus(line)

    def broken(self, error: BadRowError, line: PastedLine) -> None:
        """Adds a row that could not be read, with its line."""
        self.problems.append(f"{line.number}: {error}: {line.raw.strip()[:80]}")

    def say_alive(self, broker: int, sign: str) -> None:
        self.alive.setdefault(broker, sign)

    def say_dead(self, broker: int, sign: str) -> None:
        self.dead.setdefault(broker, sign)

    @property
    def anything(self) -> bool:
        """Returns whether anything can be judged: a partition, an error, or brokers and groups."""
        return bool(
            self.read or self.complaints or self.settled or self.errors.lines or self.unused.keys() - {RPK}
            or self.groups or self.alive or self.dead or self.listed or self.registered is not None
        )  # fmt: skip

    @property
    def trouble(self) -> tuple[int, int, int]:
        """Returns the severity as counts: partitions without a leader, errors, and partitions that lack replicas."""
        views = [read.view for read in self.read.values()]
        leaderless = sum(view.leader < 0 for view in views)
        return leaderless, len(self.lasting()), sum(len(view.isr) < len(view.replicas) for view in views)

    @property
    def deleting(self) -> frozenset[str]:
        """Returns the topics that most rows mark as being deleted: one stale row is not enough."""
        return frozenset(topic for topic, rows in self.marked.items() if rows > self.unmarked[topic])


def _later(one: tuple[float, int], other: tuple[float, int]) -> bool:
    """Returns whether (time, line) is later than another: by time if both have one, otherwise by line."""
    return one > other if one[0] >= 0 and other[0] >= 0 and one[0] != other[0] else one[1] > other[1]


def _require_possible(topic: str, view: PartitionView) -> None:
    if _TOPIC.match(topic) is None:
        raise BadRowError(f"topic is {topic[:40]!r}, which is not a valid topic name")
    for name, ids in (("Replicas", view.replicas), ("Isr", view.isr)):
        if len(set(ids)) < len(ids):
            raise BadRowError(f"{name} {_ids(ids)} names a broker twice")
        if any(broker < 0 for broker in ids):
            raise BadRowError(f"{name} {_ids(ids)} has a negative broker id")
    if view.leader < 0:
        return
    if view.leader not in view.isr:
        raise BadRowError(f"leader {view.leader} is not in the ISR {_ids(view.isr)}")
    if view.replicas and (others := set(view.isr) - set(view.replicas)):
        raise BadRowError(
            f"ISR {_ids(view.isr)} has {_ids(sorted(others))}, but the replicas are {_ids(view.replicas)}"
        )


def _ids(brokers: Iterable[int]) -> str:
    return f"[{', '.join(map(str, brokers))}]"


def _same(one: PartitionView, other: PartitionView) -> bool:
    replicas = not one.replicas or not other.replicas or one.replicas == other.replicas
    return replicas and one.leader == other.leader and set(one.isr) == set(other.isr)


def partition_view(
    leader: int, replicas: tuple[int, ...], isr: tuple[int, ...], offline: tuple[int, ...] = (), epoch: int = NOBODY
) -> PartitionView:
    """Returns the view of one row, with Kafka's error for a partition without a leader."""
    return PartitionView(leader, epoch, replicas, isr, offline, LEADER_NOT_AVAILABLE if leader < 0 else 0)


def number(text: str, what: str) -> int:
    """Returns a 32-bit number. Raises BadRowError for anything else."""
    found = broker_id(text.removeprefix("-"))
    if found is None:
        raise BadRowError(f"{what} is {text[:40]!r}, wanted a number")
    return -found if text.startswith("-") else found
