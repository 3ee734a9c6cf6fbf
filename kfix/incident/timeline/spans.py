"""Builds spans from observations: between two observations, only a proved state is drawn as known.

The proof is the version of the state znode (for a broker its czxid, for the controller its epoch). An equal version at
both ends proves that nothing was written in between. A version that is one higher proves exactly one write, at the time
that the source recorded. Everything else is unknown, or "the same at both ends", which does not mean "constant".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from kfix.core.events import ABSENT, Observation, Span, SpanCertainty
from kfix.incident.timeline.when import SKEW


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
