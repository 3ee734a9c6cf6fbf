"""Clusters in a migration from ZooKeeper to KRaft, as real brokers of 3.9.2 show it (docs/facts/zookeeper.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kfix.core.snapshot.quorum import ControllerAnswer, QuorumReplica, QuorumView
from kfix.core.snapshot.snapshot import Snapshot
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.build import NOW
from tests.unit.diagnostics.clusters import base

_AT = "localhost:9093"
_MIGRATES = {"zookeeper.metadata.migration.enable": "true", "zookeeper.connect": "localhost:2181"}
_WITHOUT = {"zookeeper.metadata.migration.enable": "false", "zookeeper.connect": "localhost:2181"}
_ON_KRAFT = {"process.roles": "broker"}


def _controllers(fetching: Iterable[int] | None) -> QuorumView:
    if fetching is None:
        refused = ControllerAnswer(3000, _AT, refused=True, error=f"{_AT}: {kraft_clusters.REFUSED}")
        return QuorumView(controllers=(refused,))
    return QuorumView(
        leader=3000,
        epoch=1,
        high_watermark=40,
        voters=(QuorumReplica(3000, 40, 0.0, 0.0),),
        observers=tuple(QuorumReplica(b, 40, 0.2, 0.2) for b in fetching),
        controllers=(ControllerAnswer(3000, _AT, active=True),),
        migrating=(_AT,),
    )


def _by_zookeeper(fetching: Iterable[int] | None, age: float, dead: int = 0, **controller: Any) -> Snapshot:
    paper = base()
    if dead:
        paper.kill(dead)
    made = paper.snapshot()
    assert made.zookeeper is not None
    view = replace(
        made.zookeeper,
        migrating=True,
        migrating_since_ms=int((NOW - age) * 1000),
        controller=replace(made.zookeeper.controller, **controller),
    )
    return replace(made, zookeeper=view, migration=_controllers(fetching))


def waiting(
    prepared: tuple[int, ...] = (1, 2),
    fetching: tuple[int, ...] | None = (1, 2),
    age: float = 600,
    dead: int = 0,
    unread: int = 0,
) -> Snapshot:
    """Broker 3 has no settings of the migration, unless `prepared` says otherwise."""
    made = _by_zookeeper(fetching, age, dead)
    settings = {b: _MIGRATES if b in prepared else _WITHOUT for b in made.views if b != unread}
    return replace(made, broker_configs=settings)


def taken_over(unprepared: tuple[int, ...] = ()) -> Snapshot:
    made = _by_zookeeper((1, 2, 3), 600, broker=3000, kraft_epoch=1, elected_ms=int((NOW - 300) * 1000))
    return replace(made, broker_configs={b: _WITHOUT if b in unprepared else _MIGRATES for b in made.views})


def _by_quorum(settings: dict[int, dict[str, str]], migrating: tuple[str, ...]) -> Snapshot:
    made = kraft_clusters.healthy()
    assert made.quorum is not None
    return replace(made, broker_configs=settings, quorum=replace(made.quorum, migrating=migrating))


def mixed() -> Snapshot:
    return _by_quorum({1: _ON_KRAFT, 2: _MIGRATES, 3: _WITHOUT}, (_AT,))


def unfinished() -> Snapshot:
    return _by_quorum(dict.fromkeys((1, 2, 3), _ON_KRAFT), (_AT,))


def finished() -> Snapshot:
    return _by_quorum(dict.fromkeys((1, 2, 3), _ON_KRAFT), ())
