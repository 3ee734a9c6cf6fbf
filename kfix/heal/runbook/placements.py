"""The kinds of placement that a runbook may name: computed once while planning, and literal in the plan."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from kfix.core.args import ArgKind, Args
from kfix.core.derive.coordinator import INTERNAL_TOPICS
from kfix.core.derive.restoring import OffsetsItem
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.numbers import broker_id
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.core.wording import several
from kfix.heal.placement.raise_rf import raise_rf
from kfix.heal.placement.replace import replace_as, replace_brokers
from kfix.heal.placement.spread import preferred, spread
from kfix.heal.placement.world import Move, PlacementError, World, and_more
from kfix.heal.record import record_to_plan_with


@dataclass(frozen=True, slots=True)
class PlacementInput:
    """The snapshot of the whole cluster, and what an operator gave: moves (`--json-in`), offsets (`--offsets`)."""

    snapshot: Snapshot
    moves: tuple[tuple[TopicPartition, tuple[int, ...]], ...] = ()
    offsets: tuple[OffsetsItem, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """What a placement is computed from: the finding's partitions, the runbook's arguments, the given moves."""

    world: World
    tps: tuple[TopicPartition, ...]
    args: Args
    given: tuple[tuple[TopicPartition, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class PlacementKind:
    solve: Callable[[PlacementRequest], tuple[Move, ...]]
    params: Mapping[str, ArgKind] = field(default_factory=dict)
    optional: Mapping[str, ArgKind] = field(default_factory=dict)


def _raise_rf(request: PlacementRequest) -> tuple[Move, ...]:
    """Adds replicas. Preferred leaders of internal topics are rotated, so that coordinators are spread."""
    topic, rf = request.args.text("topic"), request.args.number("rf")
    tps = tuple(tp for tp in request.world.assignments if tp.topic == topic)
    above = [tp for tp in tps if len(request.world.assignments[tp]) > rf]
    if above:
        most = max(len(request.world.assignments[tp]) for tp in above)
        text = f"{and_more(above)}: up to {most} replicas already, more than {rf}; this runbook only adds replicas"
        raise PlacementError(f"{text}; to remove some, use move-replicas (--json-in FILE)")
    return raise_rf(request.world, tps, rf, rotate=topic in INTERNAL_TOPICS)


def _replace(request: PlacementRequest) -> tuple[Move, ...]:
    """Replaces brokers that are gone. `renamed`, such as `2=4 3=5`, means that broker 2 came back as broker 4.

    Without it any live broker may take the place. Only the brokers in `gone` or `renamed` are replaced: one that is
    merely down will come back with its records.
    """
    renamed = request.args.get("renamed", "")
    heirs = _heirs(str(renamed))
    alive = sorted(heirs.keys() & request.world.live.keys())
    if alive:
        raise PlacementError(f"renamed: broker {alive[0]} is alive under its own id, so it was not replaced")
    tps = _led(request)
    lost = frozenset(request.args.brokers("gone"))
    gone = {b for tp in tps for b in request.world.assignments.get(tp, ()) if b in lost} - request.world.live.keys()
    moves = tuple(m for m in replace_as(request.world, heirs) if m.tp in tps) if heirs else ()
    rest = tuple(tp for tp in tps if tp not in {m.tp for m in moves})
    return (*moves, *replace_brokers(request.world, frozenset(gone - heirs.keys()), rest))


def _led(request: PlacementRequest) -> tuple[TopicPartition, ...]:
    """Returns the partitions with a leader, from which copies can be made.

    Raises PlacementError for those without one, unless the runbook's parameter leaves them out.
    """
    led = tuple(tp for tp in request.tps if tp in request.world.leaders)
    dark = tuple(tp for tp in request.tps if tp not in request.world.leaders)
    if not dark or (led and request.args.get("without_copy") == "leave"):
        return led
    gone = sorted({b for tp in dark for b in request.world.assignments.get(tp, ())} - request.world.live.keys())
    text = (
        f"{and_more(dark)}: no leader, so there is nothing to copy from: one of brokers {gone} must come back under "
        "its old id with its old disk"
    )
    rest = f"; -p without_copy=leave handles only the other {several(len(led), 'partition')}" if led else ""
    raise PlacementError(text + rest)


def _heirs(text: str) -> dict[int, int]:
    heirs: dict[int, int] = {}
    for word in text.split():
        old, equals, new = word.partition("=")
        before, after = broker_id(old), broker_id(new)
        if not equals or before is None or after is None:
            raise PlacementError(f"renamed: {word!r} is not OLD=NEW such as 2=4")
        heirs[before] = after
    return heirs


def _given(request: PlacementRequest) -> tuple[Move, ...]:
    unknown = [tp for tp, _ in request.given if tp not in request.world.assignments]
    if unknown:
        raise PlacementError(f"unknown partition {unknown[0]}")
    if not request.given:
        raise PlacementError("no moves were given: --json-in FILE")
    before = request.world.assignments
    return tuple(Move(tp, before[tp], replicas) for tp, replicas in request.given if before[tp] != replicas)


KINDS: Mapping[str, PlacementKind] = {
    "raise_rf": PlacementKind(_raise_rf, {"topic": ArgKind.TOPIC, "rf": ArgKind.INT}),
    "replace": PlacementKind(
        _replace, {"gone": ArgKind.BROKERS}, {"renamed": ArgKind.TEXT, "without_copy": ArgKind.TEXT}
    ),
    "spread": PlacementKind(lambda request: spread(request.world, request.tps)),
    "preferred": PlacementKind(lambda request: preferred(request.world, request.tps)),
    "given": PlacementKind(_given),
}


def place(kind: str, request: PlacementRequest) -> tuple[Move, ...]:
    try:
        return tuple(sorted(KINDS[kind].solve(request), key=lambda m: m.tp))
    except PlacementError as error:
        raise RefusedError(f"placement {kind}: {error}") from error


def _sizes(brokers: Iterable[int], reader: ClusterReader) -> Mapping[TopicPartition, int]:
    sizes: dict[TopicPartition, int] = {}
    for broker in brokers:
        try:
            found = reader.log_dirs(broker).sizes
        except UnreachableError:
            continue
        for tp, size in found.items():
            sizes[tp] = max(size, sizes.get(tp, 0))
    return sizes


def world_of(snapshot: Snapshot, reader: ClusterReader | None) -> World:
    """Returns what placements are computed from. Sizes that a broker does not report stay unknown, never 0,
    as do all of them without a reader.

    Raises UnreachableError if the record of the cluster was not read.
    """
    record = record_to_plan_with(snapshot)
    if record is None:
        raise UnreachableError("the assignments of replicas could not be read, so no placement can be computed")
    return World(
        live={b: r.rack for b, r in record.registrations.items()},
        assignments={tp: a.replicas for tp, a in record.assignments.items()},
        leaders={tp: s.leader for tp, s in record.states.items() if s.leader in record.registrations},
        isr={tp: s.isr for tp, s in record.states.items()},
        sizes={} if reader is None else _sizes(record.registrations, reader),
    )
