"""The kinds of placement that a runbook may ask for: computed once, while planning, and frozen into literal moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kfix.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.errors import RefusedError, UnreachableError
from kfix.model.cluster.snapshot import Snapshot, TopicPartition
from kfix.model.numbers import broker_id
from kfix.model.plan.args import ArgKind, Args
from kfix.placement.raise_rf import change_rf
from kfix.placement.replace import replace_as, replace_brokers
from kfix.placement.spread import preferred, spread
from kfix.placement.world import Move, PlacementError, World, and_more
from kfix.ports import ClusterReader

_INTERNAL = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC})


@dataclass(frozen=True, slots=True)
class PlacementInput:
    """What the planner saw of the whole cluster, and the moves that a person brought along (`--json-in`)."""

    snapshot: Snapshot
    moves: tuple[tuple[TopicPartition, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """What a placement is computed from: the finding's partitions and the runbook's arguments."""

    world: World
    tps: tuple[TopicPartition, ...]
    args: Args
    given: tuple[tuple[TopicPartition, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class PlacementKind:
    solve: Callable[[Wish], tuple[Move, ...]]
    params: Mapping[str, ArgKind] = field(default_factory=dict)
    optional: Mapping[str, ArgKind] = field(default_factory=dict)


def _raise_rf(wish: Wish) -> tuple[Move, ...]:
    """Preferred leaders of internal topics are rotated, or one broker coordinates everything."""
    topic, rf = wish.args.text("topic"), wish.args.number("rf")
    tps = tuple(tp for tp in wish.world.assignments if tp.topic == topic)
    above = [tp for tp in tps if len(wish.world.assignments[tp]) > rf]
    if above:
        most = max(len(wish.world.assignments[tp]) for tp in above)
        text = f"{and_more(above)}: up to {most} replicas, more than {rf}: to raise takes none away"
        raise PlacementError(f"{text}; fewer replicas are move-replicas' business (--json-in FILE)")
    return change_rf(wish.world, tps, rf, rotate=topic in _INTERNAL)


def _replace(wish: Wish) -> tuple[Move, ...]:
    """`renamed` as `2=4 3=5`: broker 2 was created again as broker 4. Without it any live broker may stand in.

    Only ids of `gone`, or that are named there, are replaced: a broker that is merely down comes back with its records.
    """
    renamed = wish.args.get("renamed", "")
    heirs = _heirs(str(renamed))
    alive = sorted(heirs.keys() & wish.world.live.keys())
    if alive:
        raise PlacementError(f"renamed: broker {alive[0]} is alive under its own id: nobody took its place")
    tps = _led(wish)
    lost = frozenset(wish.args.brokers("gone"))
    gone = {b for tp in tps for b in wish.world.assignments.get(tp, ()) if b in lost} - wish.world.live.keys()
    moves = tuple(m for m in replace_as(wish.world, heirs) if m.tp in tps) if heirs else ()
    rest = tuple(tp for tp in tps if tp not in {m.tp for m in moves})
    return (*moves, *replace_brokers(wish.world, frozenset(gone - heirs.keys()), rest))


def _led(wish: Wish) -> tuple[TopicPartition, ...]:
    """Copies are made from a leader. Partitions without one are refused by name, or left where that was asked for."""
    led = tuple(tp for tp in wish.tps if tp in wish.world.leaders)
    dark = tuple(tp for tp in wish.tps if tp not in wish.world.leaders)
    if not dark or (led and wish.args.get("without_copy") == "leave"):
        return led
    gone = sorted({b for tp in dark for b in wish.world.assignments.get(tp, ())} - wish.world.live.keys())
    text = (
        f"{and_more(dark)}: no leader, so there is nothing to copy from: a broker of {gone} must come back under its "
        "old id with its old disk"
    )
    rest = f"; -p without_copy=leave replaces those of the other {len(led)}" if led else ""
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


def _given(wish: Wish) -> tuple[Move, ...]:
    unknown = [tp for tp, _ in wish.given if tp not in wish.world.assignments]
    if unknown:
        raise PlacementError(f"there is no partition {unknown[0]}")
    if not wish.given:
        raise PlacementError("no moves were given: --json-in FILE")
    before = wish.world.assignments
    return tuple(Move(tp, before[tp], replicas) for tp, replicas in wish.given if before[tp] != replicas)


KINDS: Mapping[str, PlacementKind] = {
    "raise_rf": PlacementKind(_raise_rf, {"topic": ArgKind.TOPIC, "rf": ArgKind.INT}),
    "replace": PlacementKind(
        _replace, {"gone": ArgKind.BROKERS}, {"renamed": ArgKind.TEXT, "without_copy": ArgKind.TEXT}
    ),
    "spread": PlacementKind(lambda wish: spread(wish.world, wish.tps)),
    "preferred": PlacementKind(lambda wish: preferred(wish.world, wish.tps)),
    "given": PlacementKind(_given),
}


def place(kind: str, wish: Wish) -> tuple[Move, ...]:
    try:
        return tuple(sorted(KINDS[kind].solve(wish), key=lambda m: m.tp))
    except PlacementError as error:
        raise RefusedError(f"placement {kind}: {error}") from error


def world_of(snapshot: Snapshot, reader: ClusterReader) -> World:
    """Sizes are asked of the live brokers; one that does not tell leaves them unknown, never 0."""
    zookeeper = snapshot.zookeeper
    if zookeeper is None:
        raise UnreachableError("where replicas lie was not read, so nothing can be placed")
    sizes: dict[TopicPartition, int] = {}
    for broker in zookeeper.registrations:
        try:
            found = reader.log_dirs(broker).sizes
        except UnreachableError:
            continue
        for tp, size in found.items():
            sizes[tp] = max(size, sizes.get(tp, 0))
    return World(
        live={b: r.rack for b, r in zookeeper.registrations.items()},
        assignments={tp: a.replicas for tp, a in zookeeper.assignments.items()},
        leaders={tp: s.leader for tp, s in zookeeper.states.items() if s.leader in zookeeper.registrations},
        isr={tp: s.isr for tp, s in zookeeper.states.items()},
        sizes=sizes,
    )
