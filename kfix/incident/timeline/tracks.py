"""Observations of each partition, broker and controller over time; an unchanged state is one entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kfix.core.derive.record import record_of
from kfix.core.events import Observation
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.incident.timeline.when import stamped, states


@dataclass(slots=True)
class Tracks:
    """Observations by partition, by broker id (`leader` is the id while registered, else -1), and by controller."""

    partitions: dict[TopicPartition, list[Observation]] = field(default_factory=dict)
    brokers: dict[int, list[Observation]] = field(default_factory=dict)
    controller: list[Observation] = field(default_factory=list)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        at = snapshot.taken_at
        for tp, state in states(snapshot).items():
            since = stamped(state.mtime_ms, at)
            observation = Observation(at, since, state.leader, state.leader_epoch, state.isr, state.version)
            _add(self.partitions.setdefault(tp, []), observation)
        record = record_of(snapshot)
        if record is None:
            return
        for broker in record.registrations.keys() | self.brokers.keys() | _assigned(record):
            mine = record.registrations.get(broker)
            seen = self.brokers.setdefault(broker, [])
            if mine is None:
                _add(seen, Observation(at, None, -1, -1, None))
            else:
                _add(seen, Observation(at, stamped(mine.registered_ms, at), broker, mine.czxid, None, mine.czxid))
        controller = record.controller
        if controller is None:
            return
        epoch = controller.epoch
        if controller.node is None:
            _add(self.controller, Observation(at, None, -1, epoch, None, -1))
        else:
            since = stamped(controller.since_ms, at)
            _add(self.controller, Observation(at, since, controller.node, epoch, None, epoch))

    def add_partitions(self, entries: Iterable[tuple[TopicPartition, Observation]]) -> None:
        """Adds observations of partitions from log lines, in any order."""
        for tp, known in entries:
            self.partitions.setdefault(tp, []).append(known)

    def without(self, unwanted: Callable[[TopicPartition, float], bool]) -> None:
        """Removes observations for which `unwanted` is true, such as writes during the deletion of a topic."""
        for tp, known in self.partitions.items():
            self.partitions[tp] = [k for k in known if not unwanted(tp, k.at if k.since is None else k.since)] or known[
                :1
            ]

    def add_brokers(self, entries: Iterable[tuple[int, Observation]]) -> None:
        for broker, known in entries:
            self.brokers.setdefault(broker, []).append(known)


def _add(seen: list[Observation], observation: Observation) -> None:
    """Appends an observation, or extends the last one if nothing was written since; an outdated one is dropped."""
    if not seen:
        seen.append(observation)
        return
    last = seen[-1]
    if observation.version >= 0 and last.version > observation.version and observation.epoch <= last.epoch:
        return
    same = (last.leader, last.epoch, last.isr, last.version) == (
        observation.leader,
        observation.epoch,
        observation.isr,
        observation.version,
    )
    if same and observation.version >= 0:
        seen[-1] = last._replace(until=observation.at)
    else:
        seen.append(observation)


def _assigned(record: ClusterRecord) -> set[int]:
    return {broker for each in record.assignments.values() for broker in each.replicas}
