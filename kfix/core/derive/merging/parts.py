"""The snapshot from which each part of the merged one comes. Snapshots are ordered oldest first, one per vantage."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from kfix.core.derive.isolation import two_leaders
from kfix.core.derive.merging.snapshots import Snapshots
from kfix.core.derive.vantage import broker_called, has_answered, in_order
from kfix.core.snapshot.broker_answers import OffsetsLogSize
from kfix.core.snapshot.group_reading import GroupReading, by_group
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import (
    TOPIC_CONFIGS,
    ClusterIdentity,
    CoordinatorProbe,
    EpochEnd,
    Group,
    LogEnd,
    Mode,
    OffsetsLog,
    Sample,
    Snapshot,
    Source,
    TopicPartition,
    Vantage,
    ZooKeeperNode,
    ZooKeeperView,
)
from kfix.core.snapshot.transactions import TransactionLog
from kfix.core.timing import TIMING

K = TypeVar("K")
V = TypeVar("V")


def union(parts: Iterable[Mapping[K, V]]) -> dict[K, V]:
    """Returns all entries; the last of several wins."""
    return {key: value for part in parts for key, value in part.items()}


def best_of(found: Iterable[V], key: Callable[[V], K], rank: Callable[[V], Any]) -> dict[K, V]:
    """Returns one by key: the last of those with the highest rank."""
    best: dict[K, V] = {}
    for each in found:
        if (name := key(each)) not in best or rank(each) >= rank(best[name]):
            best[name] = each
    return best


def latest(parts: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Returns all entries in order; the largest of several wins."""
    return dict(sorted((key, value) for part in parts for key, value in part.items()))


