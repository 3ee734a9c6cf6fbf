"""Changes of topics and partitions between two snapshots: ISR, leaders, log ends, reassignments, assignments."""

from collections import Counter
from collections.abc import Iterator, Mapping

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import NO_LEADER, Assignment, LogEnd, PartitionState, Snapshot, TopicPartition
from kfix.core.wording import several
from kfix.incident.timeline.when import between, comparable, records_of, states, where

# ISR changes: which replicas left, and which returned.


def isr_changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    if not comparable(before, after):
        return
    was = states(before)
    for tp, now in states(after).items():
        old = was.get(tp)
        if old is None or set(old.isr) == set(now.isr) or now.version < old.version:
            continue
        at, not_before = between(before, after, now.mtime_ms if now.version == old.version + 1 else 0)
        tone, text = isr_sentence(old.isr, now.isr)
        yield Event(at, Theme.ISR, tone, text, where(after), not_before, tp, key=key_of(tp, now.isr), lasting=False)


def key_of(tp: TopicPartition, isr: tuple[int, ...]) -> str:
    """Returns the key of a change, the same from a snapshot and from the leader's log."""
    return f"isr:{tp}:{','.join(map(str, sorted(isr)))}"


def isr_sentence(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[Tone, str]:
    gone, came = set(old) - set(new), set(new) - set(old)
    arrow = f"{_ids(old)} \N{RIGHTWARDS ARROW} {_ids(new)}"
    if gone and came:
        return Tone.BAD, f"ISR changed {arrow}"
    return (Tone.BAD, f"ISR shrank {arrow}") if gone else (Tone.GOOD, f"ISR grew {arrow}")


def _ids(isr: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, isr))}]"


# Leader changes: from, to, leader epoch. Losing the leader is bad, getting one is good.


def leader_changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
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
        tone, text = leader_sentence(old.leader, now.leader, now.leader_epoch)
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


def leader_sentence(old: int, new: int, epoch: int) -> tuple[Tone, str]:
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


# Log end offsets that went back: on one replica its log was truncated, on all replicas read records were lost.


def log_end_changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
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


# Reassignments that began or ended, from the controller's list, or from the topic znodes if that was not read.


def reassignment_changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    was, now = moving(before), moving(after)
    if was is None or now is None:
        return
    at, since = between(before, after)
    for tp in sorted(now.keys() - was.keys()):
        move = now[tp]
        text = f"reassignment began: adding {list(move.adding)}, removing {list(move.removing)}"
        yield Event(at, Theme.REASSIGNMENT, Tone.NOTE, text, where(after), since, tp)
    for tp in sorted(was.keys() - now.keys()):
        yield Event(at, Theme.REASSIGNMENT, Tone.NOTE, "reassignment ended", where(after), since, tp)


def moving(snapshot: Snapshot) -> Mapping[TopicPartition, Assignment] | None:
    """Returns the ongoing reassignments, or None if no source reports them."""
    if snapshot.reassignments is not None:
        return snapshot.reassignments
    if snapshot.zookeeper is None:
        return None
    assigned = snapshot.zookeeper.assignments
    return {tp: each for tp, each in assigned.items() if each.adding or each.removing}


def topic_changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    """Topics that were created, deleted, created again or expanded, and changed assignments, from the record."""
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
