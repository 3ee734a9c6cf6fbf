"""Committed offsets of one group in one topic as an argument: JSON such as `{"0":"5","1":null}`.

null stands for a partition without a committed offset. The text is canonical, so that equal offsets are equal texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.offsets import GroupOffsets, StoredOffset, parse_stored
from kfix.core.snapshot.snapshot import NO_LEADER, LogEnd, TopicPartition

#: The arguments that name a group, a topic and committed offsets.
OFFSETS: Mapping[str, ArgKind] = {"group": ArgKind.TEXT, "topic": ArgKind.TOPIC, "offsets": ArgKind.TEXT}

Offsets = Mapping[TopicPartition, StoredOffset | None]


def to_text(offsets: Offsets) -> str:
    rows = {str(tp.partition): None if each is None else each.text for tp, each in sorted(offsets.items())}
    return json.dumps(rows, separators=(",", ":"))


def from_text(topic: str, text: str) -> Offsets:
    """Returns the offsets. Raises RefusedError for a text that `to_text` did not write."""
    try:
        rows = json.loads(text)
        found = {
            TopicPartition(topic, int(number)): None if each is None else parse_stored(each)
            for number, each in rows.items()
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        found = {}
    if not found or min(tp.partition for tp in found) < 0 or to_text(found) != text:
        raise RefusedError(f"topic {topic}: {text[:60]!r} are not committed offsets")
    return found


def offsets_of(args: Args, key: str = "offsets") -> Offsets:
    return from_text(args.text("topic"), args.text(key))


def read_group(args: Args, reader: ClusterReader) -> GroupOffsets:
    """Returns the group with the partitions that the arguments name."""
    return reader.group(args.text("group"), tuple(offsets_of(args)))


def shown_offset(each: StoredOffset | None) -> str:
    return "none" if each is None else str(each.offset)


def shown_offsets(offsets: Offsets) -> str:
    """Returns `orders-0 5, orders-1 none`."""
    return ", ".join(f"{tp} {shown_offset(each)}" for tp, each in sorted(offsets.items()))


def leader_log(tp: TopicPartition, reader: ClusterReader) -> LogEnd:
    """Returns log start and log end offset at the leader. Raises UnreachableError without a leader that answers."""
    state = reader.recorded(tp).state
    if state is None or state.leader == NO_LEADER:
        raise UnreachableError(f"{tp}: {'has no leader' if state else 'does not exist'}, so its log range is unknown")
    found = reader.log_ends(tp, (state.leader,))[state.leader]
    if found.error:
        raise UnreachableError(f"{tp}: broker {state.leader}: {found.error}")
    return found
