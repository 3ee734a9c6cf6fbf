"""What was read of a text so far: every format adds to it, and it notices what is repeated or differs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kfix.adapters.pasted.lines import PastedLine
from kfix.model.cluster.pasted import Complaint, Key, TwoRows
from kfix.model.cluster.snapshot import Assignment, Endpoint, Mode, PartitionView, TopicPartition
from kfix.model.numbers import broker_id

_TOPIC: Final = re.compile(r"(?!\.\.?\Z)[a-zA-Z0-9._-]{1,249}\Z")
NOBODY = -1
LEADER_NOT_AVAILABLE = 5


class BadRowError(Exception):
    """A row of a known kind lacks something; the message states what."""


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


@dataclass(slots=True)
class Gathered:
    """`view_of` is the broker that a client asked, -1 if the text names none; `controller` likewise.

    `groups` are {group: its state, "" if unknown}, `unused` {tool: number of its lines} of outputs without any use,
    `short` {brokers or topics: a sentence} of outputs that state more of them than the text shows.
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
    deleting: set[str] = field(default_factory=set)
    groups: dict[str, str] = field(default_factory=dict)
    unused: Counter[str] = field(default_factory=Counter)
    complaints: list[Complaint] = field(default_factory=list)
    complained: set[tuple[str, str, int]] = field(default_factory=set)
    two_rows: list[TwoRows] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    skipped: list[PastedLine] = field(default_factory=list)
    repeated: list[PastedLine] = field(default_factory=list)
    short: dict[str, str] = field(default_factory=dict)
    view_of: int = NOBODY
    controller: int = NOBODY
    cluster_id: str = ""
    mode: Mode = Mode.UNKNOWN

    def partition(self, tp: TopicPartition, view: PartitionView, line: PastedLine, source: str) -> None:
        """Adds what one row shows of a partition.

        Of two different rows the one with the higher leader epoch counts, otherwise the later one. Raises BadRowError
        for a row that no broker prints, since nothing is known of its partition.
        """
        _require_possible(tp.topic, view)
        new, old = _Read(view, line.number, source), self.read.get(tp)
        if old is None:
            self.read[tp] = new
            return
        if _same(old.view, view):
            self.repeated.append(line)
        else:
            self.two_rows.append(TwoRows(tp, old.words, new.words))
        kept, other = (old, new) if old.view.leader_epoch > view.leader_epoch >= 0 else (new, old)
        # A znode does not hold the replicas, and a description does not show the epoch.
        whole = kept.view._replace(
            replicas=kept.view.replicas or other.view.replicas,
            leader_epoch=max(kept.view.leader_epoch, other.view.leader_epoch),
        )
        self.read[tp] = _Read(whole, kept.number, kept.source)

    def complain(self, about: str, name: str, code: int, line: PastedLine) -> None:
        """Adds an error; the same one again counts as a repeated line."""
        if (about, name, code) in self.complained:
            self.repeated.append(line)
        else:
            self.complained.add((about, name, code))
            self.complaints.append(Complaint(about, name, code, line.number, line.text))

    def controls(self, controller: int, about: str) -> None:
        """Sets the controller by its own record; an earlier line that showed none (`about` it) is the past."""
        self.controller = controller
        self.complaints = [c for c in self.complaints if c.about != about]
        self.complained = {key for key in self.complained if key[0] != about}

    def broken(self, error: BadRowError, line: PastedLine) -> None:
        """Adds a row that could not be read, with its line."""
        self.problems.append(f"{line.number}: {error}: {line.raw.strip()[:80]}")

    def say_alive(self, broker: int, sign: str) -> None:
        self.alive.setdefault(broker, sign)

    def say_dead(self, broker: int, sign: str) -> None:
        self.dead.setdefault(broker, sign)

    @property
    def anything(self) -> bool:
        """Returns whether anything can be judged: a partition, or an error."""
        return bool(self.read or self.complaints)


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
