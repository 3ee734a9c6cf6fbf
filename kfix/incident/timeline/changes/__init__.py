"""Compares two snapshots: one module per theme, each a pure function of both.

A function compares only what both snapshots contain: a source that one of them lacks proves nothing. The list is
written by hand; a test compares it with the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kfix.core.events import Event
from kfix.core.snapshot.snapshot import Snapshot
from kfix.incident.timeline.changes import (
    brokers,
    configs,
    controller,
    isr,
    leaders,
    log_ends,
    reassignments,
    topics,
    views,
    zookeeper_nodes,
)

Compare = Callable[[Snapshot, Snapshot], Iterator[Event]]

ALL: tuple[Compare, ...] = (
    controller.changes,
    brokers.changes,
    leaders.changes,
    isr.changes,
    views.changes,
    zookeeper_nodes.changes,
    log_ends.changes,
    reassignments.changes,
    topics.changes,
    configs.changes,
)


def compare(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    for changes in ALL:
        yield from changes(before, after)
