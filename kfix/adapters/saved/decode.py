"""Converts a file whose shape was checked (`shape`) to a snapshot. Raises ShapeError for remaining errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from kfix.adapters.saved import shape
from kfix.derive.coordinator import MADE_UP
from kfix.derive.vantage import is_name
from kfix.documents.shapes import ShapeError
from kfix.model.cluster.at_risk import AtRisk
from kfix.model.cluster.group_reading import GroupMember, GroupPartition, GroupReading
from kfix.model.cluster.moves import MoveSeen
from kfix.model.cluster.offsets_size import OffsetsLogSize
from kfix.model.cluster.quorum import ControllerAnswer, EligibleLeaders, OldLeader, QuorumReplica, QuorumView
from kfix.model.cluster.snapshot import (
    Assignment,
    BrokerView,
    ClusterIdentity,
    ControllerNode,
    CoordinatorProbe,
    Endpoint,
    EpochEnd,
    Group,
    LogEnd,
    LoggedGroup,
    Mode,
    OffsetsLog,
    OpenTransaction,
    PartitionState,
    PartitionView,
    Registration,
    Sample,
    Snapshot,
    Source,
    TopicPartition,
    Vantage,
    ZooKeeperNode,
    ZooKeeperView,
)
from kfix.model.cluster.transactions import OpenBatch, TransactionLog, TransactionState

T = TypeVar("T")


def decode(raw: shape.SnapshotShape, origin: str) -> Snapshot:
    return Snapshot(
        taken_at=raw.taken_at,
        seconds=raw.seconds,
        kfix=raw.kfix,
        cluster=ClusterIdentity(raw.cluster.id, Mode(raw.cluster.mode), raw.cluster.bootstrap, raw.cluster.zookeeper),
        sources=tuple(_same(Source, s) for s in raw.sources),
        views=_views(raw.views),
        zookeeper=None if raw.zookeeper is None else _zookeeper(raw.zookeeper),
        quorum=None if raw.quorum is None else _quorum(raw.quorum),
        migration=None if raw.migration is None else _quorum(raw.migration),
        broker_configs=raw.broker_configs,
        topic_configs=raw.topic_configs,
        groups=tuple(_same(Group, g) for g in raw.groups),
        groups_complete=raw.groups_complete,
        probes=tuple(_probe(p) for p in raw.probes),
        offsets_logs=tuple(_offsets_log(each) for each in raw.offsets_logs),
        group_readings=tuple(_group_reading(each) for each in raw.group_readings),
        offsets_sizes=tuple(OffsetsLogSize(*each) for each in raw.offsets_sizes),
        transaction_log=None if raw.transaction_log is None else _transaction_log(raw.transaction_log),
        log_ends=_rows(raw.log_ends, lambda ends: {b: LogEnd(start, end, why) for b, start, end, why in ends}),
        visible=_rows(raw.visible, dict),
        epoch_ends=_rows(raw.epoch_ends, EpochEnd._make),
        ensemble=_ensemble(raw),
        samples=tuple(_sample(s) for s in raw.samples),
        vantages=tuple(_vantage(v) for v in raw.vantages),
        reassignments=None if raw.reassignments is None else _rows(raw.reassignments, Assignment._make),
        addresses=_endpoints(raw.addresses),
        silent=raw.silent,
        remembered_groups=tuple(raw.remembered_groups),
        remembered_brokers=raw.remembered_brokers,
        remembered_alive=raw.remembered_alive,
        remembered_dead=raw.remembered_dead,
        remembered_well=raw.remembered_well,
        remembered_epochs=raw.remembered_epochs,
        remembered_applied=raw.remembered_applied,
        remembered_moves=_rows(raw.remembered_moves, MoveSeen._make),
        remembered_at_risk=_rows(raw.remembered_at_risk, AtRisk._make),
        foreign=raw.foreign,
        stated_partitions=raw.stated_partitions,
        origin=origin,
    )


def _ensemble(raw: shape.SnapshotShape) -> tuple[ZooKeeperNode, ...]:
    nodes = raw.ensemble
    if nodes is None:
        nodes = raw.zookeeper.nodes if raw.zookeeper is not None else []
    return tuple(_same(ZooKeeperNode, n) for n in nodes)


def _same(made: type[T], raw: BaseModel) -> T:
    """Returns a record whose fields are those of its shape."""
    return made(**vars(raw))


def _offsets_log(raw: shape.OffsetsLogShape) -> OffsetsLog:
    def named(pairs: tuple[tuple[str, int], ...] | None) -> tuple[TopicPartition, ...] | None:
        return None if pairs is None else tuple(TopicPartition(*pair) for pair in pairs)

    groups = tuple(
        LoggedGroup(name, count, named(gone), named(held), *members) for name, count, gone, held, *members in raw.groups
    )
    fields = vars(raw) | {"groups": groups, "transactions": tuple(OpenTransaction(*t) for t in raw.transactions)}
    return OffsetsLog(**fields)


def _group_reading(raw: shape.GroupReadingShape) -> GroupReading:
    members = raw.members
    fields = vars(raw) | {
        "endpoint": None if raw.endpoint is None else _same(Endpoint, raw.endpoint),
        "members": None if members is None else tuple(_member(each) for each in members),
        "partitions": None if raw.partitions is None else _rows(raw.partitions, GroupPartition._make),
        "held": _rows(raw.held, OpenBatch._make),
    }
    return GroupReading(**fields)


def _transaction_log(raw: shape.TransactionLogShape) -> TransactionLog:
    return TransactionLog(tuple(TransactionState(*each) for each in raw.found), raw.error)


def _probe(raw: shape.ProbeShape) -> CoordinatorProbe:
    made_up = raw.group.startswith(MADE_UP) if raw.made_up is None else raw.made_up
    return CoordinatorProbe(**vars(raw) | {"made_up": made_up})


def _member(raw: shape.MemberRow) -> GroupMember:
    def named(pairs: Iterable[tuple[str, int]]) -> tuple[TopicPartition, ...]:
        return tuple(TopicPartition(*tp) for tp in pairs)

    target, epoch = (raw[5], raw[6]) if len(raw) > 5 else (None, None)
    return GroupMember(*raw[:4], named(raw[4]), None if target is None else named(target), epoch)


def _sample(raw: shape.SampleShape) -> Sample:
    return Sample(
        raw.taken_at,
        _rows(raw.ends, dict),
        _rows(raw.leaders, lambda f: (f[0], f[1], f[2])),
        _rows(raw.visible, lambda f: int(f[0])),
    )


def _vantage(raw: shape.VantageShape) -> Vantage:
    if not is_name(raw.name):
        raise ShapeError(f"vantages: {raw.name[:60]!r} is not a vantage name (1 to 40 printable characters)")
    return _same(Vantage, raw)


def _views(raw: Mapping[int, shape.ViewShape]) -> dict[int, BrokerView]:
    """Returns the views. Brokers with the same partitions share one mapping, as in a snapshot of a live cluster."""
    found: dict[int, dict[TopicPartition, PartitionView]] = {
        broker: _rows(view.partitions, PartitionView._make) for broker, view in raw.items() if view.same_as is None
    }
    views = {}
    for broker, view in raw.items():
        source = broker if view.same_as is None else view.same_as
        if source not in found:
            raise ShapeError(f"views.{broker}.same_as: there is no view of broker {source} with partitions")
        views[broker] = BrokerView(broker, view.controller, _endpoints(view.alive), view.racks, found[source])
    return views


def _zookeeper(raw: shape.ZooKeeperShape) -> ZooKeeperView:
    return ZooKeeperView(
        connect=raw.connect,
        server=raw.server,
        controller=_same(ControllerNode, raw.controller),
        registrations={r.broker: _registration(r) for r in raw.registrations},
        assignments=_rows(raw.assignments, Assignment._make),
        states=_rows(raw.states, PartitionState._make),
        reassigning=_rows(raw.reassigning, lambda f: tuple(f[0])),
        deleting=frozenset(raw.deleting),
        topic_configs=raw.topic_configs,
        isr_notifications=raw.isr_notifications,
        preferred_election_pending=raw.preferred_election_pending,
        migrating=raw.migrating,
        migrating_since_ms=raw.migrating_since_ms,
        clock_ahead=raw.clock_ahead,
        members_zxid=raw.members_zxid,
    )


def _quorum(raw: shape.QuorumShape) -> QuorumView:
    fields = vars(raw) | {
        "voters": tuple(QuorumReplica(*row) for row in raw.voters),
        "observers": tuple(QuorumReplica(*row) for row in raw.observers),
        "controllers": tuple(map(ControllerAnswer._make, raw.controllers)),
        "eligible": _rows(raw.eligible, EligibleLeaders._make),
        "old_leaders": _rows(raw.old_leaders, OldLeader._make),
        "migrating": tuple(raw.migrating),
    }
    return QuorumView(**fields)


def _registration(raw: shape.RegistrationShape) -> Registration:
    endpoint = None if raw.endpoint is None else _same(Endpoint, raw.endpoint)
    return Registration(raw.broker, endpoint, raw.rack, raw.czxid, raw.registered_ms)


def _endpoints(raw: Mapping[int, shape.EndpointShape]) -> dict[int, Endpoint]:
    return {broker: _same(Endpoint, each) for broker, each in raw.items()}


def _rows(
    raw: Mapping[str, Sequence[tuple[Any, ...]]], make: Callable[[Iterable[Any]], T] | Callable[[Any], T]
) -> dict[TopicPartition, T]:
    return {TopicPartition(topic, row[0]): make(row[1:]) for topic, rows in raw.items() for row in rows}
