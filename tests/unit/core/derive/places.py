"""What a look from one place holds of a cluster that an observer who reaches everybody sees whole."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from kfix.core.derive.vantage import vantage_of
from kfix.core.snapshot.snapshot import CoordinatorProbe, Snapshot, Source, ZooKeeperNode
from tests.unit.diagnostics import cut_clusters

WHY = "no answer in time"
A, B = "zk-a:2181", "zk-b:2181"


def two(whole: Snapshot | None = None) -> tuple[Snapshot, Snapshot]:
    """Zone az1 with broker 1 and one server without a quorum, and everything else a second later."""
    seen = whole if whole is not None else cut_clusters.zone_isolated()
    modes = (ZooKeeperNode(A, "no quorum"), ZooKeeperNode(B, "leader", zxid=9))
    seen = replace(seen, ensemble=modes)
    return (
        seen_by(seen, "az1", {1}, {A}, zookeeper=False),
        seen_by(seen, "az2", {2, 3}, {B}, later=1.0),
    )


def seen_by(
    whole: Snapshot,
    name: str,
    brokers: Collection[int],
    servers: Collection[str] | None = None,
    *,
    zookeeper: bool = True,
    later: float = 0.0,
    **changes: Any,
) -> Snapshot:
    """`servers`: which of the ensemble answer there, None for all; `zookeeper`: whether its record was read there."""
    there = {b: v for b, v in whole.views.items() if b in brokers}
    read = whole.zookeeper if zookeeper else None
    asked = whole.views.keys() if read is None else read.registrations.keys()
    sources = [
        s if _answers(s, brokers, zookeeper=zookeeper) else replace(s, ok=False, error=WHY) for s in whole.sources
    ]
    look = replace(
        whole,
        taken_at=whole.taken_at + later,
        sources=tuple(sources),
        views=there,
        zookeeper=read,
        broker_configs={b: c for b, c in whole.broker_configs.items() if b in brokers},
        groups=tuple(g for g in whole.groups if set(g.listed_by) & set(brokers)),
        probes=tuple(_probe(p, brokers) for p in whole.probes) if there else (),
        log_ends={tp: {b: e for b, e in ends.items() if b in brokers} for tp, ends in whole.log_ends.items()},
        visible={tp: {b: e for b, e in ends.items() if b in brokers} for tp, ends in whole.visible.items()},
        epoch_ends={tp: e for tp, e in whole.epoch_ends.items() if e.leader in brokers},
        ensemble=tuple(
            n if servers is None or n.address in servers else ZooKeeperNode(n.address, "", WHY) for n in whole.ensemble
        ),
        addresses={b: e for b, e in whole.addresses.items() if b in brokers},
        silent={b: WHY for b in sorted(asked) if b in whole.views and b not in brokers} | dict(whole.silent),
        origin=f"{name}.json",
    )
    look = replace(look, **changes)
    return replace(look, vantages=(vantage_of(look, name),))


def _answers(source: Source, brokers: Collection[int], *, zookeeper: bool) -> bool:
    kind, _, which = source.name.partition(" ")
    if not source.ok:
        return True
    return zookeeper if kind == "zookeeper" else kind != "broker" or int(which) in brokers


def _probe(probe: CoordinatorProbe, brokers: Collection[int]) -> CoordinatorProbe:
    if probe.coordinator is None or probe.coordinator in brokers:
        return probe
    return replace(probe, fetch_error=-1, committed=None, error=f"broker {probe.coordinator} does not answer")
