"""Leader changes: from, to, leader epoch. Losing the leader is bad, getting one is good."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import NO_LEADER, PartitionState, Snapshot, TopicPartition
from kfix.core.wording import several
from kfix.incident.timeline.when import between, comparable, states, where


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    if not comparable(before, after):
        return
    was = states(before)
    for tp, now in states(after).items():
        old = was.get(tp)
        if old is None:
            yield from _new_without(before, after, tp, now)
            continue
        if old.leader_epoch == now.leader_epoch and old.leader == now.leader:
            continue
        if now.leader_epoch < old.leader_epoch:
            continue  # A lagging server of the ensemble, or a topic that was recreated.
        at, not_before = between(before, after, now.mtime_ms if _last_write_was_the_election(old, now) else 0)
        tone, text = sentence(old.leader, now.leader, now.leader_epoch)
        skipped = now.leader_epoch - old.leader_epoch - 1
        if skipped > 0 and old.leader != now.leader:
            text += f"; {several(skipped, 'epoch')} in between were not observed"
        yield Event(at, Theme.LEADER, tone, text, where(after), not_before, tp, key=f"leader:{tp}:{now.leader_epoch}")


def _new_without(before: Snapshot, after: Snapshot, tp: TopicPartition, now: PartitionState) -> Iterator[Event]:
    """Yields an event for a partition that was created since the previous snapshot and has no leader."""
    if now.leader == NO_LEADER:
        at, since = between(before, after, now.mtime_ms)
        text = f"lost its leader, leader epoch {now.leader_epoch}"
        key = f"leader:{tp}:{now.leader_epoch}"
        yield Event(at, Theme.LEADER, Tone.BAD, text, where(after), since, tp, key=key)


def sentence(old: int, new: int, epoch: int) -> tuple[Tone, str]:
    """Returns the tone and the sentence of a leader change; `old` is -2 if unknown."""
    who = {-1: "no leader", -2: "unknown"}
    if new < 0:
        lost = f" (it was {old})" if old >= 0 else ""
        return Tone.BAD, f"lost its leader{lost}, leader epoch {epoch}"
    if old == -1:
        return Tone.GOOD, f"got a leader: {new}, leader epoch {epoch}"
    if old == new:
        return Tone.PLAIN, f"leader {new} confirmed, leader epoch {epoch}"
    return Tone.NOTE, f"leader {who.get(old, old)} \N{RIGHTWARDS ARROW} {new}, leader epoch {epoch}"


def _last_write_was_the_election(old: PartitionState, now: PartitionState) -> bool:
    """Whether the znode's mtime is the election's: any other write has a later one."""
    return now.version >= 0 and now.version == old.version + 1
