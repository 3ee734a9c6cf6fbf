"""Conflicting broker metadata: two leaders of one partition, two controllers. Each snapshot is evaluated on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import Mode, Snapshot, TopicPartition
from kfix.core.wording import brokers_named
from kfix.incident.timeline.when import between, where


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    at, since = between(before, after)
    was, now = leaders(before), leaders(after)
    for tp in sorted(now.keys() - was.keys()):
        text = f"brokers disagree on the leader: {_by_broker(now[tp])}"
        yield Event(at, Theme.VIEWS, Tone.BAD, text, where(after), since, tp)
    if len(after.views) > 1:
        for tp in sorted(was.keys() - now.keys()):
            yield Event(at, Theme.VIEWS, Tone.GOOD, "brokers agree on the leader again", where(after), since, tp)
    yield from _controllers(before, after)


def _controllers(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    at, since = between(before, after)
    was, now = controllers(before), controllers(after)
    if len(now) > 1 and set(now) != set(was):
        text = f"brokers report {len(now)} controllers: {_by_broker(now)}"
        yield Event(at, Theme.VIEWS, Tone.BAD, text, where(after), since)
    if len(was) > 1 and len(now) == 1:
        text = f"all responding brokers agree on controller {next(iter(now))} again"
        yield Event(at, Theme.VIEWS, Tone.GOOD, text, where(after), since)


def leaders(snapshot: Snapshot) -> dict[TopicPartition, Mapping[int, list[int]]]:
    """Returns the partitions for which brokers report different leaders, as {leader: brokers that report it}."""
    named: dict[TopicPartition, dict[int, list[int]]] = {}
    for broker, view in sorted(snapshot.views.items()):
        for tp, seen in view.partitions.items():
            if seen.leader >= 0:
                named.setdefault(tp, {}).setdefault(seen.leader, []).append(broker)
    return {tp: by for tp, by in named.items() if len(by) > 1}


def controllers(snapshot: Snapshot) -> Mapping[int, list[int]]:
    """Returns {controller: brokers that report it}. Empty on KRaft, where a broker reports a random one (KIP-590)."""
    named: dict[int, list[int]] = {}
    if snapshot.cluster.mode is not Mode.KRAFT:
        for broker, view in sorted(snapshot.views.items()):
            if view.controller >= 0:
                named.setdefault(view.controller, []).append(broker)
    return named


def _by_broker(named: Mapping[int, list[int]]) -> str:
    return "; ".join(
        f"{named} (say{'s' if len(by) == 1 else ''} {brokers_named(by)})" for named, by in sorted(named.items())
    )
