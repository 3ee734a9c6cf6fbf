"""Reads facts fresh. One reading of a partition answers all of its facts that are asked for in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, cast

from kfix.core.derive.coordinator import TRANSACTIONS_TOPIC
from kfix.core.derive.loss import lost_since
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.group_reading import awaited
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.reading import NodeLevels, PartitionReading
from kfix.core.snapshot.recovery import AppliedMetadata, copies_text, offsets_text, partitions_text
from kfix.core.snapshot.snapshot import NO_LEADER, Assignment, ControllerNode, PartitionState, Snapshot, TopicPartition
from kfix.core.snapshot.voters import joining_text, voters_text
from kfix.core.wording import some
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
_APPLIED: Mapping[str, Callable[[AppliedMetadata], FactJson]] = {
    "applied": lambda found: offsets_text(found.offsets),
    "partitions": lambda found: partitions_text(found.partitions),
}
#: Of the moves under way.
_MOVES: Mapping[str, Callable[[Assignment], FactJson]] = {
    "reassigning": lambda move: move.replicas,
    "adding": lambda move: move.adding,
    "removing": lambda move: move.removing,
}


class _Once:
    """A reader that asks each question once, and remembers the answer, also that there was none."""

    def __init__(self, reader: ClusterReader) -> None:
        self._reader = reader
        self._answers: dict[tuple[Any, ...], Any] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def ask(*args: Any) -> Any:
            question = name, *args
            if question not in self._answers:
                try:
                    self._answers[question] = getattr(self._reader, name)(*args)
                except UnreachableError as error:
                    self._answers[question] = error
            answer = self._answers[question]
            if isinstance(answer, UnreachableError):
                raise answer
            return answer

        return ask


def once(reader: ClusterReader) -> ClusterReader:
    """Returns a reader of one moment: what is read through it together was true together."""
    return cast("ClusterReader", _Once(reader))


def read_facts(reader: ClusterReader, keys: Iterable[str]) -> dict[str, Fact]:
    """Returns all of these facts; raises UnreachableError where one source does not answer."""
    read = FactReader(reader)
    return {key: read(key) for key in dict.fromkeys(keys)}


class FactReader:
    """Reads facts of one moment. `snapshot` shows which brokers did not answer, and which disks alone have records."""

    def __init__(self, reader: ClusterReader, snapshot: Snapshot | None = None) -> None:
        self.reader = once(reader)
        self.snapshot = snapshot
        self._found: dict[str, Fact] = {}

    def __call__(self, key: str) -> Fact:
        if key not in self._found:
            self._found[key] = Fact(key, *_read(self, split_key(key)))
        return self._found[key]

    @cached_property
    def holders(self) -> frozenset[int]:
        """The brokers whose disks alone have some records."""
        lost = () if self.snapshot is None else lost_since(self.snapshot)
        return frozenset(holder for each in lost for holder in each.holders)


class _Found(NamedTuple):
    value: FactJson
    source: str
    version: int | None = None


def _read(read: FactReader, key: FactKey) -> _Found:
    reader = read.reader
    if key.resource is not None:
        kind, owner = key.resource
        found = reader.configs(kind, owner, (key.name,)).get(key.name)
        return _Found((own_value if key.own else effective_value)(found, key.name), f"config of {key.owner}")
    if key.group:
        return _about_group(reader, key)
    if key.transaction or key.folders:
        return _about_copies_or_transaction(reader, key)
    if key.broker is not None:
        return _about_broker(read, key.broker, key.name)
    if key.tp is None:
        return _about_cluster(reader, key.name)
    return _ASKED_APART.get(key.name, _about_partition)(reader, key.tp, key.name)


def _about_copies_or_transaction(reader: ClusterReader, key: FactKey) -> _Found:
    if key.folders:
        return _Found(copies_text(reader.metadata_copies(tuple(key.folders.split(",")))), "the disks of this host")
    state = reader.transaction(key.transaction, int(key.name))
    return _Found(None if state is None else state.text, TRANSACTIONS_TOPIC)


def _about_broker(read: FactReader, broker: int, name: str) -> _Found:
    if name == "registered":
        return _Found(broker in read.reader.registered_brokers(), "the live brokers")
    if name == "hung":
        return _Found(read.snapshot is not None and broker in read.snapshot.silent, "the snapshot")
    if name == "only_copy":
        return _Found(broker in read.holders, "the snapshot")
    found = read.reader.registration(broker)
    values: dict[str, FactJson] = {
        "registration": found.state.value,
        "voter": found.voter,
        "replicas": found.replicas,
        "hidden": found.hidden,
        "runs": found.runs,
    }
    return _Found(values[name], "the record of the quorum")


def _about_group(reader: ClusterReader, key: FactKey) -> _Found:
    if key.tp is not None:
        return _Found(_committed(reader, key.group, key.tp), f"OffsetFetch of group {key.group}")
    found, last = reader.group_members(key.group), reader.last_generation(key.group)
    waited_for = awaited(found.members, found.state, last.members, found.epoch)
    source = f"DescribeGroups of group {key.group}"
    if not key.member:
        if key.name == "generation":
            return _Found(last.number, f"log of the offsets partition of group {key.group}")
        return _Found(found.state if key.name == "state" else len(waited_for), source)
    member = next((each for each in found.members if each.id == key.member), None)
    values: dict[str, FactJson] = {}
    if member is not None:
        values = {"client": member.client, "host": member.host, "instance": member.instance or None}
        values["awaited"] = member in waited_for
    return _Found(values.get(key.name), source)


def _committed(reader: ClusterReader, group: str, tp: TopicPartition) -> str | None:
    """All partitions of the topic are asked for at once. Raises UnreachableError for a pending offset."""
    count = reader.partition_count(tp.topic) or 0
    found = reader.group(group, tuple(TopicPartition(tp.topic, n) for n in range(max(count, tp.partition + 1))))
    if tp in found.unstable:
        raise UnreachableError(f"group {group}: an open transaction holds its offset of {tp}")
    stored = found.committed.get(tp)
    return None if stored is None else stored.text


def _about_cluster(reader: ClusterReader, name: str) -> _Found:
    if name == "eligible_needed":
        found = reader.every_partition().values()
        return _Found(sum(each.eligible_needed is not False for each in found), _PARTITIONS)
    if name == "migrating":
        return _Found(reader.migrating(), "/migration and /controller")
    if name in _AT_ONCE:
        return _AT_ONCE[name](reader)
    if name in _APPLIED:
        return _Found(_APPLIED[name](reader.applied()), "each broker")
    node = reader.controller()
    if name == "controller":
        return _Found(node.broker, "/controller")
    return _Found(_CONTROLLER[name](node), "/controller_epoch", node.epoch_version)


def _start_mark(reader: ClusterReader) -> _Found:
    mark = reader.start_mark()
    return _Found(f"{mark.number}@{mark.epoch}", "the record in which nodes register")


def levels_of(reader: ClusterReader) -> dict[str, NodeLevels]:
    """Returns {node, such as `broker 1`: its levels}. Raises UnreachableError if one of them is unknown."""
    found = {f"{role.value} {node}": each for (role, node), each in reader.metadata_levels().items()}
    if unread := [f"{name}: {each.error}" for name, each in found.items() if each.error]:
        raise UnreachableError(f"metadata.version is unknown of {some(unread)}")
    return found


_AT_ONCE: Mapping[str, Callable[[ClusterReader], _Found]] = {
    "mode": lambda reader: _Found(reader.identity().mode.value, "settings of the brokers"),
    "restart_command": lambda reader: _Found(reader.restart_command(), "the inventory"),
    "upgrade_command": lambda reader: _Found(reader.upgrade_command(), "the inventory"),
    "start_mark": _start_mark,
    "voters": lambda reader: _Found(voters_text(reader.voters().voters), "the active controller"),
    "joining": lambda reader: _Found(joining_text(reader.voters().joining), "the active controller"),
    "registered_brokers": lambda reader: _Found(tuple(sorted(reader.registered_brokers())), "the live brokers"),
    "metadata_version": lambda reader: _Found(max(x.in_force for x in levels_of(reader).values()), "each node"),
    "supported_metadata_version": lambda reader: _Found(
        min(x.supported for x in levels_of(reader).values()), "each node"
    ),
}


def _about_partition(reader: ClusterReader, tp: TopicPartition, name: str) -> _Found:
    reading = reader.recorded(tp)
    if name in _STATE:
        return _of_state(reading, _STATE[name])
    if name in _ELIGIBLE:
        return _Found(None if reading.eligible is None else _ELIGIBLE[name](reading.eligible), _PARTITIONS)
    if name == "assignment":
        if reading.assignment is None:
            _no_gaps(reading, "the assignment")
        return _Found(None if reading.assignment is None else _assigned(reading), f"the record of {tp.topic}")
    if reading.registered is None:
        raise UnreachableError(_because(reading, "which brokers are registered"))
    if name == "live_isr":
        return _of_state(reading, lambda _: reading.live_isr)
    return _Found(tuple(b for b in _assigned(reading) if b in reading.registered), "the live brokers")


def _assigned(reading: PartitionReading) -> tuple[int, ...]:
    return () if reading.assignment is None else reading.assignment.replicas


def _of_state(reading: PartitionReading, value: Callable[[PartitionState], FactJson]) -> _Found:
    if reading.state is None:
        _no_gaps(reading, "the partition's state")
        return _Found(None, "the recorded state")
    return _Found(value(reading.state), "the recorded state", reading.state.version)


def _no_gaps(reading: PartitionReading, what: str) -> None:
    """A missing value is "absent" only where no source failed."""
    if reading.errors:
        raise UnreachableError(_because(reading, what))


def _because(reading: PartitionReading, what: str) -> str:
    why = "; ".join(reading.errors) or "no source reported it"
    return f"{reading.tp}: {what} could not be read: {why}"


def _partition_count(reader: ClusterReader, tp: TopicPartition, _name: str) -> _Found:
    return _Found(reader.partition_count(tp.topic), f"partitions of {tp.topic}")


def _of_move(reader: ClusterReader, tp: TopicPartition, name: str) -> _Found:
    move = reader.reassignments().get(tp)
    return _Found(None if move is None else _MOVES[name](move), "reassignments under way")


def _replica_bytes(reader: ClusterReader, tp: TopicPartition, _name: str) -> _Found:
    """The size of one replica on disk: the leader's, else any live one's; absent where no broker reports it."""
    reading = reader.recorded(tp)
    leader = NO_LEADER if reading.state is None else reading.state.leader
    live = [b for b in _assigned(reading) if b in (reading.registered or ())]
    for broker in sorted(live, key=lambda b: b != leader):
        try:
            sizes = reader.log_dirs(broker).sizes
        except UnreachableError:
            continue
        if tp in sizes:
            return _Found(sizes[tp], f"log directories of broker {broker}")
    return _Found(None, "log directories")


def _log_tails(reader: ClusterReader, tp: TopicPartition, _name: str) -> _Found:
    """`2:5/10412 3:5/10398`: broker, epoch of its last record, log end, of every live replica."""
    reading = reader.recorded(tp)
    if reading.assignment is None or reading.registered is None:
        raise UnreachableError(_because(reading, "the live replicas"))
    live = tuple(b for b in reading.assignment.replicas if b in reading.registered)
    tails = reader.log_tails(tp, live)
    bad = [f"broker {b}: {tail.error}" for b, tail in tails.items() if tail.error]
    if bad:
        raise UnreachableError(f"{tp}: log ends: {'; '.join(bad)}")
    return _Found(" ".join(f"{b}:{tails[b].epoch}/{tails[b].end}" for b in sorted(tails)), "each live replica")


def _load_conflicts(reader: ClusterReader, tp: TopicPartition, _name: str) -> _Found:
    found = reader.offsets_replay(tp)
    if found.missing:
        raise UnreachableError(f"{tp}: its log was not read to its end: {found.missing[0]}")
    return _Found(found.text, f"the log of {tp}")


def _hanging(reader: ClusterReader, tp: TopicPartition, _name: str) -> _Found:
    found = reader.hanging(tp)
    return _Found(None if found is None else found.text, f"{tp}, and the log of {TRANSACTIONS_TOPIC}")


# Facts that no reading of the partition holds.
_ASKED_APART = {
    "partition_count": _partition_count,
    **dict.fromkeys(_MOVES, _of_move),
    "replica_bytes": _replica_bytes,
    "log_tails": _log_tails,
    "load_conflicts": _load_conflicts,
    "hanging": _hanging,
}
