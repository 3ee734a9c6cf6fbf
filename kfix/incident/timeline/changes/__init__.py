"""Compares two snapshots: one pure function of both for each kind of change.

A function compares only what both snapshots contain: a source that one of them lacks proves nothing. The list is
written by hand; a test compares it with the folder.
"""

from collections.abc import Callable, Iterator

from kfix.core.events import Event
from kfix.core.snapshot.snapshot import Snapshot
from kfix.incident.timeline.changes import cluster, partitions

Compare = Callable[[Snapshot, Snapshot], Iterator[Event]]

ALL: tuple[Compare, ...] = (
    cluster.controller_changes,
    cluster.broker_changes,
    partitions.leader_changes,
    partitions.isr_changes,
    cluster.view_changes,
    cluster.server_changes,
    partitions.log_end_changes,
    partitions.reassignment_changes,
    partitions.topic_changes,
    cluster.config_changes,
)


def compare(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    for changes in ALL:
        yield from changes(before, after)
