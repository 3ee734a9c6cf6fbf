"""Fresh reads of a live cluster over read-only connections, which refuse every changing request."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kfix.core.collect import transactions
from kfix.core.collect.group_details import ask_members, read_last_generation
from kfix.core.collect.logs import ask_log_ends
from kfix.core.collect.offsets_saving import find_key, replay_partition
from kfix.core.collect.one_record import ask_record, ask_records_left
from kfix.core.collect.probes import fetch_offsets, find_coordinators
from kfix.core.collect.tasks import Brokers, Questions
from kfix.core.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, partition_of_group
from kfix.core.derive.elections import UNCLEAN
from kfix.core.derive.hanging import Hanging, hanging
from kfix.core.derive.versions import VersionRule
from kfix.core.errors import RefusedError, UnreachableError, UsageError
from kfix.core.kafka import group_messages, questions, requests
from kfix.core.kafka.codes import NO_ANSWER, name_of, with_right
from kfix.core.kafka.group_messages import FoundCoordinator
from kfix.core.metadata.copies import copies_read
from kfix.core.numbers import broker_id
from kfix.core.snapshot.group_reading import GroupMembers, LastGeneration
from kfix.core.snapshot.load_conflicts import KeyLeft, OffsetsReplay
from kfix.core.snapshot.offsets import GroupOffsets, LoggedRecord
from kfix.core.snapshot.reading import (
    BrokerRegistration,
    ConfigValue,
    LogDirs,
    LogTail,
    NodeLevels,
    NodeName,
    PartitionReading,
    ResourceKind,
    StableEnd,
    StartMark,
)
from kfix.core.snapshot.recovery import MISSING, AppliedMetadata, CopyRead
from kfix.core.snapshot.snapshot import (
    Assignment,
    ClusterIdentity,
    ControllerNode,
    CoordinatorProbe,
    Endpoint,
    LogEnd,
    PartitionView,
    Snapshot,
    TopicPartition,
)
from kfix.core.snapshot.transactions import OpenBatch, TransactionLog, TransactionState
from kfix.core.snapshot.voters import QuorumVoters
from kfix.core.target import Target
from kfix.core.timing import Deadline
from kfix.diagnose.snapshots import read_cluster
from kfix.heal.live.authority import ZooKeeperAuthority
from kfix.heal.live.kraft_authority import KraftAuthority
from kfix.heal.live.lines import BrokerLines

#: Most reads of a partition whose brokers already report a later leader epoch.
_ROUNDS = 3
#: A whole log is read within this many timeouts; each of its requests has one timeout.
_LONG = 20


class MarkerForm(NamedTuple):
    """The leader that takes a marker, whether it has the newer version of the request, and the coordinator's epoch."""

    leader: int
    newer: bool
    coordinator_epoch: int


