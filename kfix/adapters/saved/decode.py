"""The way back. Any shape that is not the format's own is a ValueError, KeyError or TypeError for `files` to tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from kfix.model.snapshot import (
    Assignment,
    BrokerView,
    ClusterIdentity,
    ControllerNode,
    CoordinatorProbe,
    Endpoint,
    EpochEnd,
    Group,
    LogEnd,
    Mode,
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
from kfix.model.vantage import is_name

T = TypeVar("T")


def decode(raw: Mapping[str, Any], origin: str) -> Snapshot:
    cluster = raw["cluster"]
    return Snapshot(
        taken_at=_moment(raw["taken_at"]),
        seconds=float(raw["seconds"]),
        kfix=str(raw["kfix"]),
        cluster=ClusterIdentity(cluster["id"], Mode(cluster["mode"]), cluster["bootstrap"], cluster["zookeeper"]),
        sources=tuple(Source(**s) for s in raw["sources"]),
        views={int(b): _view(int(b), v) for b, v in raw["views"].items()},
        zookeeper=None if raw["zookeeper"] is None else _zookeeper(raw["zookeeper"]),
        broker_configs={int(b): dict(c) for b, c in raw["broker_configs"].items()},
        topic_configs={t: dict(c) for t, c in raw["topic_configs"].items()},
        groups=tuple(
            Group(g["name"], tuple(map(int, g["listed_by"])), g["state"], tuple(g["members"])) for g in raw["groups"]
        ),
        groups_complete=_flag(raw["groups_complete"]),
        probes=tuple(CoordinatorProbe(**p) for p in raw["probes"]),
        log_ends=_rows(raw["log_ends"], lambda ends: {int(b): LogEnd(s, e, why) for b, s, e, why in ends}),
        visible=_rows(raw.get("visible", {}), _ends),
        epoch_ends=_rows(raw.get("epoch_ends", {}), lambda f: EpochEnd(int(f[0]), int(f[1]), int(f[2]), str(f[3]))),
        ensemble=tuple(ZooKeeperNode(**n) for n in _ensemble(raw)),
        samples=tuple(_sample(s) for s in raw.get("samples", ())),
        vantages=tuple(_vantage(v) for v in raw.get("vantages", ())),
        reassignments=None if raw["reassignments"] is None else _rows(raw["reassignments"], _assignment),
        addresses={int(b): Endpoint(**e) for b, e in raw["addresses"].items()},
        silent={int(b): str(t) for b, t in raw["silent"].items()},
        remembered_groups=_names(raw["remembered_groups"]),
        remembered_brokers={int(b): str(t) for b, t in raw["remembered_brokers"].items()},
        origin=origin,
    )


def _ensemble(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Up to 0.6 the servers stood under `zookeeper`."""
    return list(raw["ensemble"] if "ensemble" in raw else (raw["zookeeper"] or {}).get("nodes", ()))


def _ends(pairs: list[Any]) -> dict[int, int]:
    return {int(broker): int(end) for broker, end in pairs}


def _sample(raw: Mapping[str, Any]) -> Sample:
    return Sample(
        _moment(raw["taken_at"]),
        _rows(raw["ends"], _ends),
        _rows(raw["leaders"], lambda f: (int(f[0]), int(f[1]), int(f[2]))),
        _rows(raw["visible"], lambda f: int(f[0])),
    )


def _vantage(raw: Mapping[str, Any]) -> Vantage:
    unreached = {str(name): str(error) for name, error in raw["unreached"].items()}
    if not is_name(raw["name"]):
        raise ValueError(f"{raw['name']!r} is no name of a vantage")
    return Vantage(raw["name"], _moment(raw["taken_at"]), _names(raw["reached"]), unreached)


def _view(broker: int, raw: Mapping[str, Any]) -> BrokerView:
    return BrokerView(
        broker=broker,
        controller=int(raw["controller"]),
        alive={int(b): Endpoint(**e) for b, e in raw["alive"].items()},
        racks={int(b): str(r) for b, r in raw["racks"].items()},
        partitions=_rows(
            raw["partitions"],
            lambda f: PartitionView(f[0], f[1], tuple(f[2]), tuple(f[3]), tuple(f[4]), f[5]),
        ),
    )


def _zookeeper(raw: Mapping[str, Any]) -> ZooKeeperView:
    return ZooKeeperView(
        connect=raw["connect"],
        server=raw["server"],
        controller=ControllerNode(**raw["controller"]),
        registrations={int(r["broker"]): _registration(r) for r in raw["registrations"]},
        assignments=_rows(raw["assignments"], _assignment),
        states=_rows(raw["states"], lambda f: PartitionState(f[0], f[1], tuple(f[2]), f[3], f[4], f[5], f[6])),
        reassigning=_rows(raw["reassigning"], lambda f: tuple(map(int, f[0]))),
        deleting=frozenset(_names(raw["deleting"])),
        topic_configs={t: dict(c) for t, c in raw["topic_configs"].items()},
        isr_notifications=int(raw["isr_notifications"]),
        preferred_election_pending=_flag(raw["preferred_election_pending"]),
        migrating=_flag(raw["migrating"]),
    )


def _registration(raw: Mapping[str, Any]) -> Registration:
    endpoint = raw["endpoint"]
    return Registration(
        broker=int(raw["broker"]),
        endpoint=None if endpoint is None else Endpoint(**endpoint),
        rack=raw["rack"],
        czxid=int(raw["czxid"]),
        registered_ms=int(raw["registered_ms"]),
    )


def _assignment(fields: list[Any]) -> Assignment:
    return Assignment(tuple(fields[0]), tuple(fields[1]), tuple(fields[2]))


def _rows(raw: Mapping[str, Any], make: Callable[[list[Any]], T]) -> dict[TopicPartition, T]:
    return {TopicPartition(topic, int(row[0])): make(row[1:]) for topic, rows in raw.items() for row in rows}


def _moment(value: Any) -> float:
    """Seconds since the epoch that a calendar knows."""
    return datetime.fromtimestamp(float(value), UTC).timestamp()


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is not true or false")
    return value


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise TypeError(f"{value!r} is not a list of names")
    return tuple(value)
