"""State changes of ZooKeeper servers: leader, follower, standalone, without a quorum, or not responding."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import Snapshot
from kfix.incident.timeline.when import between, where

_SERVING = ("leader", "follower", "standalone", "observer")


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    was = {node.address: node.mode for node in before.ensemble}
    at, since = between(before, after)
    for node in after.ensemble:
        old = was.get(node.address)
        if old is None or old == node.mode:
            continue
        text = f"ZooKeeper {node.address}: {old or 'no response'} \N{RIGHTWARDS ARROW} {node.mode or 'no response'}"
        yield Event(at, Theme.ZOOKEEPER, _tone(old, node.mode), text, where(after), since)


def _tone(old: str, new: str) -> Tone:
    if new not in _SERVING:
        return Tone.BAD
    return Tone.NOTE if old in _SERVING else Tone.GOOD
