"""Makes changes of a live cluster. Each change that is sent uses its own connection, which allows only that API.

On KRaft a broker forwards a change to the active controller. So kfix sends none unless that controller has just
answered. A change without an answer, or answered by a controller that has stepped down, may still happen
(docs/adr/023).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kfix.core.collect.quorum import describe_at
from kfix.core.collect.quorum_rows import directory_bytes, unsustained
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.quorum import why_unchanged
from kfix.core.endpoint import parse_endpoint
from kfix.core.errors import UnreachableError
from kfix.core.kafka import group_messages, kraft_messages, questions, requests
from kfix.core.kafka.api import Request
from kfix.core.kafka.codes import NO_ANSWER, missing_right, name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.records import tombstone
from kfix.core.kafka.requests import PartitionResult
from kfix.core.kafka.transactions import Marker, write_marker
from kfix.core.metadata.seed import NotWrittenError, write_log
from kfix.core.numbers import broker_id
from kfix.core.site_command import carry_out, command_words, is_running
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.quorum import METADATA_FEATURE
from kfix.core.snapshot.reading import ChangeResult, NodeRole, ResourceKind
from kfix.core.snapshot.recovery import NewLog
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.snapshot.transactions import OpenBatch
from kfix.core.snapshot.voters import Joining
from kfix.core.target import Target
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import Connect
from kfix.core.zookeeper.write import delete_controller

if TYPE_CHECKING:
    from kfix.heal.live.reader import LiveReader

#: Kafka's NOT_CONTROLLER, after which nothing was changed.
NOT_SENT = 41
#: A command of the site that takes longer than this (seconds) is ended.
_COMMAND_SECONDS = 900.0
#: Part of Kafka's message that the active controller does not reach a new voter yet: it has changed nothing.
_NOT_READY = "is not ready to receive requests"


def _unsent(why: object) -> ChangeResult:
    return ChangeResult(NOT_SENT, "NOT_SENT", str(why))


class LiveChanger:
    """Sends each change exactly once: with ZooKeeper to the controller that it names at that moment
    (docs/facts/controller.md), on KRaft to a broker with the newest metadata. `connect` is None on KRaft.
    """

    def __init__(self, target: Target, connect: Connect | None, reader: LiveReader) -> None:
        self._target = target
        self._connect = connect
        self._reader = reader

    def elect(self, tp: TopicPartition, *, unclean: bool) -> ChangeResult:
        request = requests.elect_leaders(tp, unclean=unclean, timeout_ms=self._timeout_ms)
        return self._send_to_controller(request)

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> ChangeResult:
        request = requests.alter_reassignment(tp, replicas, timeout_ms=self._timeout_ms)
        return self._send_to_controller(request)

    def reelect_controller(self, *, epoch_version: int) -> ChangeResult:
        if self._connect is None:
            return _unsent("a KRaft cluster has no /controller to delete")
        if (taken_over := self._taken_over()) is not None:
            return taken_over
        return delete_controller(self._connect, epoch_version=epoch_version, timeout=self._target.timeout)

    def alter_configs(self, kind: ResourceKind, name: str, changes: Mapping[str, str | None]) -> ChangeResult:
        """Sends broker configs to the broker itself, since only that broker validates them."""
        request = requests.alter_configs(questions.resource_type(kind), name, changes)
        if kind is ResourceKind.TOPIC:
            return self._send_to_controller(request)
        broker = broker_id(name)
        if broker is None:
            return ChangeResult(42, "NOT_SENT", f"{name!r} is not a broker id")
        return self._send_to_controller(request, broker)

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, StoredOffset | None]) -> ChangeResult:
        """Sends deletions first, and no commit unless they succeeded; the coordinator checks that no member exists."""
        try:
            coordinator = self._reader.coordinator(group)
        except UnreachableError as error:
            return _unsent(error)
        stored = {tp: each for tp, each in offsets.items() if each is not None}
        deleted = tuple(tp for tp, each in offsets.items() if each is None)
        if deleted:
            result = self._send(group_messages.offset_delete(group, deleted), coordinator)
            if not stored or not result.accepted:
                return result
        result = self._send(group_messages.offset_commit(group, stored), coordinator)
        # After a deletion, a refused commit leaves a change behind.
        return result if result.accepted or not deleted else ChangeResult(NO_ANSWER, result.name, result.message)

    def evict_member(self, group: str, member: str, instance: str) -> ChangeResult:
        """Sends LeaveGroup to the coordinator, which refuses an unknown member id."""
        request = group_messages.leave_group(group, member, instance)
        return self._send_to(lambda: self._reader.coordinator(group), request)

    def abort_transaction(self, transactional_id: str, producer: int, epoch: int, timeout_ms: int) -> ChangeResult:
        request = group_messages.init_producer_id(transactional_id, producer, epoch, timeout_ms)
        return self._send_to(lambda: self._reader.transaction_coordinator(transactional_id), request)

    def end_transaction(
        self, tp: TopicPartition, transactional_id: str, batch: OpenBatch, *, commit: bool
    ) -> ChangeResult:
        try:
            form = self._reader.marker(tp, transactional_id, batch)
        except UnreachableError as error:
            return _unsent(error)
        marker = Marker(tp, batch.producer, batch.epoch, commit, form.coordinator_epoch)
        return self._send(write_marker(marker, newer=form.newer), form.leader)

    def unregister_broker(self, broker: int) -> ChangeResult:
        if self._connect is not None:
            return _unsent("with ZooKeeper a registration ends with its session")
        return self._send_to_controller(kraft_messages.unregister_broker(broker))

    def remove_voter(self, node: int, directory: str) -> ChangeResult:
        cluster = self._reader.identity().id or None
        return self._send_to_active(kraft_messages.remove_voter(node, directory_bytes(directory), cluster))

    def add_voter(self, wanted: Joining) -> ChangeResult:
        listener, _, address = wanted.address.partition("://")
        endpoint = parse_endpoint(address)
        if endpoint is None:
            return _unsent(f"{wanted.address!r} is not an address")
        directory, cluster = directory_bytes(wanted.directory), self._reader.identity().id or None
        request = kraft_messages.add_voter(wanted.node, directory, (listener, endpoint), self._timeout_ms, cluster)
        result = self._send_to_active(request)
        return _unsent(result.message) if _NOT_READY in result.message else result

    def _send_to_active(self, request: Request[PartitionResult]) -> ChangeResult:
        """Sends a change of the voters to the active controller itself: a broker may forward it to the one of before,
        for as long as it runs (docs/facts/kraft.md).
        """
        try:
            address = self._reader.active_controller()
        except UnreachableError as error:
            return _unsent(error)
        with BrokerConnection(address, self._target.security, allowed=(request.api_key,), controller=True) as line:
            try:
                why = unsustained(describe_at(line, Deadline.after(self._target.timeout)))
            except UnreachableError as error:
                return _unsent(error)
            return _unsent(f"{address}: {why}") if why else self._answered(line, request)

    def delete_key(self, tp: TopicPartition, key: bytes) -> ChangeResult:
        if tp.topic != OFFSETS_TOPIC:
            return _unsent(f"{tp} is not a partition of {OFFSETS_TOPIC}")
        batch = tombstone(key, int(time.time() * 1000))
        return self._send_to(lambda: self._reader.leader(tp), requests.produce(tp, batch, self._timeout_ms))

    def raise_metadata_version(self, level: int) -> ChangeResult:
        if self._connect is not None:
            return _unsent("a cluster with ZooKeeper has no metadata.version")
        return self._send_to_controller(kraft_messages.update_feature(METADATA_FEATURE, level, self._timeout_ms))

    def write_metadata_log(self, wanted: NewLog) -> ChangeResult:
        try:
            write_log(wanted)
        except NotWrittenError as error:
            return _unsent(error)
        return ChangeResult(0, name_of(0))

    def restart_node(self, role: NodeRole, node: int, template: str, version: str = "") -> ChangeResult:
        """A command that fails may have stopped the node: only the cluster shows it."""
        own, field = self._target.restart_command, "restart_command"
        if version:
            own, field = self._target.upgrade_command, "upgrade_command"
        if not template or template != own:
            return _unsent(f"{template!r} is not the command of the inventory ({field})")
        try:
            words = command_words(template, role, node, version)
            if is_running(words):
                return _unsent("the same command still runs on this host, begun by an earlier run")
            end = carry_out(words, _COMMAND_SECONDS)
        except (OSError, ValueError) as error:
            return _unsent(error)
        if end.code == 0:
            return ChangeResult(0, name_of(0))
        how = f"no end within {_COMMAND_SECONDS:g} s" if end.code is None else f"exit code {end.code}"
        return ChangeResult(NO_ANSWER, "COMMAND_FAILED", f"{how}: {end.said}" if end.said else how)

    def _send_to(self, find: Callable[[], int], request: Request[PartitionResult]) -> ChangeResult:
        """Sends the request to the broker that `find` returns, and nothing if it raises UnreachableError."""
        try:
            broker = find()
        except UnreachableError as error:
            return _unsent(error)
        return self._send(request, broker)

    @property
    def _timeout_ms(self) -> int:
        return int(self._target.timeout * 1000)

    def _send_to_controller(self, request: Request[PartitionResult], broker: int | None = None) -> ChangeResult:
        """`broker` must take the request itself; on KRaft it forwards the request."""
        if self._connect is not None and (taken_over := self._taken_over()) is not None:
            return taken_over
        if self._connect is not None and broker is not None:
            return self._send(request, broker)
        try:
            door = self._reader.door()
        except UnreachableError as error:
            return _unsent(error)
        if door is None:
            return ChangeResult(41, name_of(41), "there is no active controller (/controller does not exist)")
        result = self._send(request, door if broker is None else broker)
        if self._connect is None and result.name == name_of(NOT_SENT):
            return ChangeResult(NO_ANSWER, result.name, "the active controller stepped down meanwhile")
        return result

    def _taken_over(self) -> ChangeResult | None:
        """Returns a refusal if a KRaft controller owns ZooKeeper's record."""
        try:
            why = why_unchanged(self._reader.controller())
        except UnreachableError as error:
            return _unsent(error)
        return _unsent(why) if why else None

    def _send(self, request: Request[PartitionResult], broker: int) -> ChangeResult:
        address = self._reader.address(broker)
        if address is None:
            return _unsent(f"broker {broker} is not registered, or its address is unknown")
        with BrokerConnection(address, self._target.security, allowed=(request.api_key,)) as line:
            try:
                # Tests the connection before the change is sent, so that a refused one is "not sent" instead of
                # "unknown".
                metadata = line.call(requests.metadata(()), Deadline.after(self._target.timeout))
            except UnreachableError as error:
                return _unsent(error)
            here = self._reader.identity().id
            if here and metadata.cluster_id != here:
                return _unsent(f"broker {broker} at {address} is of cluster {metadata.cluster_id}, not of {here}")
            return self._answered(line, request)

    def _answered(self, line: BrokerConnection, request: Request[PartitionResult]) -> ChangeResult:
        try:
            # The server may use its whole timeout; allow 2 s more for the response to arrive.
            result = line.call(request, Deadline.after(self._target.timeout + 2))
        except UnreachableError as error:
            return ChangeResult(NO_ANSWER, "NO_ANSWER", str(error))
        why = missing_right(request.api_key, result.error, self._target.security.principal)
        message = " ".join(filter(None, (result.message, why and f"({why})")))
        return ChangeResult(result.error, name_of(result.error), message)
