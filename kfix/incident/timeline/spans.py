"""Observations over time, the spans drawn between two of them, and the lanes of the picture."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from kfix.core.derive.grouping import grouped
from kfix.core.derive.record import record_of
from kfix.core.events import ABSENT, Lane, Observation, Span, SpanCertainty, changes_over
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.incident.model import Leaderless, Picture
from kfix.incident.timeline.when import SKEW, stamped, states

# Observations of each partition, broker and controller over time; an unchanged state is one entry.


@dataclass(slots=True)
class Tracks:
    """Observations by partition, by broker id (`leader` is the id while registered, else -1), and by controller."""

    partitions: dict[TopicPartition, list[Observation]] = field(default_factory=dict)
    brokers: dict[int, list[Observation]] = field(default_factory=dict)
    controller: list[Observation] = field(default_factory=list)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        at = snapshot.taken_at
        for tp, state in states(snapshot).items():
            since = stamped(state.mtime_ms, at)
            observation = Observation(at, since, state.leader, state.leader_epoch, state.isr, state.version)
            _add(self.partitions.setdefault(tp, []), observation)
        record = record_of(snapshot)
        if record is None:
            return
        assigned = {broker for each in record.assignments.values() for broker in each.replicas}
        for broker in record.registrations.keys() | self.brokers.keys() | assigned:
            mine = record.registrations.get(broker)
            seen = self.brokers.setdefault(broker, [])
            if mine is None:
                _add(seen, Observation(at, None, -1, -1, None))
            else:
                _add(seen, Observation(at, stamped(mine.registered_ms, at), broker, mine.czxid, None, mine.czxid))
        controller = record.controller
        if controller is None:
            return
        epoch = controller.epoch
        if controller.node is None:
            _add(self.controller, Observation(at, None, -1, epoch, None, -1))
        else:
            since = stamped(controller.since_ms, at)
            _add(self.controller, Observation(at, since, controller.node, epoch, None, epoch))

    def add_partitions(self, entries: Iterable[tuple[TopicPartition, Observation]]) -> None:
        """Adds observations of partitions from log lines, in any order."""
        for tp, known in entries:
            self.partitions.setdefault(tp, []).append(known)

    def without(self, unwanted: Callable[[TopicPartition, float], bool]) -> None:
        """Removes observations for which `unwanted` is true, such as writes during the deletion of a topic."""
        for tp, known in self.partitions.items():
            self.partitions[tp] = [k for k in known if not unwanted(tp, k.at if k.since is None else k.since)] or known[
                :1
            ]

    def add_brokers(self, entries: Iterable[tuple[int, Observation]]) -> None:
        for broker, known in entries:
            self.brokers.setdefault(broker, []).append(known)


def _add(seen: list[Observation], observation: Observation) -> None:
    """Appends an observation, or extends the last one if nothing was written since; an outdated one is dropped."""
    if not seen:
        seen.append(observation)
        return
    last = seen[-1]
    if observation.version >= 0 and last.version > observation.version and observation.epoch <= last.epoch:
        return
    same = (last.leader, last.epoch, last.isr, last.version) == (
        observation.leader,
        observation.epoch,
        observation.isr,
        observation.version,
    )
    if same and observation.version >= 0:
        seen[-1] = last._replace(until=observation.at)
    else:
        seen.append(observation)


# Builds spans from observations: between two observations, only a proved state is drawn as known.
#
# The proof is the version of the state znode (for a broker its czxid, for the controller its epoch). An equal version
# at both ends proves that nothing was written in between. A version that is one higher proves exactly one write, at the
# time that the source recorded. Everything else is unknown, or "the same at both ends", which does not mean "constant".


def spans(known: Iterable[Observation], begin: float, end: float) -> tuple[Span, ...]:
    """Returns contiguous, non-overlapping spans from `begin` to `end` (seconds since the epoch)."""
    points = _in_order(_of_record(tuple(known)), end)
    if not points:
        return (Span(begin, end, None, SpanCertainty.UNKNOWN),)
    made = [*_head(points[0], begin)]
    for before, after in pairwise(points):
        made += [*_held(before), *_gap(before, after)]
    last = points[-1]
    made += [*_held(last)]
    if last.last < end:
        made.append(Span(last.last, end, None, SpanCertainty.UNKNOWN))
    return tuple(_joined(_clipped(made, begin, end)))


def _of_record(known: tuple[Observation, ...]) -> Iterable[Observation]:
    """Drops the brokers' own metadata if at least one snapshot contains ZooKeeper's record of the partition."""
    if not any(k.version >= 0 and k.isr is not None for k in known):
        return known
    return (k for k in known if k.version >= 0 or k.since is not None or k.isr is None)


def _in_order(known: Iterable[Observation], end: float) -> list[Observation]:
    """Sorts by time. An observation without a leader (-2) or ISR inherits the previous one; repetitions are dropped."""
    found: list[Observation] = []
    for each in sorted(known, key=lambda k: (k.at if k.since is None else min(k.since, k.at), k.epoch, k.version)):
        one = each
        if found:
            last = found[-1]
            if one.leader == -2:
                one = one._replace(leader=last.leader, epoch=max(one.epoch, last.epoch))
            if one.isr is None and one.epoch == last.epoch and one.leader == last.leader:
                one = one._replace(isr=last.isr)
            if 0 <= one.epoch < last.epoch or (0 <= one.version < last.version and one.epoch <= last.epoch):
                continue
            if one.since is not None and one.since < last.last - SKEW and not _same(last, one):
                one = one._replace(since=None)  # The previous snapshot shows a different state after that time.
            repeated = one.version == last.version or -1 in (one.version, last.version)
            if repeated and _same(last, one) and _proved_same(last, one):
                keep = one if last.version < 0 else last
                found[-1] = keep._replace(at=last.at, since=last.since, until=max(last.last, one.last))
                continue
        elif one.leader == -2:
            continue
        if one.at <= end or (one.since is not None and one.since <= end):
            found.append(one)
    return found


def _same(a: Observation, b: Observation) -> bool:
    return a.leader == b.leader and a.epoch == b.epoch and set(a.isr or ()) == set(b.isr or ())


def _proved_same(a: Observation, b: Observation) -> bool:
    """Whether both observations show the same write: equal versions, or matching write times."""
    if a.version >= 0 and a.version == b.version:
        return True
    return (a.since is not None and b.since is not None and abs(a.since - b.since) < 1.0) or (
        b.since is not None and b.since <= a.at
    )


def _start(known: Observation) -> float:
    return known.at if known.since is None else min(known.since, known.at)


def _head(first: Observation, begin: float) -> Iterator[Span]:
    start = _start(first)
    if start > begin:
        yield Span(begin, start, None, SpanCertainty.UNKNOWN)


def _held(known: Observation) -> Iterator[Span]:
    yield Span(_start(known), known.last, known.leader, SpanCertainty.KNOWN, known.isr, known.epoch)


def _gap(before: Observation, after: Observation) -> Iterator[Span]:
    """Yields the span between the last moment of `before` and the first moment of `after`."""
    begin, end = before.last, _start(after)
    if end <= begin:
        return
    if _follows(before, after):
        yield Span(begin, end, before.leader, SpanCertainty.KNOWN, before.isr, before.epoch)
    elif _same(before, after) and (before.isr is not None or before.epoch == ABSENT):
        yield Span(begin, end, before.leader, SpanCertainty.SAME, before.isr, before.epoch)
    elif before.epoch == ABSENT and after.since is not None:
        # Absent before, and absent until it registered; it may have been present in between.
        yield Span(begin, end, before.leader, SpanCertainty.SAME, None, before.epoch)
    elif before.leader == after.leader and before.epoch == after.epoch:
        # Every election raises the leader epoch, so the leader is proved; the ISR is not.
        yield Span(begin, end, before.leader, SpanCertainty.SAME, None, before.epoch)
    else:
        yield Span(begin, end, None, SpanCertainty.UNKNOWN)


def _follows(before: Observation, after: Observation) -> bool:
    """Whether `after` is the very next write, at a known time. Absence has no epoch: a log records it when it happens.

    If a log line has no version, the epochs prove the leader; an ISR change in between would also be in the logs.
    """
    if after.since is None:
        return False
    if after.epoch == ABSENT:
        return True
    if before.version >= 0 and after.version >= 0:
        return after.version == before.version + 1
    return before.epoch >= 0 and after.epoch in (before.epoch, before.epoch + 1)


def _clipped(made: Iterable[Span], begin: float, end: float) -> Iterator[Span]:
    """Clips spans to the window. If clocks disagree, a span begins at the end of the previous one."""
    at = begin
    for span in made:
        first, last = max(span.begin, at), min(span.end, end)
        if last > first or (last == first and span.proof is SpanCertainty.KNOWN and span.begin >= at and first <= end):
            yield Span(first, max(first, last), span.value, span.proof, span.isr, span.epoch)
            at = max(at, last)


def _joined(made: Iterable[Span]) -> Iterator[Span]:
    held: Span | None = None
    for span in made:
        if held is not None and _alike(held, span):
            held = Span(held.begin, max(held.end, span.end), held.value, held.proof, held.isr, span.epoch)
            continue
        if held is not None:
            yield held
        held = span
    if held is not None:
        yield held


def _alike(a: Span, b: Span) -> bool:
    return (a.value, a.proof, None if a.isr is None else frozenset(a.isr)) == (
        b.value,
        b.proof,
        None if b.isr is None else frozenset(b.isr),
    )


#: Most histories that are drawn; more would not be readable.
MOST: Final = 30
#: Changes within this many seconds count as one moment when histories are compared.
TOGETHER: Final = 2.0


def picture(tracks: Tracks, begin: float, end: float, runs: tuple[Span, ...]) -> Picture:
    """Lanes of the picture: changed partitions only, one lane per distinct history, worst first, as many as fit a
    page.
    """
    every = {tp: spans(known, begin, end) for tp, known in tracks.partitions.items()}
    changed = {tp: made for tp, made in every.items() if changes_over(made) > 1 or _leaderless(made)}
    lanes = sorted(_grouped(changed), key=_badness)
    brokers = tuple(
        Lane(f"broker {broker}", spans(known, begin, end)) for broker, known in sorted(tracks.brokers.items())
    )
    return Picture(
        begin,
        end,
        Lane("controller", spans(tracks.controller, begin, end)) if tracks.controller else None,
        brokers,
        tuple(lanes[:MOST]),
        runs,
        (len(lanes[MOST:]), sum(len(lane.partitions) for lane in lanes[MOST:])),
        len(every) - len(changed),
        _without_leader(lanes),
    )


def _without_leader(lanes: Iterable[Lane]) -> Leaderless:
    """Returns the partitions without a leader, including those that are not drawn."""
    mine = [(lane, [s for s in lane.spans if s.value == -1]) for lane in lanes]
    mine = [(lane, none) for lane, none in mine if none]
    return Leaderless(
        tuple(sorted(tp for lane, _ in mine for tp in lane.partitions)),
        max((sum(s.end - s.begin for s in none) for _, none in mine), default=0.0),
        all(s.proof is SpanCertainty.KNOWN for _, none in mine for s in none),
    )


def _leaderless(made: Iterable[Span]) -> bool:
    return any(s.value == -1 for s in made)


def _grouped(changed: Mapping[TopicPartition, tuple[Span, ...]]) -> Iterable[Lane]:
    moments = _moments(s.begin for made in changed.values() for s in made)

    def story(made: Iterable[Span]) -> object:
        return tuple((moments[s.begin], s.value, s.proof, None if s.isr is None else frozenset(s.isr)) for s in made)

    for members in grouped((story(made), tp) for tp, made in changed.items()).values():
        members.sort()
        made = changed[members[0]]
        replicas = sorted({b for s in made for b in s.isr or ()} | {s.value for s in made if s.value not in {None, -1}})
        yield Lane(str(members[0]), made, tuple(members), tuple(b for b in replicas if b is not None))


def _moments(times: Iterable[float]) -> dict[float, int]:
    """Numbers the moments; times within `TOGETHER` seconds of the previous one share its number."""
    found: dict[float, int] = {}
    number, last = 0, float("-inf")
    for at in sorted(set(times)):
        if at - last > TOGETHER:
            number += 1
        found[at] = number
        last = at
    return found


def _badness(lane: Lane) -> tuple[float, float, float, str]:
    leaderless = sum(s.end - s.begin for s in lane.spans if s.value == -1)
    none = -1.0 if any(s.value == -1 for s in lane.spans) else 0.0
    return none, -leaderless, -float(changes_over(lane.spans)), lane.name
