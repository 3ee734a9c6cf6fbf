"""Brokers that came, left or restarted: by their registrations in ZooKeeper, on KRaft by the fenced ones.

The czxid of `/brokers/ids/N` is the broker epoch; a client of KRaft does not see that epoch.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import Mode, Snapshot
from kfix.incident.timeline.when import between, records_of, where


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    records = records_of(before, after)
    if records is None:
        return
    old, new = (record.registrations for record in records)
    kraft = records[1].mode is Mode.KRAFT
    at, since = between(before, after)
    for broker in sorted(old.keys() - new.keys()):
        text = f"broker {broker} is fenced" if kraft else f"broker {broker} is no longer registered in ZooKeeper"
        key = f"gone:{broker}"
        yield Event(at, Theme.BROKER, Tone.BAD, text, where(after), since, None, broker, key, lasting=False)
    for broker in sorted(new):
        mine, was = new[broker], old.get(broker)
        if was is not None and mine.czxid == was.czxid:
            continue
        at, since = between(before, after, mine.registered_ms)
        again = (
            ("is alive" if kraft else "registered")
            if was is None
            else "re-registered: it restarted, or its session expired"
        )
        tone = Tone.GOOD if was is None else Tone.BAD
        yield Event(
            at,
            Theme.BROKER,
            tone,
            f"broker {broker} {again}",
            where(after),
            since,
            None,
            broker,
            f"up:{broker}",
            lasting=False,
        )
