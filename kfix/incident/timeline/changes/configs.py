"""Changed topic and broker configs. Only settings that both snapshots contain are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import Snapshot
from kfix.incident.timeline.when import between, records_of, where

_SECRET = ("password", "secret", "jaas", "keystore", "truststore", "credential")


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    at, since = between(before, after)
    for broker in sorted(before.broker_configs.keys() & after.broker_configs.keys()):
        for text in _differences(before.broker_configs[broker], after.broker_configs[broker], both=True):
            yield Event(at, Theme.CONFIG, Tone.ACT, f"broker {broker}: {text}", where(after), since, None, broker)
    records = records_of(before, after)
    if records is None:
        return
    old, new = (record.topic_settings for record in records)
    if old is None or new is None:
        return
    was, now = ({tp.topic for tp in record.assignments} for record in records)
    topics = was & now
    for topic in sorted(topics):
        for text in _differences(old.get(topic, {}), new.get(topic, {}), both=False):
            yield Event(at, Theme.CONFIG, Tone.ACT, f"topic {topic}: {text}", where(after), since)


def _differences(old: Mapping[str, str], new: Mapping[str, str], *, both: bool) -> Iterator[str]:
    """Yields the differences. With `both`, a setting that one snapshot lacks was not read there and is skipped.

    A record has every override of a topic that was read, so there a missing setting means "not set".
    """
    names = old.keys() & new.keys() if both else old.keys() | new.keys()
    for name in sorted(names):
        was, now = old.get(name, "not set"), new.get(name, "not set")
        if was != now:
            hidden = any(word in name.lower() for word in _SECRET)
            yield f"{name} changed" if hidden else f"{name}: {was} \N{RIGHTWARDS ARROW} {now}"
