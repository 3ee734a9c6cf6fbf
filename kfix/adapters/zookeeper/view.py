"""Everything kfix wants of ZooKeeper for a snapshot, in three pipelined rounds over one session."""

from __future__ import annotations

from kfix.adapters.deadline import Deadline
from kfix.adapters.zookeeper import records
from kfix.adapters.zookeeper.connect import Connect, open_line, read_all
from kfix.adapters.zookeeper.wire import Node, Read, ZooKeeperLine, children, exists, get, sync
from kfix.errors import UnreachableError
from kfix.model.snapshot import Assignment, PartitionState, Registration, TopicPartition, ZooKeeperView

_ROOTS: dict[str, Read] = {
    "sync": sync("/brokers"),
    "ids": children("/brokers/ids"),
    "topics": children("/brokers/topics"),
    "configs": children("/config/topics"),
    "controller": get("/controller"),
    "epoch": get("/controller_epoch"),
    "cluster": get("/cluster/id"),
    "reassign": get("/admin/reassign_partitions"),
    "preferred": exists("/admin/preferred_replica_election"),
    "deleting": children("/admin/delete_topics"),
    "isr_changes": children("/isr_change_notification"),
    "migration": exists("/migration"),
}


def read_view(connect: Connect, protocol: str, deadline: Deadline) -> tuple[str, ZooKeeperView]:
    """(cluster id, view). `protocol` chooses the brokers' listener, such as PLAINTEXT."""
    with open_line(connect, deadline) as line:
        if line.read_only:
            # Seen on 3.5.9: it ends sessions by its own clock and so forgets, seconds later, every broker and the
            # controller, who are all well. Nothing of that may be judged.
            raise UnreachableError(
                f"zookeeper {line.endpoint}: serves read-only, it has no quorum: what it says may be stale"
            )
        roots = read_all(line, connect, _ROOTS, deadline)
        if roots["ids"] is None:
            raise UnreachableError(_wrong_chroot(line, connect, deadline))
        topics = sorted(_names(roots["topics"]))
        assigned = read_topics(line, connect, topics, deadline)
        view = ZooKeeperView(
            connect=str(connect),
            server=str(line.endpoint),
            controller=records.controller(roots["controller"], roots["epoch"]),
            registrations=_registrations(line, connect, _names(roots["ids"]), protocol, deadline),
            assignments=assigned,
            states=read_states(line, connect, assigned, deadline),
            reassigning=records.reassigning(roots["reassign"]),
            deleting=frozenset(_names(roots["deleting"])),
            topic_configs=_configs(line, connect, _names(roots["configs"]), deadline),
            isr_notifications=len(_names(roots["isr_changes"])),
            preferred_election_pending=roots["preferred"] is not None,
            migrating=migrating(roots["migration"], roots["controller"]),
        )
        return _cluster_id(roots["cluster"]), view


def state_path(tp: TopicPartition) -> str:
    return f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state"


def migrating(migration: Node | None, controller: Node | None) -> bool:
    """A KRaft controller owns the metadata, or is about to: `/controller` must not be touched (kafka-facts A)."""
    taken_over = controller is not None and records.controller(controller, None).kraft_epoch >= 0
    return taken_over or migration is not None


def _names(node: Node | None) -> tuple[str, ...]:
    return () if node is None else node.children


def _registrations(
    line: ZooKeeperLine, connect: Connect, names: tuple[str, ...], protocol: str, deadline: Deadline
) -> dict[int, Registration]:
    found = read_all(line, connect, {int(n): get(f"/brokers/ids/{n}") for n in names if n.isdigit()}, deadline)
    # One that is gone between the two rounds has just left: it is not registered.
    return {i: records.registration(node, i, protocol) for i, node in found.items() if node is not None}


def read_topics(
    line: ZooKeeperLine, connect: Connect, topics: list[str], deadline: Deadline
) -> dict[TopicPartition, Assignment]:
    found = read_all(line, connect, {t: get(f"/brokers/topics/{t}") for t in topics}, deadline)
    assigned: dict[TopicPartition, Assignment] = {}
    for topic, node in found.items():
        if node is not None:
            assigned.update(records.assignments(node, topic))
    return assigned


def read_states(
    line: ZooKeeperLine, connect: Connect, assigned: dict[TopicPartition, Assignment], deadline: Deadline
) -> dict[TopicPartition, PartitionState]:
    found = read_all(line, connect, {tp: get(state_path(tp)) for tp in assigned}, deadline)
    return {tp: records.partition_state(n, state_path(tp)) for tp, n in found.items() if n is not None}


def _configs(
    line: ZooKeeperLine, connect: Connect, topics: tuple[str, ...], deadline: Deadline
) -> dict[str, dict[str, str]]:
    found = read_all(line, connect, {t: get(f"/config/topics/{t}") for t in topics}, deadline)
    return {t: records.config(node, f"/config/topics/{t}") for t, node in found.items() if node is not None}


def _cluster_id(node: Node | None) -> str:
    return "" if node is None else str(records.as_json(node, "/cluster/id").get("id", ""))


def _wrong_chroot(line: ZooKeeperLine, connect: Connect, deadline: Deadline) -> str:
    [root] = line.read([children("/")], deadline)
    there = sorted(n for n in _names(root) if n != "zookeeper")
    where = f"under the chroot {connect.chroot}" if connect.chroot else "without a chroot"
    return (
        f"zookeeper {line.endpoint}: no Kafka {where} (no /brokers/ids); its root has "
        f"{', '.join(there[:8]) or 'nothing'}: name the chroot after the last server, as in zk1:2181/kafka"
    )
