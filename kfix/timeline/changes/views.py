"""Brokers that contradict each other: two leaders of one partition, two controllers. Each look is judged by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kfix.model.cluster.snapshot import Mode, Snapshot, TopicPartition
from kfix.model.incident.timeline import Event, Theme, Tone
from kfix.timeline.when import between, where


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    at, since = between(before, after)
    was, now = leaders(before), leaders(after)
    for tp in sorted(now.keys() - was.keys()):
        text = f"brokers disagree about the leader: {_told(now[tp])}"
        yield Event(at, Theme.VIEWS, Tone.BAD, text, where(after), since, tp)
    if len(after.views) > 1:
        for tp in sorted(was.keys() - now.keys()):
            yield Event(at, Theme.VIEWS, Tone.GOOD, "brokers agree about the leader again", where(after), since, tp)
    yield from _controllers(before, after)


def _controllers(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    at, since = between(before, after)
    was, now = controllers(before), controllers(after)
    if len(now) > 1 and set(now) != set(was):
        told = f"brokers name {len(now)} controllers: {_told(now)}"
        yield Event(at, Theme.VIEWS, Tone.BAD, told, where(after), since)
    if len(was) > 1 and len(now) == 1:
        text = f"all brokers that answer name one controller again: {next(iter(now))}"
        yield Event(at, Theme.VIEWS, Tone.GOOD, text, where(after), since)


def leaders(snapshot: Snapshot) -> dict[TopicPartition, Mapping[int, list[int]]]:
    """Partitions of which two brokers name different leaders: {leader: brokers that say so}. "None" is no leader."""
    said: dict[TopicPartition, dict[int, list[int]]] = {}
    for broker, view in sorted(snapshot.views.items()):
        for tp, seen in view.partitions.items():
            if seen.leader >= 0:
                said.setdefault(tp, {}).setdefault(seen.leader, []).append(broker)
    return {tp: by for tp, by in said.items() if len(by) > 1}


def controllers(snapshot: Snapshot) -> Mapping[int, list[int]]:
    """On KRaft a broker names any broker as controller (KIP-590): nothing is to be compared."""
    said: dict[int, list[int]] = {}
    if snapshot.cluster.mode is not Mode.KRAFT:
        for broker, view in sorted(snapshot.views.items()):
            if view.controller >= 0:
                said.setdefault(view.controller, []).append(broker)
    return said


def _told(said: Mapping[int, list[int]]) -> str:
    return "; ".join(
        f"{named} (say{'s' if len(by) == 1 else ''} broker{'' if len(by) == 1 else 's'} {', '.join(map(str, by))})"
        for named, by in sorted(said.items())
    )
