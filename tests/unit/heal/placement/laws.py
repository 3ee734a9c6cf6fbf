"""What must hold on any cluster. Each function plans, and asserts; a refusal must have its reason."""

from __future__ import annotations

from collections import Counter

from kfix.heal.placement.impact import batches
from kfix.heal.placement.judge import PlacementSeverity, judge
from kfix.heal.placement.raise_rf import raise_rf
from kfix.heal.placement.reassignment_json import parse, render
from kfix.heal.placement.replace import replace_as, replace_brokers
from kfix.heal.placement.spread import preferred, spread
from kfix.heal.placement.world import Move, PlacementError, World, most_racks, racks_of
from tests.unit.heal.placement.clusters import applied, shuffled


def hold(world: World, rf: int, gone: frozenset[int]) -> None:
    for rotate in (False, True):
        law_of_factors(world, rf, rotate)
    law_of_replacing(world, gone)
    law_of_heirs(world, gone)
    law_of_spreading(world)
    law_of_leaders(world)


def sound(world: World, moves: tuple[Move, ...], *, racks_may_fall: bool = False) -> None:
    """Of every plan."""
    assert [m.tp for m in moves] == sorted({m.tp for m in moves})
    for move in moves:
        assert move.before == world.assignments[move.tp]
        assert move.replicas != move.before
        assert len(set(move.replicas)) == len(move.replicas)
        assert set(move.adding) <= world.live.keys()
        if not racks_may_fall:
            assert len(racks_of(world, move.replicas)) >= len(racks_of(world, move.before))
    pairs = tuple((move.tp, move.replicas) for move in moves)
    assert [p for p in judge(pairs, world) if p.severity is PlacementSeverity.ERROR] == []
    assert parse(render(pairs), "x") == pairs
    assert render(reversed(pairs)) == render(pairs)
    portions = batches(moves, 3, 2, world.sizes)
    assert sorted((m for portion in portions for m in portion), key=lambda m: m.tp) == list(moves)


def law_of_factors(world: World, rf: int, rotate: bool) -> None:
    before = world.assignments
    rising = [tp for tp in before if len(before[tp]) < rf]
    try:
        moves = raise_rf(world, before, rf, rotate=rotate)
    except PlacementError:
        assert rising
        assert rf > len(world.live)
        return
    assert not rising or rf <= len(world.live)
    assert {m.tp for m in moves} == set(rising)
    sound(world, moves, racks_may_fall=True)
    for move in moves:
        assert len(move.replicas) == rf
        leader = world.leader(move.tp)
        if leader is not None:
            assert leader in move.replicas
            assert rotate or move.replicas[0] == leader
        assert set(move.before) <= set(move.replicas)
        held = racks_of(world, move.before)
        reachable = len(racks_of(world, world.live) - held)
        assert len(racks_of(world, move.replicas)) == len(held) + min(len(move.adding), reachable)
    if rotate:
        firsts = Counter(applied(world, moves).assignments[tp][0] for tp in before)
        _even(firsts, {m.tp: (m.replicas[0], [b for b in m.replicas if b in world.live]) for m in moves})
    again = shuffled(world, rf)
    assert raise_rf(again, again.assignments, rf, rotate=rotate) == moves
    assert raise_rf(applied(world, moves), before, rf, rotate=rotate) == ()


def law_of_replacing(world: World, gone: frozenset[int]) -> None:
    before = world.assignments
    takers = world.live.keys() - gone
    short = [tp for tp, r in before.items() if len(gone & set(r)) > len(takers - set(r))]
    try:
        moves = replace_brokers(world, gone, before)
    except PlacementError:
        assert short
        return
    assert not short
    assert {m.tp for m in moves} == {tp for tp, r in before.items() if gone & set(r)}
    sound(world, moves, racks_may_fall=True)
    for move in moves:
        assert set(move.adding) <= takers
        assert set(move.before) - set(move.replicas) == gone & set(move.before)
        assert len(move.replicas) == len(move.before)
        assert all(a == b for a, b in zip(move.before, move.replicas, strict=True) if a not in gone)
        held = racks_of(world, [b for b in move.before if b not in gone])
        reachable = len(racks_of(world, takers) - held)
        assert len(racks_of(world, move.replicas)) == len(held) + min(len(move.adding), reachable)
    assert replace_brokers(shuffled(world, 1), gone, before) == moves
    assert replace_brokers(applied(world, moves), gone, before) == ()


def law_of_heirs(world: World, gone: frozenset[int]) -> None:
    heirs = dict(zip(sorted(gone), sorted(world.live, reverse=True), strict=False))
    try:
        moves = replace_as(world, heirs)
    except PlacementError:
        assert any(heirs.get(b) in r for r in world.assignments.values() for b in r)
        return
    sound(world, moves, racks_may_fall=True)
    for move in moves:
        assert move.replicas == tuple(heirs.get(b, b) for b in move.before)


def law_of_spreading(world: World) -> None:
    moves = spread(world, world.assignments)
    sound(world, moves)
    after = applied(world, moves)
    for replicas in after.assignments.values():
        assert len(racks_of(world, replicas)) == most_racks(world, replicas)
    for move in moves:
        assert len(move.replicas) == len(move.before)
        assert set(move.before) - set(move.replicas) <= world.live.keys()
    assert spread(shuffled(world, 2), world.assignments) == moves
    assert spread(after, world.assignments) == ()


def law_of_leaders(world: World) -> None:
    moves = preferred(world, world.assignments)
    sound(world, moves)
    for move in moves:
        assert sorted(move.replicas) == sorted(move.before)
        assert move.replicas[0] in world.live_isr(move.tp)
    after = applied(world, moves)
    firsts = Counter(r[0] for r in after.assignments.values())
    _even(firsts, {tp: (r[0], after.live_isr(tp)) for tp, r in after.assignments.items()})
    assert preferred(shuffled(world, 3), world.assignments) == moves
    assert preferred(after, world.assignments) == ()


def _even(firsts: Counter[int], turnable) -> None:
    """Nobody could hand one preferred leadership to a broker that has at least 2 fewer."""
    for first, others in turnable.values():
        assert all(firsts[first] - firsts[b] <= 1 for b in others)
