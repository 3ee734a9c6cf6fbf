"""What moves cost, and in which portions they are made."""

import pytest

from kfix.heal.placement.impact import batches, throttled
from kfix.heal.placement.world import Move, PlacementError
from tests.unit.heal.placement.clusters import tp


def move(name: str, before: tuple[int, ...], after: tuple[int, ...]) -> Move:
    return Move(tp(name), before, after)


ORDER = move("t-0", (1, 2), (2, 1))
RAISED = move("t-1", (1,), (1, 2, 3))
MOVED = move("t-10", (1, 2), (1, 4))
UNKNOWN = move("u-0", (5,), (6,))


def test_throttles_as_kafka_writes_them() -> None:
    raised = move("t-2", (1, 3), (1, 2))
    assert throttled([UNKNOWN, raised, MOVED, RAISED, ORDER]) == {
        "t": ("10:1,10:2,1:1,2:1,2:3", "10:4,1:2,1:3,2:2"),
        "u": ("0:5", "0:6"),
    }
    assert throttled([ORDER]) == {}


def test_the_canary_is_the_smallest_that_copies_something() -> None:
    sizes = {tp("t-0"): 1, tp("t-1"): 50, tp("t-10"): 99, tp("t-11"): 0}
    empty = move("t-11", (1,), (2,))
    moves = [UNKNOWN, empty, MOVED, RAISED, ORDER]
    assert batches(moves, 2, 1, sizes) == ((MOVED,), (ORDER, RAISED), (empty, UNKNOWN))
    assert batches(moves, 9, 4, sizes) == ((MOVED, RAISED, empty, UNKNOWN), (ORDER,))
    assert batches(moves, 3, 0, sizes) == ((ORDER, RAISED, MOVED), (empty, UNKNOWN))
    assert batches([ORDER], 3, 5) == ((ORDER,),)
    assert batches([], 3, 1) == ()


@pytest.mark.parametrize(("size", "canary"), [(0, 1), (1, -1)])
def test_batches_of_nothing(size, canary) -> None:
    with pytest.raises(PlacementError, match="a batch holds at least 1 move"):
        batches([ORDER], size, canary)
