"""Reads everything that a snapshot needs from ZooKeeper in three pipelined rounds over one session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kfix.adapters.deadline import Deadline
from kfix.adapters.zookeeper import records
from kfix.adapters.zookeeper.connect import Connect, open_line, read_all
from kfix.adapters.zookeeper.wire import Node, Read, ZooKeeperLine, children, exists, get, sync
from kfix.errors import UnreachableError
from kfix.model.cluster.snapshot import Assignment, PartitionState, Registration, TopicPartition, ZooKeeperView
from kfix.model.numbers import broker_id

T = TypeVar("T")
#: {path of a znode: error in its content}
Unread = dict[str, str]

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


def read_view(connect: Connect, protocol: str, deadline: Deadline) -> tuple[str, ZooKeeperView, Unread]:
    """Returns (cluster id, view, unreadable znodes). `protocol` selects the brokers' listener, such as PLAINTEXT.

    A znode with invalid content is left out; only an invalid `/controller` makes the whole view unreadable.

    Raises UnreachableError if no server answers, the quorum is lost, or the chroot is wrong.
    """
    with open_line(connect, deadline) as line:
        if line.read_only:
            # Observed on 3.5.9: it expires sessions by its own clock, so within seconds it shows no brokers and no
            # controller although they are healthy. This must not be diagnosed.
            raise UnreachableError(
                f"zookeeper {line.endpoint}: serves read-only, it has no quorum: its data may be stale"
            )
        roots = read_all(line, connect, _ROOTS, deadline)
        if roots["ids"] is None:
            raise UnreachableError(_wrong_chroot(line, connect, deadline))
        topics = sorted(_names(roots["topics"]))
        unread: Unread = {}
        assigned = read_topics(line, connect, topics, deadline, unread)
        view = ZooKeeperView(
            connect=str(connect),
            server=str(line.endpoint),
            controller=records.controller(roots["controller"], roots["epoch"]),
            registrations=_registrations(line, connect, broker_ids(roots["ids"]), protocol, deadline, unread),
            assignments=assigned,
            states=read_states(line, connect, assigned, deadline, unread),
            reassigning=_or_unread(lambda: records.reassigning(roots["reassign"]), unread) or {},
            deleting=frozenset(_names(roots["deleting"])),
            topic_configs=_configs(line, connect, _names(roots["configs"]), deadline, unread),
            isr_notifications=len(_names(roots["isr_changes"])),
            preferred_election_pending=roots["preferred"] is not None,
            migrating=migrating(roots["migration"], roots["controller"]),
        )
        cluster_id = _or_unread(lambda: records.cluster_id(roots["cluster"]), unread) or ""
        return cluster_id, view, unread


def _or_unread(read: Callable[[], T], unread: Unread | None) -> T | None:
    """Returns None and notes the error in `unread` where the znode is invalid; raises it where `unread` is None."""
    try:
        return read()
    except records.BadRecordError as error:
        if unread is None:
            raise
        unread[error.path] = error.why
        return None


def state_path(tp: TopicPartition) -> str:
    return f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state"


def migrating(migration: Node | None, controller: Node | None) -> bool:
    """Whether a KRaft controller owns the metadata or is about to: then `/controller` must not be deleted.

    Source: docs/facts/zookeeper.md.
    """
    taken_over = controller is not None and records.controller(controller, None).kraft_epoch >= 0
    return taken_over or migration is not None


def _names(node: Node | None) -> tuple[str, ...]:
    return () if node is None else node.children


def broker_ids(node: Node) -> frozenset[int]:
    """Returns the children of /brokers/ids that are numbers; Kafka creates no others."""
    return frozenset(broker for name in node.children if (broker := broker_id(name)) is not None)


def _registrations(
    line: ZooKeeperLine, connect: Connect, ids: frozenset[int], protocol: str, deadline: Deadline, unread: Unread
) -> dict[int, Registration]:
    nodes = read_all(line, connect, {i: get(f"/brokers/ids/{i}") for i in sorted(ids)}, deadline)
    found: dict[int, Registration] = {}
    for broker, node in nodes.items():
        # A broker that is gone between the two rounds is not registered.
        if node is not None:
            found[broker], wrong = records.registration(node, broker, protocol)
            if wrong:
                unread[f"/brokers/ids/{broker}"] = wrong
    return found


def read_topics(
    line: ZooKeeperLine, connect: Connect, topics: list[str], deadline: Deadline, unread: Unread | None = None
) -> dict[TopicPartition, Assignment]:
    """Returns the assignments of these topics. An invalid znode goes into `unread`, or is raised where that is None."""
    found = read_all(line, connect, {t: get(f"/brokers/topics/{t}") for t in topics}, deadline)
    assigned: dict[TopicPartition, Assignment] = {}
    for topic, node in found.items():
        if node is not None:
            assigned.update(_or_unread(lambda n=node, t=topic: records.assignments(n, t), unread) or {})  # type: ignore[misc]
    return assigned


def read_states(
    line: ZooKeeperLine,
    connect: Connect,
    assigned: dict[TopicPartition, Assignment],
    deadline: Deadline,
    unread: Unread | None = None,
) -> dict[TopicPartition, PartitionState]:
    """Returns the partition states. An invalid znode goes into `unread`, or is raised where that is None."""
    found = read_all(line, connect, {tp: get(state_path(tp)) for tp in assigned}, deadline)
    states: dict[TopicPartition, PartitionState] = {}
    for tp, node in found.items():
        if node is None:
            continue
        try:
            states[tp] = records.partition_state(node, state_path(tp))
        except records.BadRecordError as error:
            if unread is None:
                raise
            unread[error.path] = error.why
    return states


def _configs(
    line: ZooKeeperLine, connect: Connect, topics: tuple[str, ...], deadline: Deadline, unread: Unread
) -> dict[str, dict[str, str]]:
    found = read_all(line, connect, {t: get(f"/config/topics/{t}") for t in topics}, deadline)
    configs = {
        t: _or_unread(lambda n=node, t=t: records.config(n, f"/config/topics/{t}"), unread)  # type: ignore[misc]
        for t, node in found.items()
        if node is not None
    }
    return {t: values for t, values in configs.items() if values is not None}


def _wrong_chroot(line: ZooKeeperLine, connect: Connect, deadline: Deadline) -> str:
    [root] = line.read([children("/")], deadline)
    there = sorted(n for n in _names(root) if n != "zookeeper")
    where = f"under the chroot {connect.chroot}" if connect.chroot else "without a chroot"
    return (
        f"zookeeper {line.endpoint}: no Kafka {where} (no /brokers/ids); its root has "
        f"{', '.join(there[:8]) or 'nothing'}: add the chroot after the last server, as in zk1:2181/kafka"
    )
