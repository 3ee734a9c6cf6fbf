"""Reads facts fresh. One reading of a partition answers all of its facts that are asked for in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kfix.core.derive.coordinator import TRANSACTIONS_TOPIC
from kfix.core.derive.loss import lost_since
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.group_reading import GroupMembers, LastGeneration, awaited
from kfix.core.snapshot.offsets import GroupOffsets
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.reading import BrokerRegistration, LogDirs, PartitionReading
from kfix.core.snapshot.snapshot import NO_LEADER, Assignment, ControllerNode, PartitionState, Snapshot, TopicPartition
from kfix.heal.model.facts import Fact, FactJson, FactKey, split_key
from kfix.heal.probes.configs import effective_value, own_value

_STATE: Mapping[str, Callable[[PartitionState], FactJson]] = {
    "leader": lambda state: state.leader,
    "leader_epoch": lambda state: state.leader_epoch,
    "isr": lambda state: state.isr,
}
#: Known of a partition without a leader on KRaft, otherwise absent.
_ELIGIBLE: Mapping[str, Callable[[EligibleLeaders], FactJson]] = {
    "elr": lambda eligible: eligible.replicas,
    "last_known": lambda eligible: eligible.last_known,
}
_PARTITIONS = "DescribeTopicPartitions"
_CONTROLLER: Mapping[str, Callable[[ControllerNode], FactJson]] = {
    "controller": lambda node: node.broker,
    "controller_epoch": lambda node: node.epoch,
    "controller_epoch_version": lambda node: node.epoch_version,
}


def read_facts(reader: ClusterReader, keys: Iterable[str]) -> dict[str, Fact]:
    """Returns all of these facts; raises UnreachableError where one source does not answer."""
    read = FactReader(reader)
    return {key: read(key) for key in dict.fromkeys(keys)}


class FactReader:
    """Reads facts of one moment: it keeps its readings, so that facts read together were true together.

    `snapshot` shows which brokers did not answer, and which disks alone have records.
    """

    def __init__(self, reader: ClusterReader, snapshot: Snapshot | None = None) -> None:
        self.reader = reader
        self._snapshot = snapshot
        self._found: dict[str, Fact] = {}
        self._partitions: dict[TopicPartition, PartitionReading] = {}
        self._controller: ControllerNode | None = None
        self._registered: frozenset[int] | None = None
        self._registrations: dict[int, BrokerRegistration] = {}
        self._log_dirs: dict[int, LogDirs | None] = {}
        self._moves: Mapping[TopicPartition, Assignment] | None = None
        self._groups: dict[tuple[str, str], GroupOffsets] = {}
        self._members: dict[str, tuple[GroupMembers, LastGeneration]] = {}
        #: Brokers whose disks alone have some records.
        self._holders: frozenset[int] | None = None

    def __call__(self, key: str) -> Fact:
        if key not in self._found:
            self._found[key] = _read(self, key)
        return self._found[key]

    def partition(self, tp: TopicPartition) -> PartitionReading:
        if tp not in self._partitions:
            self._partitions[tp] = self.reader.recorded(tp)
        return self._partitions[tp]

    def controller(self) -> ControllerNode:
        if self._controller is None:
            self._controller = self.reader.controller()
        return self._controller

    def registration(self, broker: int) -> BrokerRegistration:
        if broker not in self._registrations:
            self._registrations[broker] = self.reader.registration(broker)
        return self._registrations[broker]

    def registered(self) -> frozenset[int]:
        if self._registered is None:
            self._registered = self.reader.registered_brokers()
        return self._registered

    def hung(self, broker: int) -> bool:
        return self._snapshot is not None and broker in self._snapshot.silent

    def has_only_copy(self, broker: int) -> bool:
        if self._holders is None:
            lost = () if self._snapshot is None else lost_since(self._snapshot)
            self._holders = frozenset(holder for each in lost for holder in each.holders)
        return broker in self._holders

    def moves(self) -> Mapping[TopicPartition, Assignment]:
        if self._moves is None:
            self._moves = self.reader.reassignments()
        return self._moves

    def committed(self, group: str, tp: TopicPartition) -> str | None:
        """All partitions of the topic are asked for at once. Raises UnreachableError for a pending offset."""
        if (group, tp.topic) not in self._groups:
            count = self.reader.partition_count(tp.topic) or 0
            tps = (TopicPartition(tp.topic, number) for number in range(max(count, tp.partition + 1)))
            self._groups[(group, tp.topic)] = self.reader.group(group, tuple(tps))
        found = self._groups[(group, tp.topic)]
        if tp in found.unstable:
            raise UnreachableError(f"group {group}: an open transaction holds its offset of {tp}")
        stored = found.committed.get(tp)
        return None if stored is None else stored.text

    def members(self, group: str) -> tuple[GroupMembers, LastGeneration]:
        if group not in self._members:
            self._members[group] = self.reader.group_members(group), self.reader.last_generation(group)
        return self._members[group]

    def log_dirs(self, broker: int) -> LogDirs | None:
        """A broker holds thousands of replicas and is asked once. Returns None where it does not answer."""
        if broker not in self._log_dirs:
            try:
                self._log_dirs[broker] = self.reader.log_dirs(broker)
            except UnreachableError:
                self._log_dirs[broker] = None
        return self._log_dirs[broker]


def _read(once: FactReader, key: str) -> Fact:
    parts = split_key(key)
    if parts.resource is not None:
        kind, owner = parts.resource
        found = once.reader.configs(kind, owner, (parts.name,)).get(parts.name)
        read = own_value if parts.own else effective_value
        return Fact(key, read(found, parts.name), f"config of {parts.owner}")
    if parts.group or parts.transaction:
        return _about_client(once, key, parts)
    if parts.broker is not None:
        return _about_broker(once, key, parts.broker, parts.name)
    if parts.tp is None:
        return _about_cluster(once, key, parts.name)
    if parts.name in _ASKED_APART:
        return _ASKED_APART[parts.name](once, key, parts.tp)
    return _about_partition(once, key, parts.tp, parts.name)


def _about_broker(once: FactReader, key: str, broker: int, name: str) -> Fact:
    if name == "registered":
        return Fact(key, broker in once.registered(), "the live brokers")
    if name in {"hung", "only_copy"}:
        return Fact(key, (once.hung if name == "hung" else once.has_only_copy)(broker), "the snapshot")
    found = once.registration(broker)
    values: dict[str, FactJson] = {
        "registration": found.state.value,
        "voter": found.voter,
        "replicas": found.replicas,
        "hidden": found.hidden,
        "runs": found.runs,
    }
    return Fact(key, values[name], "the record of the quorum")


def _about_client(once: FactReader, key: str, parts: FactKey) -> Fact:
    if parts.group:
        return _about_group(once, key, parts)
    state = once.reader.transaction(parts.transaction, int(parts.name))
    return Fact(key, None if state is None else state.text, TRANSACTIONS_TOPIC)


def _about_group(once: FactReader, key: str, parts: FactKey) -> Fact:
    if parts.tp is not None:
        return Fact(key, once.committed(parts.group, parts.tp), f"OffsetFetch of group {parts.group}")
    found, last = once.members(parts.group)
    waited_for = awaited(found.members, found.state, last.members, found.epoch)
    if not parts.member:
        if parts.name == "generation":
            return Fact(key, last.number, f"log of the offsets partition of group {parts.group}")
        value = found.state if parts.name == "state" else len(waited_for)
        return Fact(key, value, f"DescribeGroups of group {parts.group}")
    member = next((each for each in found.members if each.id == parts.member), None)
    values: dict[str, FactJson] = {}
    if member is not None:
        values = {"client": member.client, "host": member.host, "instance": member.instance or None}
        values["awaited"] = member in waited_for
    return Fact(key, values.get(parts.name), f"DescribeGroups of group {parts.group}")


def _about_cluster(once: FactReader, key: str, name: str) -> Fact:
    if name == "mode":
        return Fact(key, once.reader.identity().mode.value, "settings of the brokers")
    if name == "eligible_needed":
        found = once.reader.every_partition().values()
        return Fact(key, sum(each.eligible_needed is not False for each in found), _PARTITIONS)
    if name == "migrating":
        return Fact(key, once.reader.migrating(), "/migration and /controller")
    node = once.controller()
    source = "/controller" if name == "controller" else "/controller_epoch"
    return Fact(key, _CONTROLLER[name](node), source, node.epoch_version if source == "/controller_epoch" else None)


def _about_partition(once: FactReader, key: str, tp: TopicPartition, name: str) -> Fact:
    reading = once.partition(tp)
    if name in _STATE:
        return _of_state(key, reading, _STATE[name])
    if name in _ELIGIBLE:
        return Fact(key, None if reading.eligible is None else _ELIGIBLE[name](reading.eligible), _PARTITIONS)
    if name == "assignment":
        if reading.assignment is None:
            _no_gaps(reading, "the assignment")
        replicas = None if reading.assignment is None else reading.assignment.replicas
        return Fact(key, replicas, f"the record of {tp.topic}")
    if reading.registered is None:
        raise UnreachableError(_because(reading, "which brokers are registered"))
    if name == "live_isr":
        return _of_state(key, reading, lambda _: reading.live_isr)
    assigned = () if reading.assignment is None else reading.assignment.replicas
    return Fact(key, tuple(b for b in assigned if b in reading.registered), "the live brokers")


def _partition_count(once: FactReader, key: str, tp: TopicPartition) -> Fact:
    return Fact(key, once.reader.partition_count(tp.topic), f"partitions of {tp.topic}")


def _reassigning(once: FactReader, key: str, tp: TopicPartition) -> Fact:
    move = once.moves().get(tp)
    return Fact(key, None if move is None else move.replicas, _MOVES)


def _adding(once: FactReader, key: str, tp: TopicPartition) -> Fact:
    move = once.moves().get(tp)
    return Fact(key, None if move is None else move.adding, _MOVES)


def _removing(once: FactReader, key: str, tp: TopicPartition) -> Fact:
    move = once.moves().get(tp)
    return Fact(key, None if move is None else move.removing, _MOVES)


def _replica_bytes(once: FactReader, key: str, tp: TopicPartition) -> Fact:
    """The size of one replica on disk: the leader's, else any live one's; absent where no broker reports it."""
    reading = once.partition(tp)
    assigned = () if reading.assignment is None else reading.assignment.replicas
    leader = NO_LEADER if reading.state is None else reading.state.leader
    live = [b for b in assigned if b in (reading.registered or ())]
    for broker in sorted(live, key=lambda b: b != leader):
        dirs = once.log_dirs(broker)
        if dirs is not None and tp in dirs.sizes:
            return Fact(key, dirs.sizes[tp], f"log directories of broker {broker}")
    return Fact(key, None, "log directories")


def _log_tails(once: FactReader, key: str, tp: TopicPartition) -> Fact:
    """`2:5/10412 3:5/10398`: broker, epoch of its last record, log end, of every live replica."""
    reading = once.partition(tp)
    if reading.assignment is None or reading.registered is None:
        raise UnreachableError(_because(reading, "the live replicas"))
    live = tuple(b for b in reading.assignment.replicas if b in reading.registered)
    tails = once.reader.log_tails(tp, live)
    bad = [f"broker {b}: {tail.error}" for b, tail in tails.items() if tail.error]
    if bad:
        raise UnreachableError(f"{tp}: log ends: {'; '.join(bad)}")
    text = " ".join(f"{b}:{tails[b].epoch}/{tails[b].end}" for b in sorted(tails))
    return Fact(key, text, "each live replica")


def _load_conflicts(once: FactReader, key: str, tp: TopicPartition) -> Fact:
    found = once.reader.offsets_replay(tp)
    if found.missing:
        raise UnreachableError(f"{tp}: its log was not read to its end: {found.missing[0]}")
    return Fact(key, found.text, f"the log of {tp}")


def _hanging(once: FactReader, key: str, tp: TopicPartition) -> Fact:
    found = once.reader.hanging(tp)
    return Fact(key, None if found is None else found.text, f"{tp}, and the log of {TRANSACTIONS_TOPIC}")


# Facts that no reading of the partition holds.
_MOVES = "reassignments under way"
_ASKED_APART = {
    "partition_count": _partition_count,
    "reassigning": _reassigning,
    "adding": _adding,
    "removing": _removing,
    "replica_bytes": _replica_bytes,
    "log_tails": _log_tails,
    "load_conflicts": _load_conflicts,
    "hanging": _hanging,
}


def _of_state(key: str, reading: PartitionReading, value: Callable[[PartitionState], FactJson]) -> Fact:
    if reading.state is None:
        _no_gaps(reading, "the partition's state")
        return Fact(key, None, "the recorded state")
    return Fact(key, value(reading.state), "the recorded state", reading.state.version)


def _no_gaps(reading: PartitionReading, what: str) -> None:
    """A missing value is "absent" only where no source failed."""
    if reading.errors:
        raise UnreachableError(_because(reading, what))


def _because(reading: PartitionReading, what: str) -> str:
    why = "; ".join(reading.errors) or "no source reported it"
    return f"{reading.tp}: {what} could not be read: {why}"