class LiveReader:
    """Reads a cluster over one connection per broker, which is reopened when it breaks, and its authority's record."""

    def __init__(
        self,
        target: Target,
        authority: ZooKeeperAuthority | KraftAuthority,
        identity: ClusterIdentity,
        addresses: Mapping[int, Endpoint],
    ) -> None:
        self._target = target
        self._authority = authority
        self._identity = replace(identity, security=target.security.recorded, controllers=target.controllers_text)
        self._lines = BrokerLines(target.security, addresses, authority.address)

    def close(self) -> None:
        self._lines.close()
        self._authority.close()

    def identity(self) -> ClusterIdentity:
        return self._identity

    def registered_brokers(self) -> frozenset[int]:
        return self._authority.registered()

    def registration(self, broker: int) -> BrokerRegistration:
        return self._authority.registration(broker)

    def controller(self) -> ControllerNode:
        return self._authority.controller()

    def migrating(self) -> bool:
        return self._authority.migrating()

    def door(self) -> int | None:
        """Returns the broker that accepts a change of the cluster now; None if there is no active controller."""
        return self._authority.door()

    def partition(self, tp: TopicPartition) -> PartitionReading:
        """Reads again if a broker already reports a later epoch: the record has changed in between."""
        for _ in range(_ROUNDS):
            reading = self.recorded(tp)
            views, errors = self._views(tp, reading.registered or frozenset())
            epoch = None if reading.state is None else reading.state.leader_epoch
            if epoch is None or all(view.leader_epoch <= epoch for view in views.values()):
                break
        return replace(reading, views=views, errors=(*reading.errors, *errors))

    def recorded(self, tp: TopicPartition) -> PartitionReading:
        return self._authority.partition(tp)

    def every_partition(self) -> Mapping[TopicPartition, PartitionReading]:
        """Reads the brokers first: after an election in between, the old leader's log is compared with the new one."""
        end = self._deadline()
        answers = self._lines.ask_each(
            sorted(self.registered_brokers()),
            lambda line: line.call(requests.metadata(), end).partitions,
            end,
        )
        found = self._authority.every_partition()
        views = {broker: answer for broker, answer in answers.items() if not isinstance(answer, UnreachableError)}
        errors = tuple(f"broker {b}: {answer}" for b, answer in answers.items() if isinstance(answer, UnreachableError))
        return {
            tp: replace(each, views={b: views[tp] for b, views in views.items() if tp in views}, errors=errors)
            for tp, each in found.items()
        }

    def reassignments(self) -> Mapping[TopicPartition, Assignment]:
        return self._authority.reassignments(self._lines)

    def partition_count(self, topic: str) -> int | None:
        return self._authority.partition_count(topic) or None

    def assignments(self, topic: str) -> Mapping[TopicPartition, Assignment]:
        return self._authority.assignments(topic)

    def probe_group(self, group: str) -> CoordinatorProbe:
        partitions = self.partition_count(OFFSETS_TOPIC)
        if partitions is None:
            raise UnreachableError(f"group {group}: {OFFSETS_TOPIC} does not exist, and the request would create it")
        partition = partition_of_group(group, partitions)
        end = self._deadline()
        askers = self._lines.to(self.registered_brokers())
        unasked = CoordinatorProbe(group, partition, None, None, None)
        probe = find_coordinators(askers.values(), {group: unasked}, end).get(group)
        if probe is None:
            return replace(unasked, find_error=NO_ANSWER, error="no registered broker is reachable")
        line = None if probe.coordinator is None else self._lines.to((probe.coordinator,)).get(probe.coordinator)
        if probe.coordinator is None or line is None:
            return probe
        fetched = fetch_offsets(line, [probe], end)[0]
        if fetched.fetch_error == NO_ANSWER and (line := self._lines.renewed(probe.coordinator)) is not None:
            return fetch_offsets(line, [probe], end)[0]
        return fetched

    def log_ends(self, tp: TopicPartition, brokers: tuple[int, ...]) -> Mapping[int, LogEnd]:
        end = self._deadline()
        answer = self._lines.ask_each(brokers, lambda line: ask_log_ends(line, (tp,), end)[tp], end)
        return {b: LogEnd(-1, -1, str(s)) if isinstance(s, UnreachableError) else s for b, s in answer.items()}

    def log_tails(self, tp: TopicPartition, brokers: tuple[int, ...]) -> Mapping[int, LogTail]:
        end = self._deadline()
        answer = self._lines.ask_each(brokers, lambda line: questions.ask_log_tail(line, tp, end), end)
        return {b: LogTail(-1, -1, -1, str(s)) if isinstance(s, UnreachableError) else s for b, s in answer.items()}

    def configs(self, kind: ResourceKind, name: str, keys: tuple[str, ...]) -> Mapping[str, ConfigValue]:
        end = self._deadline()
        if kind is ResourceKind.BROKER:
            broker = broker_id(name)
            if broker is None:
                raise UnreachableError(f"configs of broker {name!r}: not a broker id")
            return self._lines.ask(broker, lambda line: questions.ask_configs_of(line, kind, name, keys, end), end)
        live = sorted(self.registered_brokers())
        found: dict[str, ConfigValue] = self._lines.ask_any(
            live, lambda line, until: questions.ask_configs_of(line, kind, name, keys, until), end
        )
        decided = self._authority.unclean(name) if UNCLEAN in keys else None
        # A value that the topic itself has is the same for all. A broker's value does not show the controller's.
        shown = found.get(UNCLEAN)
        if decided is not None and (decided.value is not None or shown is None or not shown.own):
            found[UNCLEAN] = decided
        return found

    def follows(self, rule: VersionRule, broker: int) -> bool:
        end = self._deadline()
        return self._lines.ask(broker, lambda line: line.supports(*rule.request, end), end)

    def log_dirs(self, broker: int) -> LogDirs:
        end = self._deadline()
        return self._lines.ask(broker, lambda line: questions.ask_log_dirs(line, broker, end), end)

    def stable_end(self, tp: TopicPartition) -> StableEnd:
        state = self.recorded(tp).state
        if state is None or state.leader < 0:
            raise UnreachableError(
                f"{tp}: {'has no leader' if state else 'does not exist'}: the last stable offset cannot be read"
            )
        end = self._deadline()
        return self._lines.ask(state.leader, lambda line: questions.ask_stable_end(line, tp, end), end)

    def group(self, group: str, tps: tuple[TopicPartition, ...]) -> GroupOffsets:
        coordinator = self.coordinator(group)
        end = self._deadline()
        return self._lines.ask(coordinator, lambda line: questions.ask_group(line, group, tps, end), end)

    def group_members(self, group: str) -> GroupMembers:
        coordinator = self.coordinator(group)
        end = self._deadline()
        return self._lines.ask(coordinator, lambda line: ask_members(line, group, end), end)

    def last_generation(self, group: str) -> LastGeneration:
        coordinator, tp = self._coordinated(group)
        end = self._deadline()
        with self._naming_rights():
            return self._lines.ask(coordinator, lambda line: read_last_generation(line, group, tp, end), end)

    def coordinator(self, group: str) -> int:
        """Returns the broker that coordinates the group. Raises UnreachableError if none answers for it."""
        return self._coordinated(group)[0]

    def _coordinated(self, group: str) -> tuple[int, TopicPartition]:
        """Returns (coordinator, offsets partition of the group)."""
        probe = self.probe_group(group)
        if probe.coordinator is None or not probe.answers:
            error = next((each for each in (probe.find_error, probe.fetch_error) if each), NO_ANSWER)
            why = f"group {group}: its coordinator does not answer: {probe.error or name_of(error)}"
            raise UnreachableError(with_right(why, group_messages.FIND_COORDINATOR, self._target.security.principal))
        return probe.coordinator, TopicPartition(OFFSETS_TOPIC, probe.partition)

    def offsets_replay(self, tp: TopicPartition) -> OffsetsReplay:
        limit = self._target.timeout
        leader, end = self.leader(tp), Deadline.after(_LONG * limit)
        with self._naming_rights():
            return self._lines.ask(leader, lambda line: replay_partition(line, tp, limit), end)

    def key_left(self, tp: TopicPartition, key: bytes, first: int) -> Mapping[int, KeyLeft]:
        reading, limit = self.recorded(tp), self._target.timeout
        if reading.assignment is None:
            raise UnreachableError(f"{tp}: its replicas are unknown")
        until = self.stable_end(tp).high_watermark
        answers = self._lines.ask_each(
            reading.assignment.replicas,
            lambda line: find_key(line, tp, key, first, until, limit),
            Deadline.after(_LONG * limit),
        )
        return {b: KeyLeft(error=str(a)) if isinstance(a, UnreachableError) else a for b, a in answers.items()}

    def transaction(self, transactional_id: str, since_ms: int) -> TransactionState | None:
        tp = self._transactions_partition(transactional_id)
        end = self._deadline()
        leader = self.leader(tp)
        with self._naming_rights():
            return self._lines.ask(
                leader, lambda line: transactions.ask_transaction(line, tp, transactional_id, since_ms, end), end
            )

    def open_batch(self, tp: TopicPartition) -> OpenBatch | None:
        end = self._deadline()
        with self._naming_rights():
            return self._lines.ask(self.leader(tp), lambda line: transactions.ask_open_batch(line, tp, end), end)

    def hanging(self, tp: TopicPartition) -> Hanging | None:
        before = self.open_batch(tp)
        if before is None:
            return None
        log = self._transaction_log(before)
        found = hanging(tp, before, log)
        if found is None and all(record.producer != before.producer for record in log.records):
            with self._naming_rights():
                why = log.error or f"the log of {TRANSACTIONS_TOPIC} was not read to its end"
                raise UnreachableError(f"{tp}: {why}")
        return found if found is not None and self.open_batch(tp) == before else None

    def _transaction_log(self, batch: OpenBatch) -> TransactionLog:
        """Asks every broker who leads: one with old metadata may name a leader that knows nothing newer."""
        end, live = self._deadline(), sorted(self.registered_brokers())
        request = requests.metadata((TRANSACTIONS_TOPIC,))
        answers = self._lines.ask_each(live, lambda line: line.call(request, end).partitions, end).values()
        views = [answer for answer in answers if not isinstance(answer, UnreachableError)]
        brokers = Brokers(Questions(), self._lines.to(live), end)
        producers = transactions.open_producers((), (), time.time(), (batch,))
        count = len({tp for view in views for tp in view})
        return transactions.read_transactions(brokers, transactions.newest_leaders(views), count, producers)

    def served_to(self, tp: TopicPartition, offset: int) -> int:
        end = self._deadline()
        with self._naming_rights():
            return self._lines.ask(self.leader(tp), lambda line: transactions.ask_served(line, tp, offset, end), end)

    def logged_record(self, tp: TopicPartition, offset: int) -> LoggedRecord:
        end = self._deadline()
        with self._naming_rights():
            return self._lines.ask(self.leader(tp), lambda line: ask_record(line, tp, offset, end), end)

    def records_left(self, tp: TopicPartition, offset: int) -> bool:
        end = self._deadline()
        with self._naming_rights():
            return self._lines.ask(self.leader(tp), lambda line: ask_records_left(line, tp, offset, end), end)

    def applied(self) -> AppliedMetadata:
        if not isinstance(self._authority, KraftAuthority):
            raise UnreachableError("a cluster with ZooKeeper has no metadata log")
        return self._authority.applied()

    def voters(self) -> QuorumVoters:
        return self._authority.voters()

    def active_controller(self) -> Endpoint:
        """Returns the listener of the active controller of a KRaft quorum, which accepts a change of its voters."""
        return self._authority.active_controller()

    def metadata_copies(self, folders: tuple[str, ...]) -> tuple[CopyRead, ...]:
        missing = tuple(CopyRead(each, unread=MISSING) for each in folders if not os.path.lexists(each))
        there = [Path(each) for each in folders if os.path.lexists(each)]
        try:
            found = copies_read(there) if there else ()
        except (UsageError, RefusedError) as error:
            raise UnreachableError(str(error)) from error
        here = self._identity.id
        for each in found:
            if each.cluster != here:
                raise UnreachableError(f"{each.folder} is of cluster {each.cluster or 'unknown'}, not of {here}")
        return (*found, *missing)

    def start_mark(self) -> StartMark:
        return self._authority.start_mark()

    def starts_since(self, mark: StartMark) -> Mapping[NodeName, int]:
        return self._authority.starts_since(mark)

    def metadata_levels(self) -> Mapping[NodeName, NodeLevels]:
        if not isinstance(self._authority, KraftAuthority):
            raise UnreachableError("a cluster with ZooKeeper has no metadata.version")
        return self._authority.metadata_levels()

    def restart_command(self) -> str:
        return self._target.restart_command

    def upgrade_command(self) -> str:
        return self._target.upgrade_command

    def snapshot(self) -> Snapshot:
        return read_cluster(self._target, keep=False)

    def marker(self, tp: TopicPartition, transactional_id: str, batch: OpenBatch) -> MarkerForm:
        """Returns how the leader takes a marker. Its epoch must not be below that of the last one.

        Brokers before 3.0 do not report that one; the coordinator's own, the epoch of its partition, is not below it.
        """
        end, leader = self._deadline(), self.leader(tp)
        newer, epoch = self._lines.ask(leader, lambda line: transactions.ask_marker(line, tp, batch, end), end)
        if epoch is None and transactional_id:
            state = self.recorded(self._transactions_partition(transactional_id)).state
            epoch = None if state is None else state.leader_epoch
        return MarkerForm(leader, newer, max(0, epoch or 0))

    def transaction_coordinator(self, transactional_id: str) -> int:
        """Returns the broker that coordinates the transactions of this id and can be asked to abort one.

        Raises UnreachableError if there is none, if it is older than 2.5, or if kfix lacks a right, which it names.
        """
        self._transactions_partition(transactional_id)
        end, request = self._deadline(), group_messages.find_transaction_coordinator(transactional_id)
        answers = self._lines.ask_each(sorted(self.registered_brokers()), lambda line: line.call(request, end), end)
        found = named_coordinator(answers.values())
        if found.error:
            why = f"transactional.id {transactional_id}: FindCoordinator: {name_of(found.error)}"
            raise UnreachableError(with_right(why, group_messages.INIT_PRODUCER_ID, self._target.security.principal))
        new = self._lines.ask(
            found.broker,
            lambda line: line.supports(group_messages.INIT_PRODUCER_ID, group_messages.EXPECTED_PRODUCER, end),
            end,
        )
        if not new:
            raise UnreachableError(f"broker {found.broker} is older than Kafka 2.5: it cannot check the epoch")
        return found.broker

    def _transactions_partition(self, transactional_id: str) -> TopicPartition:
        count = self.partition_count(TRANSACTIONS_TOPIC)
        if count is None:
            raise UnreachableError(f"{TRANSACTIONS_TOPIC} does not exist, and asking for a coordinator would create it")
        return TopicPartition(TRANSACTIONS_TOPIC, partition_of_group(transactional_id, count))

    def leader(self, tp: TopicPartition) -> int:
        state = self.recorded(tp).state
        if state is None or state.leader < 0:
            raise UnreachableError(f"{tp}: {'has no leader' if state else 'does not exist'}")
        return state.leader

    def address(self, broker: int) -> Endpoint | None:
        return self._lines.address(broker)

    def _views(self, tp: TopicPartition, live: frozenset[int]) -> tuple[dict[int, PartitionView], tuple[str, ...]]:
        """Reads all brokers in parallel: several hung brokers cost one timeout, not one each."""
        end = self._deadline()
        answers = self._lines.ask_each(
            sorted(live),
            lambda line: self._authority.view(line, tp, end),
            end,
        )
        views = {broker: answer for broker, answer in answers.items() if isinstance(answer, PartitionView)}
        errors = (
            f"broker {broker}: {answer}" for broker, answer in answers.items() if isinstance(answer, UnreachableError)
        )
        return views, tuple(errors)

    @contextlib.contextmanager
    def _naming_rights(self) -> Iterator[None]:
        """Names the missing right in the error of a request that reads records."""
        try:
            yield
        except UnreachableError as error:
            named = with_right(str(error), requests.FETCH, self._target.security.principal)
            if named == str(error):
                raise
            raise UnreachableError(named) from None

    def _deadline(self) -> Deadline:
        return Deadline.after(self._target.timeout)


def named_coordinator(answers: Iterable[FoundCoordinator | UnreachableError]) -> FoundCoordinator:
    """Returns the first answer that names a broker, else one with its error code. Raises if no broker answered."""
    error = UnreachableError("no registered broker is reachable")
    refused = None
    for answer in answers:
        if isinstance(answer, UnreachableError):
            error = answer
        elif answer.error == 0:
            return answer
        else:
            refused = refused or answer
    if refused is None:
        raise error
    return refused
