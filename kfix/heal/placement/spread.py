"""Spreads replicas over racks and brokers, and preferred leaders over brokers, with as few moves as possible."""

from collections import Counter
from collections.abc import Iterable

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.placement.leaders import even_leaders
from kfix.heal.placement.world import Load, Move, World, chosen, most_racks, racks_of

#: A broker holds clearly more than its share above this many shares, and this many replicas above its share.
_SHARES = 1.5
_ABOVE = 2


def spread(world: World, tps: Iterable[TopicPartition]) -> tuple[Move, ...]:
    """Spreads each partition over as many racks as possible; then unloads brokers with clearly more than their share.

    Only live replicas move, each for a gain: one more rack, or a smaller difference between two brokers and no rack
    less. The leader moves only off such a broker, and only where no other replica there can. Positions in the lists
    stay.
    """
    board = _Board(world, chosen(world, tps))
    for tp in board.lists:
        board.over_racks(tp)
    board.unload()
    return tuple(
        Move(tp, world.assignments[tp], tuple(replicas))
        for tp, replicas in board.lists.items()
        if set(replicas) != set(world.assignments[tp])
    )


def preferred(world: World, tps: Iterable[TopicPartition]) -> tuple[Move, ...]:
    """Reorders the lists without moving data: each live broker becomes preferred leader of about equally many.

    The difference is at most 1 where the lists allow it. Only a live member of the ISR is put first; a live
    preferred leader may stay, a dead one is replaced. Where the ISR is unknown the order stays.
    """
    options: dict[TopicPartition, tuple[int, ...]] = {}
    fixed: Counter[int] = Counter()
    wanted = [tp for tp in chosen(world, tps) if world.assignments[tp]]
    start = {tp: world.assignments[tp][0] for tp in wanted}
    for tp in wanted:
        can = world.live_isr(tp)
        if can:
            stays = start[tp] in world.live and start[tp] not in can
            options[tp] = (start[tp], *can) if stays else can
        elif start[tp] in world.live:
            fixed[start[tp]] += 1
    leaders = even_leaders(options, start, fixed)
    return tuple(
        Move(tp, before, (leaders[tp], *(b for b in before if b != leaders[tp])))
        for tp, before in ((tp, world.assignments[tp]) for tp in sorted(options))
        if leaders[tp] != before[0]
    )


class _Board:
    """The lists while they change, and how many of these replicas each live broker holds."""

    def __init__(self, world: World, tps: tuple[TopicPartition, ...]) -> None:
        self._world = world
        self._load = Load(world)
        self.lists = {tp: list(world.assignments[tp]) for tp in tps}
        self._on: dict[int, set[TopicPartition]] = {b: set() for b in sorted(world.live)}
        for tp, replicas in self.lists.items():
            for broker in replicas:
                if broker in self._on:
                    self._on[broker].add(tp)
        self._share = sum(map(len, self._on.values())) / max(1, len(self._on))

    def _full(self, broker: int) -> bool:
        held = len(self._on[broker])
        return held > _SHARES * self._share and held >= self._share + _ABOVE

    def over_racks(self, tp: TopicPartition) -> None:
        replicas = self.lists[tp]
        while len(racks_of(self._world, replicas)) < most_racks(self._world, replicas):
            held = Counter(self._world.rack(b) for b in replicas)
            doubled = [b for b in replicas if self._world.rack(b) is not None and held[self._world.rack(b)] > 1]
            free = [b for b in self._on if self._world.rack(b) not in {None, *held}]
            source = max(doubled, key=lambda b: self._dispensable(tp, b))
            self._move(tp, source, self._load.best(free, ()))

    def _dispensable(self, tp: TopicPartition, broker: int) -> tuple[bool, bool, bool, tuple[int, int], int]:
        """The sort key of moving; the greatest moves: a follower, not preferred, out of sync, on a full broker."""
        return (
            broker != self._world.leader(tp),
            broker != self.lists[tp][0],
            broker not in self._world.live_isr(tp),
            self._load.of(broker),
            broker,
        )

    def unload(self) -> None:
        """Repeats until no full broker can be evened out; a broker that becomes full on the way is unloaded as well."""
        full: set[int] = set()
        moved = True
        while moved:
            full.update(filter(self._full, self._on))
            moved = False
            for source in sorted(full, key=lambda b: (-len(self._on[b]), b)):
                for tp in sorted(self._on[source], key=lambda tp: self._worth(tp, source)):
                    taker = self._taker(tp, source)
                    if taker is not None:
                        self._move(tp, source, taker)
                        moved = True

    def _worth(self, tp: TopicPartition, source: int) -> tuple[bool, int, TopicPartition]:
        return self._world.leader(tp) == source, self._world.sizes.get(tp, 0), tp

    def _taker(self, tp: TopicPartition, source: int) -> int | None:
        """Returns the emptiest broker that stays below `source` when it takes this replica."""
        room = len(self._on[source]) - 2
        candidates = [b for b, held in self._on.items() if len(held) <= room and self._harmless(tp, source, b)]
        return min(candidates, key=lambda b: (len(self._on[b]), self._load.of(b), b), default=None)

    def _harmless(self, tp: TopicPartition, source: int, taker: int) -> bool:
        replicas = self.lists[tp]
        if taker in replicas:
            return False
        after = [taker if b == source else b for b in replicas]
        racks = len(racks_of(self._world, after))
        # A replica from a broker without a rack is counted from now on: it must be in a rack of its own.
        return most_racks(self._world, after) == racks >= len(racks_of(self._world, replicas))

    def _move(self, tp: TopicPartition, source: int, taker: int) -> None:
        self.lists[tp][self.lists[tp].index(source)] = taker
        self._on[source].discard(tp)
        self._on[taker].add(tp)
        self._load.drop(tp, source)
        self._load.put(tp, taker)
