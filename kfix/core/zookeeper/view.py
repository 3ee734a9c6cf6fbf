"""Reads everything that a snapshot needs from ZooKeeper in three rounds, the large ones over several sessions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Self, TypeVar

from kfix.core.errors import UnreachableError
from kfix.core.numbers import broker_id
from kfix.core.snapshot.naming import PartitionNames
from kfix.core.snapshot.snapshot import (
    Assignment,
    ControllerNode,
    PartitionState,
    Registration,
    TopicPartition,
    ZooKeeperView,
)
from kfix.core.timing import Deadline
from kfix.core.zookeeper import records
from kfix.core.zookeeper.bulk import has_multi_read, read_many
from kfix.core.zookeeper.connect import Connect, read_all
from kfix.core.zookeeper.servers import clock_ahead
from kfix.core.zookeeper.wire import NO_STAT, Node, Read, ZooKeeperLine, children, exists, get, sync

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
    "migration": get("/migration"),
}


def view_of(
    line: ZooKeeperLine, connect: Connect, protocol: str, deadline: Deadline, names: PartitionNames | None = None
) -> tuple[str, ZooKeeperView, Unread]:
    """Returns (cluster id, view, unreadable znodes). `protocol` selects the brokers' listener, such as PLAINTEXT.

    A znode with invalid content is left out; only an invalid `/controller` makes the whole view unreadable.

    Raises UnreachableError if the server does not answer, the quorum is lost, or the chroot is wrong.
    """
    if line.read_only:
        # Observed on 3.5.9: it expires sessions by its own clock, so within seconds it shows no brokers and no
        # controller although they are healthy. This must not be diagnosed.
        raise UnreachableError(f"zookeeper {line.endpoint}: serves read-only, it has no quorum: its data may be stale")
    roots = read_all(line, connect, _ROOTS, deadline)
    if roots["ids"] is None:
        raise UnreachableError(_wrong_chroot(line, connect, deadline))
    unread: Unread = {}
    ahead = clock_ahead(line, deadline)
    shift = 1000 * (ahead or 0)
    topics = sorted(_names(roots["topics"]))
    line.multi_read = len(topics) >= _MANY_TOPICS and has_multi_read(line, deadline)
    with _Lines(line, deadline) as lines:
        created: dict[str, int] = {}
        assigned = read_topics(lines.for_reads(len(topics)), connect, topics, deadline, unread, names, created)
        states = read_states(lines.for_reads(len(assigned)), connect, assigned, deadline, unread, shift)
        configs = _configs(lines.all, connect, _names(roots["configs"]), deadline, unread)
    listed = broker_ids(roots["ids"])
    registrations = _registrations(line, connect, listed, protocol, deadline, unread)
    view = ZooKeeperView(
        connect=str(connect),
        server=str(line.endpoint),
        controller=_elected(records.controller(roots["controller"], roots["epoch"]), shift),
        registrations=_registered(registrations, shift),
        assignments=assigned,
        states=states,
        reassigning=_or_unread(lambda: records.reassigning(roots["reassign"]), unread) or {},
        deleting=frozenset(_names(roots["deleting"])),
        topic_configs=configs,
        isr_notifications=len(_names(roots["isr_changes"])),
        preferred_election_pending=roots["preferred"] is not None,
        migrating=migrating(roots["migration"], roots["controller"]),
        migrating_since_ms=0 if roots["migration"] is None else roots["migration"].stat.ctime + shift,
        copied=_copied(roots["migration"], unread),
        clock_ahead=ahead,
        # A broker that left between the two rounds left after this transaction.
        members_zxid=roots["ids"].stat.pzxid if registrations.keys() == listed else -1,
        topics_created=created,
    )
    cluster_id = _or_unread(lambda: records.cluster_id(roots["cluster"]), unread) or ""
    return cluster_id, view, unread


def _copied(migration: Node | None, unread: Unread) -> int:
    found = _or_unread(lambda: records.copied(migration), unread)
    return -1 if found is None else found


def _elected(controller: ControllerNode, shift: int) -> ControllerNode:
    return (
        replace(controller, elected_ms=controller.elected_ms + shift) if shift and controller.elected_ms else controller
    )


def _registered(found: dict[int, Registration], shift: int) -> dict[int, Registration]:
    if not shift:
        return found
    return {broker: replace(r, registered_ms=r.registered_ms + shift) for broker, r in found.items()}


def _or_unread(read: Callable[[], T], unread: Unread | None) -> T | None:
    """Returns None and notes the error in `unread` if the znode is invalid; raises it if `unread` is None."""
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
    taken_over = controller is not None and records.controller(controller, None).is_kraft
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


#: Reads per session: a session is a transaction of the ensemble, and more than four are no faster.
_READS_A_LINE = 2_500
_MOST_LINES = 4
#: From this number of topics on, it is worth asking the server for its version.
_MANY_TOPICS = 50


class _Lines:
    """A session, and further ones with the same server for many reads: that server has caught up with the leader."""

    def __init__(self, line: ZooKeeperLine, deadline: Deadline) -> None:
        self.all = [line]
        self._deadline = deadline
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def for_reads(self, count: int) -> list[ZooKeeperLine]:
        """Returns the sessions for `count` reads; fewer if the server refuses more."""
        with contextlib.suppress(UnreachableError):
            while len(self.all) < min(_MOST_LINES, count // _READS_A_LINE):
                line = self._open.enter_context(
                    ZooKeeperLine(self.all[0].endpoint, self._deadline, self.all[0].ledger, self.all[0].access)
                )
                line.multi_read = self.all[0].multi_read
                if line.read_only:  # The server has just lost its quorum: the reads of the first session will show it.
                    break
                self.all.append(line)
        return self.all


def read_topics(
    lines: Sequence[ZooKeeperLine],
    connect: Connect,
    topics: Sequence[str],
    deadline: Deadline,
    unread: Unread | None = None,
    names: PartitionNames | None = None,
    created: dict[str, int] | None = None,
) -> dict[TopicPartition, Assignment]:
    """Returns the assignments of these topics, and in `created` the czxid of each.

    An invalid znode goes into `unread`, or is raised where that is None.
    """
    names, czxids = names or PartitionNames(), {} if created is None else created

    def take(position: int, data: bytes, czxid: int, *_: int) -> dict[TopicPartition, Assignment] | None:
        topic = topics[position]
        czxids[topic] = czxid
        return _or_unread(lambda: records.assignments(Node(data, (), NO_STAT), topic, names), unread)

    assigned: dict[TopicPartition, Assignment] = {}
    for found in read_many(lines, [connect.path(f"/brokers/topics/{topic}") for topic in topics], take, deadline):
        assigned.update(found or {})
    return assigned


def read_states(
    lines: Sequence[ZooKeeperLine],
    connect: Connect,
    assigned: dict[TopicPartition, Assignment],
    deadline: Deadline,
    unread: Unread | None = None,
    shift: int = 0,
) -> dict[TopicPartition, PartitionState]:
    """Returns the partition states. An invalid znode goes into `unread`, or is raised if that is None.

    `shift` is added to their times, in ms.
    """
    tps = list(assigned)
    #: Most partitions have the same content as many others: each content is parsed once.
    parsed: dict[bytes, tuple[int, int, tuple[int, ...], int]] = {}
    make = tuple.__new__

    def take(position: int, data: bytes, _: int, mzxid: int, mtime: int, version: int) -> PartitionState | None:
        known = parsed.get(data)
        if known is None:
            try:
                state = records.partition_state(Node(data, (), NO_STAT), state_path(tps[position]))
            except records.BadRecordError as error:
                if unread is None:
                    raise
                unread[error.path] = error.why
                return None
            known = parsed[data] = state[:4]
        return make(PartitionState, (*known, version, mzxid, mtime + shift))

    root = connect.path("/brokers/topics")
    paths = [f"{root}/{topic}/partitions/{partition}/state" for topic, partition in tps]
    found = read_many(lines, paths, take, deadline)
    return {tp: state for tp, state in zip(tps, found, strict=True) if state is not None}


def _configs(
    lines: Sequence[ZooKeeperLine], connect: Connect, topics: tuple[str, ...], deadline: Deadline, unread: Unread
) -> dict[str, dict[str, str]]:
    def take(position: int, data: bytes, *_: int) -> dict[str, str] | None:
        return _or_unread(lambda: records.config(Node(data, (), NO_STAT), f"/config/topics/{topics[position]}"), unread)

    found = read_many(lines, [connect.path(f"/config/topics/{topic}") for topic in topics], take, deadline)
    return {topic: values for topic, values in zip(topics, found, strict=True) if values is not None}


def _wrong_chroot(line: ZooKeeperLine, connect: Connect, deadline: Deadline) -> str:
    [root] = line.read([children("/")], deadline)
    there = sorted(n for n in _names(root) if n != "zookeeper")
    where = f"under the chroot {connect.chroot}" if connect.chroot else "without a chroot"
    return (
        f"zookeeper {line.endpoint}: no Kafka {where} (no /brokers/ids); its root has "
        f"{', '.join(there[:8]) or 'nothing'}: add the chroot after the last server, as in zk1:2181/kafka"
    )
