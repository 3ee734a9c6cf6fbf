"""The in-memory cluster as a snapshot, in the shape that a collector returns."""

from __future__ import annotations

from dataclasses import replace

from kfix import __version__
from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.quorum import (
    ELR_FEATURE,
    KRAFT_FEATURE,
    METADATA_FEATURE,
    ControllerAnswer,
    QuorumReplica,
    QuorumView,
)
from kfix.core.snapshot.snapshot import (
    NO_LEADER,
    BrokerView,
    Group,
    Mode,
    Registration,
    Snapshot,
    Source,
    TopicPartition,
    ZooKeeperView,
)
from kfix.heal.memory import transactions
from kfix.heal.memory.configs import MIN_ISR, UNCLEAN
from kfix.heal.memory.parts import SUPPORTED, MemoryParts
from kfix.heal.memory.state import MemoryBroker

_ADDRESS = "127.0.0.1:2181"
#: The metadata offset of every broker of a KRaft cluster in memory, and its high watermark.
_HIGH = 1000
#: The feature of the coordinator that loads a partition as a whole, or not at all.
_NEW_COORDINATOR = "group.version"


def snapshot_of(cluster: MemoryParts, reader: ClusterReader) -> Snapshot:
    """Returns what a collector would read through `reader`, which is the cluster itself behind its port."""
    talking = [b for b in cluster.brokers.values() if b.answers]
    known = cluster.brokers
    groups = _groups(cluster, reader)
    kraft, down = cluster.mode is Mode.KRAFT, cluster.authority in cluster.faults.unreadable
    return Snapshot(
        taken_at=cluster.clock.now(),
        kfix=__version__,
        cluster=cluster.identity(),
        sources=tuple(_sources(cluster)),
        views={
            b.id: BrokerView(
                broker=b.id,
                controller=b.controller_seen,
                alive={n: known[n].endpoint for n in sorted(b.alive_seen) if n in known},
                racks={n: rack for n in sorted(b.alive_seen) if n in known and (rack := known[n].rack) is not None},
                partitions=dict(b.views),
            )
            for b in talking
        },
        zookeeper=None if down or kraft else _zookeeper(cluster),
        quorum=_quorum(cluster, talking, down=down) if kraft else None,
        broker_configs={b.id: cluster.settings.of_broker(b) for b in talking},
        topic_configs=_topic_configs(cluster, talking),
        groups=groups,
        groups_complete=len(groups) == len(cluster.groups),
        group_readings=transactions.group_readings(cluster),
        transaction_log=transactions.transaction_log(cluster),
        offsets_logs=transactions.offsets_logs(cluster, reader.partition_count(OFFSETS_TOPIC) or 1),
        probes=tuple(reader.probe_group(name) for name in sorted(cluster.groups)),
        log_ends={
            tp: reader.log_ends(tp, tuple(b for b in ends if known.get(b) in talking))
            for tp, ends in cluster.logs.ends.items()
        },
        reassignments=dict(reader.reassignments()),
        addresses={b.id: b.endpoint for b in cluster.brokers.values()},
        silent={b.id: b.silent for b in cluster.brokers.values() if b.alive and b.silent},
        memory=Memory(tuple(sorted(cluster.groups))),
    )


def _sources(cluster: MemoryParts) -> list[Source]:
    found = [
        Source(
            f"broker {b.id} metadata", b.alive and not b.silent, b.silent or ("" if b.alive else "connection refused")
        )
        for b in cluster.brokers.values()
    ]
    down = cluster.faults.unreadable.get(cluster.authority, "")
    name = "KRaft quorum" if cluster.mode is Mode.KRAFT else f"zookeeper {_ADDRESS}"
    return [*found, Source(name, not down, down)]


def _topic_configs(cluster: MemoryParts, talking: list[MemoryBroker]) -> dict[str, dict[str, str]]:
    """Returns the effective values of a snapshot's keys, from the first broker that answers."""
    if not talking:
        return {}
    topics = sorted({tp.topic for tp in cluster.records.assignments})
    effective = {topic: cluster.settings.of_topic(topic, talking[0]) for topic in topics}
    return {topic: {key: values[key] for key in (MIN_ISR, UNCLEAN)} for topic, values in effective.items()}


def _groups(cluster: MemoryParts, reader: ClusterReader) -> tuple[Group, ...]:
    """Returns the groups that a coordinator has loaded; a leaderless partition's groups are missing."""
    count = reader.partition_count(OFFSETS_TOPIC)
    found = []
    for name in sorted(cluster.groups) if count else ():
        tp = TopicPartition(OFFSETS_TOPIC, partition_of_group(name, count or 1))
        listed = tuple(b.id for b in cluster.brokers.values() if b.alive and not b.silent and tp in b.leading)
        if listed:
            found.append(Group(name, listed, "Empty"))
    return tuple(found)


def _quorum(cluster: MemoryParts, talking: list[MemoryBroker], *, down: bool) -> QuorumView:
    """Returns the view of a quorum of whose controllers only the active one is asked, which may not answer."""
    node, address = cluster.records.controller or 0, "controller100.example:9093"
    leaderless = [tp for tp, state in cluster.records.states.items() if state.leader == NO_LEADER]
    eligible = {tp: found for tp in leaderless if (found := cluster.eligible(tp)) is not None}
    answer = ControllerAnswer(node, address, active=not down, refused=down, error="refused" if down else "")
    known = cluster.quorum.read(node)
    view = QuorumView(
        controllers=(answer,),
        offsets={b.id: _HIGH for b in talking},
        configured={node: address},
        features={
            ELR_FEATURE: 1,
            METADATA_FEATURE: cluster.level,
            **({_NEW_COORDINATOR: 1} if cluster.load_failures else {}),
            **({KRAFT_FEATURE: 1} if known.voters and known.dynamic else {}),
        },
        fenced=tuple(sorted(b.id for b in cluster.brokers.values() if not b.alive)),
        supported={**dict.fromkeys((*(b.id for b in talking), *cluster.controllers), SUPPORTED), **cluster.levels},
        eligible=eligible,
    )
    if down:
        return view
    settings = {
        key: value for key in (MIN_ISR, UNCLEAN) if (value := cluster.settings.of_controllers()[key]) is not None
    }
    return replace(
        view,
        controller_settings={node: settings},
        leader=node,
        epoch=cluster.records.epoch,
        high_watermark=_HIGH,
        voters=known.voters or tuple(QuorumReplica(each, _HIGH, 0.0, 0.0) for each in sorted(cluster.controllers)),
        observers=known.observers,
    )


def _zookeeper(cluster: MemoryParts) -> ZooKeeperView:
    records = cluster.records
    return ZooKeeperView(
        connect=_ADDRESS,
        server=_ADDRESS,
        controller=cluster.controller_node(),
        registrations={
            b.id: Registration(b.id, b.endpoint, b.rack, b.czxid, b.registered_ms)
            for b in cluster.brokers.values()
            if b.alive
        },
        assignments=dict(records.assignments),
        states=dict(records.states),
        reassigning={},
        deleting=frozenset(),
        topic_configs={topic: dict(config) for topic, config in records.topic_configs.items()},
        migrating=records.migrating,
        clock_ahead=0,
        members_zxid=records.members_zxid,
    )
