"""Topics that were created, deleted, created again or expanded, and changed assignments, from the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.wording import several
from kfix.incident.timeline.when import between, records_of, where


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    records = records_of(before, after)
    if records is None:
        return
    at, since = between(before, after)
    old, new = (record.assignments for record in records)
    was, now = Counter(tp.topic for tp in old), Counter(tp.topic for tp in new)
    for topic in sorted(now.keys() - was.keys()):
        text = f"topic {topic} was created, {several(now[topic], 'partition')}"
        yield Event(at, Theme.CONFIG, Tone.NOTE, text, where(after), since)
    for topic in sorted(was.keys() - now.keys()):
        yield Event(at, Theme.CONFIG, Tone.ACT, f"topic {topic} was deleted", where(after), since)
    again = _created_again(before, after)
    for topic in sorted(again & was.keys() & now.keys()):
        text = f"topic {topic} was deleted and created again, {several(now[topic], 'partition')}"
        yield Event(at, Theme.CONFIG, Tone.ACT, text, where(after), since)
    for topic in sorted(t for t in was.keys() & now.keys() if now[t] > was[t] and t not in again):
        text = f"topic {topic} was expanded, partitions {was[topic]} \N{RIGHTWARDS ARROW} {now[topic]}"
        yield Event(at, Theme.CONFIG, Tone.ACT, text, where(after), since)
    for tp in sorted(old.keys() & new.keys()):
        if old[tp].replicas != new[tp].replicas and tp.topic not in again:
            text = f"assignment {list(old[tp].replicas)} \N{RIGHTWARDS ARROW} {list(new[tp].replicas)}"
            yield Event(at, Theme.REASSIGNMENT, Tone.ACT, text, where(after), since, tp)


def _created_again(before: Snapshot, after: Snapshot) -> frozenset[str]:
    pairs: list[tuple[Mapping[str, object], Mapping[str, object]]] = [(before.topic_ids, after.topic_ids)]
    if before.zookeeper is not None and after.zookeeper is not None:
        pairs.append((before.zookeeper.topics_created, after.zookeeper.topics_created))
    return frozenset(topic for old, new in pairs for topic, mark in new.items() if old.get(topic, mark) != mark)
