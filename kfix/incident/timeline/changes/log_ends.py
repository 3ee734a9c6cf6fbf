"""Log end offsets that went back: on one replica its log was truncated, on all replicas read records were lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import LogEnd, Snapshot, TopicPartition
from kfix.incident.timeline.when import between, where


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    at, since = between(before, after)
    for tp in sorted(before.log_ends.keys() & after.log_ends.keys()):
        old, new = ends(before.log_ends[tp]), ends(after.log_ends[tp])
        for broker in sorted(old.keys() & new.keys()):
            if new[broker] < old[broker]:
                cut = old[broker] - new[broker]
                text = (
                    f"log end offset on broker {broker} went back from {old[broker]} to {new[broker]} ({cut} offsets)"
                )
                yield Event(at, Theme.LOSS, Tone.BAD, text, where(after), since, tp, broker)
        lost = gone(old, new)
        if lost:
            text = f"offsets {max(new.values())} to {max(old.values()) - 1} are no longer on any replica that was read"
            yield Event(at, Theme.LOSS, Tone.BAD, f"{text} ({lost})", where(after), since, tp)


def lost_records(before: Snapshot, after: Snapshot) -> dict[TopicPartition, int]:
    """Returns the number of offsets per partition that were lost between two snapshots.

    An offset counts as lost if a replica held it in the first snapshot, no replica holds it in the second, and every
    former holder was read again.
    """
    both = before.log_ends.keys() & after.log_ends.keys()
    found = {tp: gone(ends(before.log_ends[tp]), ends(after.log_ends[tp])) for tp in both}
    return {tp: n for tp, n in found.items() if n}


def ends(rows: Mapping[int, LogEnd]) -> dict[int, int]:
    return {broker: row.end for broker, row in rows.items() if not row.error and row.end >= 0}


def gone(old: Mapping[int, int], new: Mapping[int, int]) -> int:
    """Returns the number of lost offsets; 0 if a former holder was not read again, since it may still hold them."""
    if not old or not new:
        return 0
    most = max(old.values())
    holders = {broker for broker, end in old.items() if end > max(new.values())}
    return max(most - max(new.values()), 0) if holders <= new.keys() else 0
