"""Broker registrations in ZooKeeper: registered, lost, re-registered.

The czxid of `/brokers/ids/N` is the broker epoch.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.model.cluster.snapshot import Snapshot
from kfix.model.incident.timeline import Event, Theme, Tone
from kfix.timeline.when import between, where


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    if before.zookeeper is None or after.zookeeper is None:
        return
    old, new = before.zookeeper.registrations, after.zookeeper.registrations
    at, since = between(before, after)
    for broker in sorted(old.keys() - new.keys()):
        text = f"broker {broker} is no longer registered in ZooKeeper"
        key = f"gone:{broker}"
        yield Event(at, Theme.BROKER, Tone.BAD, text, where(after), since, None, broker, key, lasting=False)
    for broker in sorted(new):
        mine, was = new[broker], old.get(broker)
        if was is not None and mine.czxid == was.czxid:
            continue
        at, since = between(before, after, mine.registered_ms)
        again = "registered" if was is None else "re-registered: it restarted, or its session expired"
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
