"""What each part of the one look is taken from. Looks come the oldest first, one a place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from kfix.derive.isolation import two_leaders
from kfix.derive.merging.looks import Looks
from kfix.derive.vantage import broker_called, has_answered, in_order
from kfix.model.cluster.snapshot import (
    ClusterIdentity,
    CoordinatorProbe,
    EpochEnd,
    Group,
    LogEnd,
    Mode,
    Sample,
    Snapshot,
    Source,
    TopicPartition,
    Vantage,
    ZooKeeperNode,
    ZooKeeperView,
)

K = TypeVar("K")
V = TypeVar("V")


def union(parts: Iterable[Mapping[K, V]]) -> dict[K, V]:
    """The last that names something wins."""
    return {key: value for part in parts for key, value in part.items()}


def authority(look: Snapshot) -> tuple[int, int, float]:
    """How much its view of ZooKeeper counts; looks of one rank stay in their order."""
    if look.zookeeper is None:
        return 0, -1, look.taken_at
    node = next((n for n in look.ensemble if n.address == look.zookeeper.server), None)
    without = node is not None and node.without_quorum
    return 1 if without else 2, -1 if node is None else node.zxid, look.taken_at


def cluster(now: Looks, cluster_id: str) -> ClusterIdentity:
    told = [s.cluster for s in now[::-1]]
    servers = dict.fromkeys(server for c in told for server in c.bootstrap.split(",") if server)
    return ClusterIdentity(
        cluster_id,
        next((c.mode for c in told if c.mode is not Mode.UNKNOWN), Mode.UNKNOWN),
        ",".join(servers),
        next((c.zookeeper for c in told if c.zookeeper), ""),
    )


def sources(now: Looks, zookeeper: ZooKeeperView | None) -> Iterator[Source]:
    best: dict[str, Source] = {}
    for source in (source for s in now for source in s.sources):
        if source.ok or source.name not in best or not best[source.name].ok:
            best[source.name] = source
    for name in sorted(best):
        if best[name].ok or zookeeper is None or not name.startswith("zookeeper"):
            yield best[name]


def groups(now: Looks) -> Iterator[Group]:
    listed: dict[str, list[Group]] = {}
    for group in (g for s in now for g in s.groups):
        listed.setdefault(group.name, []).append(group)
    for _, told in sorted(listed.items()):
        newest = next((g for g in told[::-1] if g.state), told[-1])
        yield replace(newest, listed_by=tuple(sorted({b for g in told for b in g.listed_by})))


def all_listed(views: Mapping[int, object], zookeeper: ZooKeeperView | None, sources: tuple[Source, ...]) -> bool:
    live = views.keys() if zookeeper is None else zookeeper.registrations.keys()
    refused = {s.name for s in sources if not s.ok}
    return bool(live) and live <= views.keys() and not any(f"groups on broker {b}" in refused for b in live)


def probes(now: Looks) -> list[CoordinatorProbe]:
    best: dict[str, CoordinatorProbe] = {}
    for probe in (p for s in now for p in s.probes):
        if probe.group not in best or _told(probe) >= _told(best[probe.group]):
            best[probe.group] = probe
    return sorted(best.values(), key=lambda p: (p.partition, p.group))


def _told(probe: CoordinatorProbe) -> int:
    codes = (probe.find_error, probe.fetch_error)
    return 2 if probe.answers else 0 if -1 in codes or codes == (None, None) else 1


Told = dict[TopicPartition, dict[int, int]]  # by partition and broker, the number of a look


def told_by(now: Looks) -> Told:
    """Which look each log end is taken from."""
    found: Told = {}
    for number, look in enumerate(now):
        for tp, ends in look.log_ends.items():
            best = found.setdefault(tp, {})
            for broker, end in ends.items():
                if broker not in best or not end.error or now[best[broker]].log_ends[tp][broker].error:
                    best[broker] = number
    return found


def log_ends(now: Looks, told: Told) -> dict[TopicPartition, dict[int, LogEnd]]:
    return {tp: {b: now[n].log_ends[tp][b] for b, n in by.items()} for tp, by in told.items()}


def visible(now: Looks, told: Told) -> dict[TopicPartition, dict[int, int]]:
    found: dict[TopicPartition, dict[int, int]] = {}
    for number, look in enumerate(now):
        for tp, ends in look.visible.items():
            beside = told.get(tp, {})
            found.setdefault(tp, {}).update({b: end for b, end in ends.items() if beside.get(b, number) == number})
    return found


def epoch_ends(now: Looks, merged: Snapshot) -> dict[TopicPartition, EpochEnd]:
    told = [(tp, end) for s in now for tp, end in s.epoch_ends.items()]
    pairs = two_leaders(merged, {tp for tp, _ in told})
    found: dict[TopicPartition, EpochEnd] = {}
    for tp, end in told:
        if tp in pairs:
            old, new = pairs[tp]
            fits = end.leader == new and end.epoch <= merged.views[old].partitions[tp].leader_epoch
            if fits and (not end.error or tp not in found):
                found[tp] = end
    return found


def ensemble(now: Looks) -> list[ZooKeeperNode]:
    best: dict[str, ZooKeeperNode] = {}
    for node in (n for s in now for n in s.ensemble):
        if node.address not in best or _mode_told(node) >= _mode_told(best[node.address]):
            best[node.address] = node
    return [best[address] for address in sorted(best, key=in_order)]


def _mode_told(node: ZooKeeperNode) -> int:
    return 2 if node.mode else 1 if has_answered(node) else 0


def vantages(now: Looks, addresses: Mapping[int, object]) -> list[Vantage]:
    """By name. Who was missed at an address that another place found a broker at is that broker."""
    known = {str(endpoint): broker_called(b) for b, endpoint in addresses.items()}
    rows = {v.name: v for s in now for v in s.vantages}
    return [replace(v, unreached=_known_by(v, known)) for _, v in sorted(rows.items())]


def _known_by(vantage: Vantage, known: Mapping[str, str]) -> dict[str, str]:
    missed = {known.get(who, who): why for who, why in vantage.unreached.items()}
    left = {who: why for who, why in missed.items() if who not in vantage.reached}
    return dict(sorted(left.items(), key=lambda item: in_order(item[0])))


def samples(now: Looks, before: Looks, told: Told, zookeeper: ZooKeeperView | None) -> list[Sample]:
    mixed = {tp for tp, by in told.items() if any(now[n].taken_at != now[-1].taken_at for n in by.values())}
    ends: dict[float, dict[TopicPartition, dict[int, int]]] = {}
    for look, own in (*((s, _ends_of(s)) for s in before), *((s, ()) for s in now)):
        for sample in (*look.samples, *own):
            for tp, found in sample.ends.items():
                state = zookeeper.states.get(tp) if zookeeper is not None and tp in mixed else None
                kept = {b: end for b, end in found.items() if state is None or b != state.leader}
                ends.setdefault(sample.taken_at, {}).setdefault(tp, {}).update(kept)
    return [Sample(at, found) for at, found in sorted(ends.items())]


def _ends_of(look: Snapshot) -> tuple[Sample, ...]:
    return (Sample(look.taken_at, {tp: look.told_ends(tp) for tp in look.log_ends}),) if look.log_ends else ()
