"""Converts a snapshot to the two files of the store: a table of partitions and a small document with the rest.

Facts about all partitions that the columns do not hold are computed here, once: which brokers hold replicas, which of
those ids no longer exist, when each broker left, and how many partitions each broker knows.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from kfix.core.derive.background import background_of, leavings
from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.derive.partitions import SnapshotPartitions
from kfix.core.failures.masks import states_of
from kfix.core.saved.files import encode
from kfix.core.snapshot.snapshot import Assignment, PartitionState, PartitionView, Snapshot, TopicPartition
from kfix.fleet.store.partition_states import failures_of
from kfix.fleet.store.schema import PARTITIONS, VERSION

_Row = tuple[Any, ...]
_NO_STATE: _Row = (None,) * 7
_UNSEEN: _Row = (None,) * 7


def states_of_partitions(snapshot: Snapshot) -> Any:
    """Returns the partitions of a snapshot with their facts and their raw state, as the table of `stored`."""
    case, facts = _opened(snapshot)
    return table_of(case, facts, {})


def stored(snapshot: Snapshot, cluster: str) -> tuple[Any, dict[str, Any]]:
    """Returns (table, document). The rows are sorted by topic and partition, as `derive` returns them."""
    case, facts = _opened(snapshot)
    states = states_of(case)
    fits = states is not None and states.fits
    table = table_of(case, facts, states.numbers if states is not None and fits else {})
    return table, document_of(case, cluster) | {"failures": failures_of(states)}


def _opened(snapshot: Snapshot) -> tuple[CaseFile, tuple[PartitionFacts, ...]]:
    background = background_of(snapshot)
    partitions = SnapshotPartitions(snapshot, background)
    return CaseFile(snapshot, partitions, background), partitions.facts


def table_of(case: CaseFile, facts: Iterable[PartitionFacts], numbers: Mapping[TopicPartition, int]) -> Any:
    snapshot = case.snapshot
    zookeeper = snapshot.zookeeper
    assignments = zookeeper.assignments if zookeeper else {}
    states = zookeeper.states if zookeeper else {}
    rows = []
    leading = set[tuple[int, frozenset[int]]]()
    for fact in facts:
        tp = fact.tp
        assignment, state = assignments.get(tp), states.get(tp)
        group = (fact.leader, frozenset(case.isr(tp)))
        seen = _seen(tp, assignment, state, snapshot)
        rows.append(
            (*fact, *_assigned(assignment), *(state or _NO_STATE), *seen, group not in leading, numbers.get(tp))
        )
        leading.add(group)
    columns = list(zip(*rows, strict=True)) or [()] * len(PARTITIONS)
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, PARTITIONS, strict=True)], schema=PARTITIONS
    )


def _assigned(assignment: Assignment | None) -> _Row:
    if assignment is None:
        return (None, None, None)
    return (assignment.replicas, assignment.adding or None, assignment.removing or None)


def _seen(tp: TopicPartition, assignment: Assignment | None, state: PartitionState | None, snapshot: Snapshot) -> _Row:
    views = {b: view.partitions.get(tp) for b, view in snapshot.views.items()}
    first = next((v for v in views.values() if v is not None), None)
    if first is None:
        return _UNSEEN
    others = {b: v for b, v in views.items() if v is not first and v != first}
    return (
        first.leader,
        first.leader_epoch,
        None if assignment is not None and first.replicas == assignment.replicas else first.replicas,
        None if state is not None and first.isr == state.isr else first.isr,
        first.offline or None,
        first.error,
        json.dumps(others, separators=(",", ":")) if others else None,
    )


def document_of(case: CaseFile, cluster: str) -> dict[str, Any]:
    """Returns the document as JSON types. `snapshot` has the format of a saved snapshot, without partitions."""
    snapshot, background = case.snapshot, case.background
    zookeeper = snapshot.zookeeper
    return {
        "format": "kfix.fleet-cluster",
        "version": VERSION,
        "cluster": cluster,
        "partitions": len(case.partitions),
        "topics": case.partitions.topics,
        "origin": snapshot.origin,
        "assigned": sorted(background.assigned),
        "lost": {str(b): list(heir) for b, heir in background.lost.items()},
        "holds": {str(b): n for b, n in sorted(case.holds.items())},
        "left": {str(b): list(left) for b, left in leavings(snapshot).items()},
        "known_to": {str(b): len(view.partitions) for b, view in snapshot.views.items()},
        "assignments": 0 if zookeeper is None else len(zookeeper.assignments),
        "states": 0 if zookeeper is None else len(zookeeper.states),
        "snapshot": encode(without_partitions(snapshot)),
    }


def without_partitions(snapshot: Snapshot) -> Snapshot:
    """Returns the snapshot without what tables of their own have."""
    return replace(with_partitions(snapshot, {}, {}, {}), fleet_facts=None)


def with_partitions(
    snapshot: Snapshot,
    views: Mapping[int, Mapping[TopicPartition, PartitionView]],
    assignments: Mapping[TopicPartition, Assignment],
    states: Mapping[TopicPartition, PartitionState],
) -> Snapshot:
    zookeeper = snapshot.zookeeper
    return replace(
        snapshot,
        views={b: replace(v, partitions=views.get(b, {})) for b, v in snapshot.views.items()},
        zookeeper=None if zookeeper is None else replace(zookeeper, assignments=assignments, states=states),
    )
