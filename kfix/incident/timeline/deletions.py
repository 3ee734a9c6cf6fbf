"""Deleted topics: their partitions lose leaders and replicas on purpose, which is not a sign of the incident."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.incident.timeline.when import records_of

_OF_REPLICAS = frozenset({Theme.LEADER, Theme.ISR, Theme.LOSS, Theme.VIEWS})
#: A broker may log up to this many seconds after the end of a deletion.
_AFTER = 5.0


@dataclass(slots=True)
class Deletions:
    """The periods (begin, end), in seconds since the epoch, in which each topic was being deleted."""

    times: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def pair(self, before: Snapshot, after: Snapshot) -> None:
        records = records_of(before, after)
        if records is None:
            return
        there, left = ({tp.topic for tp in record.assignments} for record in records)
        for topic in there - left:
            self.add(topic, before.taken_at, after.taken_at)

    def add(self, topic: str, begin: float, end: float) -> None:
        self.times.setdefault(topic, []).append((begin, end))

    def within(self, partition: TopicPartition | None, at: float) -> bool:
        if partition is None:
            return False
        return any(begin <= at <= end + _AFTER for begin, end in self.times.get(partition.topic, ()))

    def quieted(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if event.theme in _OF_REPLICAS and event.tone is Tone.BAD and self.within(event.partition, event.at):
                yield replace(event, tone=Tone.PLAIN, text=f"{event.text} (its topic was being deleted)")
            else:
                yield event
