"""Converts a snapshot to JSON, format `kfix.snapshot/1` (docs/snapshot-format.md).

Partitions are rows of values, grouped by topic, so that 50 000 of them stay small and load fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kfix.model.cluster.group_reading import GroupReading
from kfix.model.cluster.quorum import QuorumView
from kfix.model.cluster.snapshot import BrokerView, Sample, Snapshot, TopicPartition, ZooKeeperView
from kfix.model.cluster.transactions import TransactionLog

FORMAT = "kfix.snapshot"
VERSION = 1

#: Known of a live cluster only.
_LIVE_ONLY = frozenset({"security", "controllers"})


def encode(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "kfix": snapshot.kfix,
        "taken_at": snapshot.taken_at,
        "seconds": snapshot.seconds,
        "cluster": {name: value for name, value in asdict(snapshot.cluster).items() if name not in _LIVE_ONLY},
        "sources": [asdict(s) for s in snapshot.sources],
        "views": _views(snapshot.views),
        "zookeeper": None if snapshot.zookeeper is None else _zookeeper(snapshot.zookeeper),
        "quorum": None if snapshot.quorum is None else _quorum(snapshot.quorum),
        "migration": None if snapshot.migration is None else _quorum(snapshot.migration),
        "broker_configs": {str(b): dict(c) for b, c in snapshot.broker_configs.items()},
        "topic_configs": {t: dict(c) for t, c in snapshot.topic_configs.items()},
        "groups": [asdict(g) for g in snapshot.groups],
        "groups_complete": snapshot.groups_complete,
        "probes": [asdict(p) for p in snapshot.probes],
        "offsets_logs": [asdict(log) for log in snapshot.offsets_logs],
        "group_readings": [_group_reading(each) for each in snapshot.group_readings],
        "offsets_sizes": [list(each if each.error else each[:-1]) for each in snapshot.offsets_sizes],
        "transaction_log": None if snapshot.transaction_log is None else _transaction_log(snapshot.transaction_log),
        "log_ends": _by_topic({tp: [[b, *end] for b, end in ends.items()] for tp, ends in snapshot.log_ends.items()}),
        "visible": _by_topic(_pairs(snapshot.visible)),
        "epoch_ends": _by_topic(snapshot.epoch_ends),
        "ensemble": [asdict(n) for n in snapshot.ensemble],
        "samples": [_sample(s) for s in snapshot.samples],
        "vantages": [asdict(v) for v in snapshot.vantages],
        "reassignments": None if snapshot.reassignments is None else _by_topic(snapshot.reassignments),
        "addresses": {str(b): asdict(e) for b, e in snapshot.addresses.items()},
        "silent": {str(b): text for b, text in snapshot.silent.items()},
        "remembered_groups": list(snapshot.remembered_groups),
        "remembered_brokers": {str(b): text for b, text in snapshot.remembered_brokers.items()},
        "remembered_alive": {str(b): at for b, at in snapshot.remembered_alive.items()},
        "remembered_dead": {str(b): at for b, at in snapshot.remembered_dead.items()},
        "remembered_well": {str(b): at for b, at in snapshot.remembered_well.items()},
        "remembered_epochs": {str(epoch): at for epoch, at in snapshot.remembered_epochs.items()},
        "remembered_applied": {str(offset): at for offset, at in snapshot.remembered_applied.items()},
        "remembered_moves": _by_topic(snapshot.remembered_moves),
        "remembered_at_risk": _by_topic(snapshot.remembered_at_risk),
        "foreign": dict(snapshot.foreign),
        "stated_partitions": None if snapshot.stated_partitions is None else dict(snapshot.stated_partitions),
    }


def _views(views: Mapping[int, BrokerView]) -> dict[str, Any]:
    """Most brokers report the same partitions: these are written once, and the others name the broker."""
    found: dict[str, Any] = {}
    first: dict[int, int] = {}
    for broker, view in views.items():
        same = first.setdefault(id(view.partitions), broker)
        found[str(broker)] = {
            "controller": view.controller,
            "alive": {str(b): asdict(e) for b, e in view.alive.items()},
            "racks": {str(b): r for b, r in view.racks.items()},
            "partitions": _by_topic(view.partitions) if same == broker else {},
            "same_as": None if same == broker else same,
        }
    return found


def _zookeeper(view: ZooKeeperView) -> dict[str, Any]:
    return {
        "connect": view.connect,
        "server": view.server,
        "controller": asdict(view.controller),
        "registrations": [asdict(r) for r in view.registrations.values()],
        "assignments": _by_topic(view.assignments),
        "states": _by_topic(view.states),
        "reassigning": _by_topic({tp: [r] for tp, r in view.reassigning.items()}),
        "deleting": sorted(view.deleting),
        "topic_configs": {t: dict(c) for t, c in view.topic_configs.items()},
        "isr_notifications": view.isr_notifications,
        "preferred_election_pending": view.preferred_election_pending,
        "migrating": view.migrating,
        "migrating_since_ms": view.migrating_since_ms,
        "clock_ahead": view.clock_ahead,
        "members_zxid": view.members_zxid,
    }


#: Fields of a quorum that are by node.
_BY_NODE = ("offsets", "later", "configured", "supported", "controller_settings")


def _quorum(view: QuorumView) -> dict[str, Any]:
    fields = asdict(view)
    by_id = {name: {str(b): value for b, value in fields[name].items()} for name in _BY_NODE}
    rows: dict[str, list[list[Any]]] = {"controllers": [list(each) for each in view.controllers]}
    for name in ("voters", "observers"):
        rows[name] = [list(each) if each.directory else list(each[:-1]) for each in getattr(view, name)]
    by_partition = {"eligible": _by_topic(view.eligible), "old_leaders": _by_topic(view.old_leaders)}
    return fields | by_id | rows | by_partition


def _group_reading(reading: GroupReading) -> dict[str, Any]:
    partitions = None if reading.partitions is None else _by_topic(reading.partitions)
    return asdict(reading) | {
        "partitions": partitions,
        "members": reading.members,
        "held": _by_topic(reading.held),
    }


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        "taken_at": sample.taken_at,
        "ends": _by_topic(_pairs(sample.ends)),
        "leaders": _by_topic(sample.leaders),
        "visible": _by_topic({tp: [end] for tp, end in sample.visible.items()}),
    }


def _pairs(ends: Mapping[TopicPartition, Mapping[int, int]]) -> dict[TopicPartition, list[list[int]]]:
    return {tp: [[broker, end] for broker, end in found.items()] for tp, found in ends.items()}


def _by_topic(rows: Mapping[TopicPartition, Any]) -> dict[str, list[list[Any]]]:
    """Returns {topic: [[partition, *fields], ...]}."""
    grouped: dict[str, list[list[Any]]] = {}
    for tp, fields in rows.items():
        grouped.setdefault(tp.topic, []).append([tp.partition, *fields])
    return grouped


def _transaction_log(log: TransactionLog) -> dict[str, Any]:
    return {"found": log.found, "error": log.error}
