"""Reads facts fresh. One reading of a partition answers all of its facts that are asked for in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kfix.errors import UnreachableError
from kfix.model.facts import Fact, FactJson, split_key
from kfix.model.reading import PartitionReading
from kfix.model.snapshot import ControllerNode, PartitionState, TopicPartition
from kfix.ports import ClusterReader

_STATE: Mapping[str, Callable[[PartitionState], FactJson]] = {
    "leader": lambda state: state.leader,
    "leader_epoch": lambda state: state.leader_epoch,
    "isr": lambda state: state.isr,
}
_CONTROLLER: Mapping[str, Callable[[ControllerNode], FactJson]] = {
    "controller": lambda node: node.broker,
    "controller_epoch": lambda node: node.epoch,
    "controller_epoch_version": lambda node: node.epoch_version,
}


def read_facts(reader: ClusterReader, keys: Iterable[str]) -> dict[str, Fact]:
    """All or nothing: a source that does not answer raises `UnreachableError`."""
    read = FactReader(reader)
    return {key: read(key) for key in dict.fromkeys(keys)}


class FactReader:
    """One look: remembers its readings, so that facts read together were true together."""

    def __init__(self, reader: ClusterReader) -> None:
        self.reader = reader
        self._found: dict[str, Fact] = {}
        self._partitions: dict[TopicPartition, PartitionReading] = {}
        self._controller: ControllerNode | None = None
        self._registered: frozenset[int] | None = None

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

    def registered(self) -> frozenset[int]:
        if self._registered is None:
            self._registered = self.reader.registered_brokers()
        return self._registered


def _read(once: FactReader, key: str) -> Fact:
    parts = split_key(key)
    if parts.resource is not None:
        kind, owner = parts.resource
        found = once.reader.configs(kind, owner, (parts.name,)).get(parts.name)
        return Fact(key, found.value if found is not None and found.own else None, f"config of {parts.owner}")
    if parts.broker is not None:
        return Fact(key, parts.broker in once.registered(), "/brokers/ids")
    if parts.tp is None:
        return _about_cluster(once, key, parts.name)
    if parts.name in _ASKED_APART:
        return _ASKED_APART[parts.name](once.reader, key, parts.tp)
    return _about_partition(once, key, parts.tp, parts.name)


def _about_cluster(once: FactReader, key: str, name: str) -> Fact:
    if name == "migrating":
        return Fact(key, once.reader.migrating(), "/migration and /controller")
    node = once.controller()
    source = "/controller" if name == "controller" else "/controller_epoch"
    return Fact(key, _CONTROLLER[name](node), source, node.epoch_version if source == "/controller_epoch" else None)


def _about_partition(once: FactReader, key: str, tp: TopicPartition, name: str) -> Fact:
    reading = once.partition(tp)
    if name in _STATE:
        return _of_state(key, reading, _STATE[name])
    if name == "assignment":
        if reading.assignment is None:
            _no_gaps(reading, "the assignment")
        replicas = None if reading.assignment is None else reading.assignment.replicas
        return Fact(key, replicas, f"/brokers/topics/{tp.topic}")
    if reading.registered is None:
        raise UnreachableError(_because(reading, "which brokers are registered"))
    if name == "live_isr":
        return _of_state(key, reading, lambda _: reading.live_isr)
    assigned = () if reading.assignment is None else reading.assignment.replicas
    return Fact(key, tuple(b for b in assigned if b in reading.registered), "/brokers/ids")


def _partition_count(reader: ClusterReader, key: str, tp: TopicPartition) -> Fact:
    return Fact(key, reader.partition_count(tp.topic), f"partitions of {tp.topic}")


def _reassigning(reader: ClusterReader, key: str, tp: TopicPartition) -> Fact:
    move = reader.reassignments().get(tp)
    return Fact(key, None if move is None else move.replicas, "reassignments under way")


def _log_tails(reader: ClusterReader, key: str, tp: TopicPartition) -> Fact:
    """`2:5/10412 3:5/10398`: broker, epoch of its last record, log end, of every live replica."""
    reading = reader.recorded(tp)
    if reading.assignment is None or reading.registered is None:
        raise UnreachableError(_because(reading, "the live replicas"))
    live = tuple(b for b in reading.assignment.replicas if b in reading.registered)
    tails = reader.log_tails(tp, live)
    bad = [f"broker {b}: {tail.error}" for b, tail in tails.items() if tail.error]
    if bad:
        raise UnreachableError(f"{tp}: log ends: {'; '.join(bad)}")
    text = " ".join(f"{b}:{tails[b].epoch}/{tails[b].end}" for b in sorted(tails))
    return Fact(key, text, "each live replica")


# Facts that no reading of the partition holds.
_ASKED_APART = {"partition_count": _partition_count, "reassigning": _reassigning, "log_tails": _log_tails}


def _of_state(key: str, reading: PartitionReading, value: Callable[[PartitionState], FactJson]) -> Fact:
    if reading.state is None:
        _no_gaps(reading, "the partition's state")
        return Fact(key, None, "state znode")
    return Fact(key, value(reading.state), "state znode", reading.state.version)


def _no_gaps(reading: PartitionReading, what: str) -> None:
    """A missing value is "absent" only where no source failed."""
    if reading.errors:
        raise UnreachableError(_because(reading, what))


def _because(reading: PartitionReading, what: str) -> str:
    why = "; ".join(reading.errors) or "no source told it"
    return f"{reading.tp}: {what} could not be read: {why}"
