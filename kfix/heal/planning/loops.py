"""The items that a runbook's loops iterate over, found once while planning."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from kfix.core.derive.restoring import OffsetsItem
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.reading import NodeName, ResourceKind
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.placement.impact import batches, throttled
from kfix.heal.placement.world import Move, World
from kfix.heal.planning.rolling import others_of, restart_order
from kfix.heal.probes.configs import THROTTLES
from kfix.heal.probes.groups import to_text
from kfix.heal.record import record_to_plan_with
from kfix.heal.runbook.placements import PlacementInput, world_of
from kfix.heal.runbook.references import SAVED_OFFSETS, Value

_NOTHING = {
    "placement.moves": "no replica needs to move",
    "cluster.throttled": "no replication throttle is set",
    SAVED_OFFSETS: "every saved offset is committed already, or left out",
    "cluster.unpreferred": "every preferred replica that is alive and in sync already leads",
}


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a loop. `suffix` distinguishes the ids of its steps; `values` holds its parts by name."""

    suffix: str
    values: Mapping[str, Value]


class Items:
    def __init__(
        self, partitions: tuple[TopicPartition, ...], reader: ClusterReader, placement_input: PlacementInput | None
    ) -> None:
        self.partitions = partitions
        self.reader = reader
        self.placement_input = placement_input
        self.moves: tuple[Move, ...] = ()

    def of(self, source: str, name: str) -> tuple[Item, ...]:
        match source:
            case "finding.partitions":
                return tuple(_partition(name, tp) for tp in self.partitions)
            case "placement.moves":
                return tuple(self._move(name, m) for m in self.moves)
            case "placement.brokers":
                copying = [m for m in self.moves if m.adding]
                brokers = {b for m in copying for b in (*m.before, *m.adding)} & self.world.live.keys()
                return tuple(Item(str(b), {name: b}) for b in sorted(brokers))
            case "placement.topics":
                return tuple(
                    Item(topic, {f"{name}.name": topic, f"{name}.leaders": leaders, f"{name}.followers": followers})
                    for topic, (leaders, followers) in throttled(self.moves).items()
                )
        return self._of_cluster(source, name)

    def _of_cluster(self, source: str, name: str) -> tuple[Item, ...]:
        match source:
            case "cluster.throttled":
                return tuple(
                    Item(f"{kind.value}-{owner}", {f"{name}.kind": kind.value, f"{name}.name": owner})
                    for kind, owner in self._throttled()
                )
            case "cluster.unpreferred":
                return tuple(_partition(name, tp) for tp in self._unpreferred())
            case "cluster.nodes":
                order = restart_order(self._seen.snapshot)
                return tuple(_node(name, each, others_of(each, order)) for each in order)
            case "saved.offsets":
                return tuple(_offsets(name, each) for each in self._seen.offsets)
            case "logged.offsets":
                return tuple(_offsets(name, each) for each in self._logged)
        raise ValueError(f"no source of items {source!r}")

    def portions(self, source: str, name: str, size: int, canary: int) -> Iterator[tuple[Item, ...]]:
        """Yields batches. Of moves the smallest is the canary, of other items the first."""
        if source == "placement.moves" and self.moves:
            # A partition without a leader cannot be copied; as the canary it would stop the others.
            able = [m for m in self.moves if m.tp in self.world.leaders]
            unable = [m for m in self.moves if m.tp not in self.world.leaders]
            for some, alone in ((able, canary), (unable, 0)):
                for batch in batches(some, size, alone, self.world.sizes) if some else ():
                    yield tuple(self._move(name, m) for m in batch)
            return
        items = self.of(source, name)
        first, rest = items[:canary], items[canary:]
        if first:
            yield first
        for start in range(0, len(rest), size):
            yield rest[start : start + size]

    def nothing(self, sources: Iterable[str]) -> str:
        """Returns why there is nothing to do if the goal loops over items and there are none, else ""."""
        return next((why for source in sources if (why := _NOTHING.get(source)) and not self.of(source, "")), "")

    @cached_property
    def world(self) -> World:
        return world_of(self._seen.snapshot, self.reader)

    @cached_property
    def _logged(self) -> tuple[OffsetsItem, ...]:
        """Returns the committed offsets in the partitions' logs, except those that an open transaction may replace."""
        found: dict[tuple[str, str], dict[TopicPartition, StoredOffset]] = {}
        for tp in self.partitions:
            read = self.reader.offsets_replay(tp)
            if read.missing:
                raise UnreachableError(f"{tp}: its log was not read to its end: {read.missing[0]}")
            for group in read.groups:
                for of, each in group.offsets.items():
                    if group.name not in read.pending:
                        found.setdefault((group.name, of.topic), {})[of] = each.stored
        return tuple(OffsetsItem(*owner, offsets) for owner, offsets in sorted(found.items()))

    @property
    def _seen(self) -> PlacementInput:
        if self.placement_input is None:
            raise RefusedError("this runbook needs a snapshot of the whole cluster, and none was given")
        return self.placement_input

    def _move(self, name: str, move: Move) -> Item:
        return Item(str(move.tp), {f"{name}.partition": move.tp, f"{name}.replicas": move.replicas})

    def _throttled(self) -> Iterator[tuple[ResourceKind, str]]:
        record = record_to_plan_with(self._seen.snapshot)
        if record is None:
            raise UnreachableError("the lists of brokers and topics could not be read")
        for broker in sorted(record.registrations):
            found = self.reader.configs(ResourceKind.BROKER, str(broker), THROTTLES[ResourceKind.BROKER])
            if any(value.own for value in found.values()):
                yield ResourceKind.BROKER, str(broker)
        for topic in sorted({tp.topic for tp in record.assignments}):
            if self._is_throttled(topic, record):
                yield ResourceKind.TOPIC, topic

    def _is_throttled(self, topic: str, record: ClusterRecord) -> bool:
        keys = THROTTLES[ResourceKind.TOPIC]
        if record.topic_settings is not None:
            return any(key in record.topic_settings.get(topic, {}) for key in keys)
        return any(value.own for value in self.reader.configs(ResourceKind.TOPIC, topic, keys).values())

    def _unpreferred(self) -> Iterator[TopicPartition]:
        """Yields the partitions whose preferred replica is alive and in sync but does not lead."""
        world = self.world
        for tp in sorted(self.partitions or world.assignments):
            replicas = world.assignments.get(tp, ())
            first = replicas[0] if replicas else -1
            if first in world.live and first in world.isr.get(tp, ()) and world.leaders.get(tp) != first:
                yield tp


def _offsets(name: str, each: OffsetsItem) -> Item:
    values = {f"{name}.group": each.group, f"{name}.topic": each.topic, f"{name}.offsets": to_text(each.offsets)}
    return Item(f"{each.group}/{each.topic}", values)


def _node(name: str, node: NodeName, others: tuple[int, ...]) -> Item:
    role, number = node
    values: dict[str, Value] = {f"{name}.role": role.value, f"{name}.number": number, f"{name}.others": others}
    return Item(f"{role.value}-{number}", values)


def _partition(name: str, tp: TopicPartition) -> Item:
    return Item(str(tp), {name: tp, f"{name}.topic": tp.topic})