def earliest(parts: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Returns all entries in order; the smallest of several wins."""
    entries = sorted((key, -value) for part in parts for key, value in part.items())
    return {key: -value for key, value in entries}


def memory(snapshots: Snapshots) -> Memory:
    found = [s.memory for s in snapshots]
    return Memory(
        groups=tuple(dict.fromkeys(g for m in found[::-1] for g in m.groups)),
        brokers=dict(sorted(union(m.brokers for m in found).items())),
        seen=latest(m.seen for m in found),
        alive=latest(m.alive for m in found),
        dead=latest(m.dead for m in found),
        well=latest(m.well for m in found),
        epochs=latest(m.epochs for m in found),
        applied=earliest(m.applied for m in found),
        moves=union(m.moves for m in found),
        at_risk=union(m.at_risk for m in found),
        positions=tuple({each.group: each for m in found for each in m.positions}.values()),
    )


def authority(snapshot: Snapshot) -> tuple[int, int, float]:
    """Returns the rank of its view of ZooKeeper; snapshots of one rank stay in their order."""
    if snapshot.zookeeper is None:
        return 0, -1, snapshot.taken_at
    node = _asked(snapshot)
    return 2 if has_quorum(snapshot) else 1, -1 if node is None else node.zxid, snapshot.taken_at


def has_quorum(snapshot: Snapshot) -> bool:
    """Returns whether its view of ZooKeeper is not from a server that reports that it has no quorum."""
    node = _asked(snapshot)
    return node is None or not node.without_quorum


def _asked(snapshot: Snapshot) -> ZooKeeperNode | None:
    """Returns the server whose view of ZooKeeper it has."""
    server = None if snapshot.zookeeper is None else snapshot.zookeeper.server
    return next((n for n in snapshot.ensemble if n.address == server), None)


def cluster(now: Snapshots, cluster_id: str) -> ClusterIdentity:
    newest_first = [s.cluster for s in now[::-1]]
    servers = dict.fromkeys(server for c in newest_first for server in c.bootstrap.split(",") if server)
    return ClusterIdentity(
        cluster_id,
        next((c.mode for c in newest_first if c.mode is not Mode.UNKNOWN), Mode.UNKNOWN),
        ",".join(servers),
        next((c.zookeeper for c in newest_first if c.zookeeper), ""),
    )


def sources(now: Snapshots, zookeeper: ZooKeeperView | None) -> Iterator[Source]:
    best = best_of((each for s in now for each in s.sources), lambda each: each.name, lambda each: each.ok)
    settings = any(s.topic_configs and all(x.name != TOPIC_CONFIGS for x in s.failed_sources) for s in now)
    for name in sorted(best):
        read_by_another = (zookeeper is not None and name.startswith("zookeeper")) or (
            settings and name == TOPIC_CONFIGS
        )
        if best[name].ok or not read_by_another:
            yield best[name]


def groups(now: Snapshots) -> Iterator[Group]:
    listed: dict[str, list[Group]] = {}
    for group in (g for s in now for g in s.groups):
        listed.setdefault(group.name, []).append(group)
    for _, same in sorted(listed.items()):
        newest = next((g for g in same[::-1] if g.state), same[-1])
        yield replace(newest, listed_by=tuple(sorted({b for g in same for b in g.listed_by})))


def all_listed(views: Mapping[int, object], zookeeper: ZooKeeperView | None, sources: tuple[Source, ...]) -> bool:
    live = views.keys() if zookeeper is None else zookeeper.registrations.keys()
    refused = {s.name for s in sources if not s.ok}
    return bool(live) and live <= views.keys() and not any(f"groups on broker {b}" in refused for b in live)


def probes(now: Snapshots) -> list[CoordinatorProbe]:
    best: dict[str, CoordinatorProbe] = {}
    asked: dict[str, float] = {}
    for at, probe in ((s.taken_at, p) for s in now for p in s.probes):
        before = best.get(probe.group)
        # A refusal comes from the coordinator, not from the place: if it is later by a debounce, it counts.
        refused = _rank(probe) > 0 and at - asked.get(probe.group, at) > TIMING.debounce
        if before is None or refused or _rank(probe) >= _rank(before):
            best[probe.group], asked[probe.group] = probe, at
    real = {p.group for s in now for p in s.probes if not p.made_up}
    best |= {group: replace(best[group], made_up=False) for group in real}
    # If one place knows a group of the partition, or reaches its coordinator, a made-up group of another adds nothing.
    known = {p.partition for p in best.values() if p.answers or not p.made_up}
    kept = (p for p in best.values() if p.answers or not p.made_up or p.partition not in known)
    return sorted(kept, key=lambda p: (p.partition, p.group))


def offsets_logs(now: Snapshots) -> list[OffsetsLog]:
    """Returns one log per partition and broker: the newest that was read without an error."""
    logs = (log for s in now for log in s.offsets_logs)
    best = best_of(logs, lambda log: (log.partition, log.broker), lambda log: not log.error)
    return [best[place] for place in sorted(best)]


def group_readings(now: Snapshots) -> Iterator[GroupReading]:
    """Yields the readings of each group that are a debounce apart, oldest first; of closer ones the most complete.

    Two vantages that read a group at the same moment do not show that a rebalance or a transaction lasts.
    """
    for readings in by_group(reading for s in now for reading in s.group_readings).values():
        left, kept = list(readings), list[GroupReading]()
        while left:
            best = max((r for r in left if left[-1].taken_at - r.taken_at < TIMING.debounce), key=_completeness)
            kept.append(best)
            left = [r for r in left if best.taken_at - r.taken_at >= TIMING.debounce]
        yield from reversed(kept)


def _completeness(reading: GroupReading) -> tuple[bool, bool, float]:
    return reading.members is not None, reading.partitions is not None, reading.taken_at


def offsets_sizes(now: Snapshots) -> tuple[OffsetsLogSize, ...]:
    """Returns the newest size of each replica, if possible one without an error, with a piece of the log."""
    sizes = (size for s in now for size in s.offsets_sizes)
    best = best_of(sizes, lambda s: (s.partition, s.broker), lambda s: (not s.error, s.records >= 0))
    return tuple(best[place] for place in sorted(best))


def transaction_log(now: Snapshots) -> TransactionLog | None:
    """Returns the newest state of each producer; with an error only if every place had one."""
    read = [s.transaction_log for s in now if s.transaction_log is not None]
    if not read:
        return None
    newest = {state.producer: state for log in read for state in log.found}
    error = read[-1].error if all(log.error for log in read) else ""
    # What hangs is proved by one place that read the partitions, the log, and the partitions again.
    proof = max(read, key=lambda log: (not log.unread, len(log.held)))
    return replace(proof, found=tuple(newest[producer] for producer in sorted(newest)), error=error)


def _rank(probe: CoordinatorProbe) -> int:
    codes = (probe.find_error, probe.fetch_error)
    return 2 if probe.answers else 0 if -1 in codes or codes == (None, None) else 1


Origins = dict[TopicPartition, dict[int, int]]  # by partition and broker, the index of a snapshot


def origins_of(now: Snapshots) -> Origins:
    """Returns which snapshot each log end is taken from."""
    found: Origins = {}
    for number, snapshot in enumerate(now):
        for tp, ends in snapshot.log_ends.items():
            best = found.setdefault(tp, {})
            for broker, end in ends.items():
                if broker not in best or not end.error or now[best[broker]].log_ends[tp][broker].error:
                    best[broker] = number
    return found


def log_ends(now: Snapshots, origins: Origins) -> dict[TopicPartition, dict[int, LogEnd]]:
    return {tp: {b: now[n].log_ends[tp][b] for b, n in by.items()} for tp, by in origins.items()}


def visible(now: Snapshots, origins: Origins) -> dict[TopicPartition, dict[int, int]]:
    found: dict[TopicPartition, dict[int, int]] = {}
    for number, snapshot in enumerate(now):
        for tp, ends in snapshot.visible.items():
            beside = origins.get(tp, {})
            found.setdefault(tp, {}).update({b: end for b, end in ends.items() if beside.get(b, number) == number})
    return found


def epoch_ends(now: Snapshots, merged: Snapshot) -> dict[TopicPartition, EpochEnd]:
    reported = [(tp, end) for s in now for tp, end in s.epoch_ends.items()]
    pairs = two_leaders(merged, {tp for tp, _ in reported})
    found: dict[TopicPartition, EpochEnd] = {}
    for tp, end in reported:
        if tp in pairs:
            old, new = pairs[tp]
            fits = end.leader == new and end.epoch <= merged.views[old].partitions[tp].leader_epoch
            if fits and (not end.error or tp not in found):
                found[tp] = end
    return found


def ensemble(now: Snapshots) -> list[ZooKeeperNode]:
    best = best_of((node for s in now for node in s.ensemble), lambda node: node.address, _mode_rank)
    return [best[address] for address in sorted(best, key=in_order)]


def _mode_rank(node: ZooKeeperNode) -> int:
    return 2 if node.mode else 1 if has_answered(node) else 0


def vantages(now: Snapshots, addresses: Mapping[int, object]) -> list[Vantage]:
    """Returns the vantages by name; an unreached address is named after the broker that another vantage found there."""
    known = {str(endpoint): broker_called(b) for b, endpoint in addresses.items()}
    rows = {v.name: v for s in now for v in s.vantages}
    return [replace(v, unreached=_known_by(v, known)) for _, v in sorted(rows.items())]


def _known_by(vantage: Vantage, known: Mapping[str, str]) -> dict[str, str]:
    missed = {known.get(who, who): why for who, why in vantage.unreached.items()}
    left = {who: why for who, why in missed.items() if who not in vantage.reached}
    return dict(sorted(left.items(), key=lambda item: in_order(item[0])))


def samples(now: Snapshots, before: Snapshots, origins: Origins, zookeeper: ZooKeeperView | None) -> list[Sample]:
    mixed = {tp for tp, by in origins.items() if any(now[n].taken_at != now[-1].taken_at for n in by.values())}
    ends: dict[float, dict[TopicPartition, dict[int, int]]] = {}
    for snapshot, own in (*((s, _ends_of(s)) for s in before), *((s, ()) for s in now)):
        for sample in (*snapshot.samples, *own):
            for tp, found in sample.ends.items():
                state = zookeeper.states.get(tp) if zookeeper is not None and tp in mixed else None
                kept = {b: end for b, end in found.items() if state is None or b != state.leader}
                ends.setdefault(sample.taken_at, {}).setdefault(tp, {}).update(kept)
    return [Sample(at, found) for at, found in sorted(ends.items())]


def _ends_of(snapshot: Snapshot) -> tuple[Sample, ...]:
    return (Sample(snapshot.taken_at, snapshot.all_reported_ends()),) if snapshot.log_ends else ()
