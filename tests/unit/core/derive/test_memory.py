"""What the next snapshot is compared with: of each group the positions of a minute to an hour before."""

from dataclasses import replace

from kfix.core.derive.memory import APART, FORGET_POSITIONS, remember
from kfix.core.snapshot.memory import Memory
from tests.unit.diagnostics.build import NOW
from tests.unit.diagnostics.group_readings import position, read, reading


def known_after(seconds: float) -> tuple[float, int]:
    """The age and the committed offset that a snapshot keeps if an earlier one read offset 3 so long before."""
    was = replace(reading(partitions=position(committed=3)), taken_at=NOW - seconds)
    snapshot = read(reading(partitions=position(committed=7)), memory=Memory(positions=(was,)))
    [kept] = remember(snapshot).positions
    assert (kept.members, kept.state) == (None, "")
    return NOW - kept.taken_at, min(each.committed for each in (kept.partitions or {}).values())


def test_positions_are_replaced_once_they_are_old_enough_to_show_what_stands() -> None:
    was = replace(reading(partitions=position(committed=3)), taken_at=NOW - APART + 1)
    [kept] = remember(read(reading(), memory=Memory(positions=(was,)))).positions
    assert kept == was
    assert known_after(APART) == (0, 7)


def test_a_group_that_was_not_read_keeps_its_positions_for_an_hour() -> None:
    was = replace(reading(), group="other", taken_at=NOW - 300)
    assert was in remember(read(reading(), memory=Memory(positions=(was,)))).positions
    old = replace(was, taken_at=NOW - FORGET_POSITIONS)
    assert old not in remember(read(reading(), memory=Memory(positions=(old,)))).positions


def test_the_first_of_two_readings_is_kept() -> None:
    snapshot = read(reading(partitions=position(committed=5)), reading(partitions=position(committed=9)))
    [kept] = remember(snapshot).positions
    assert (NOW - kept.taken_at, (kept.partitions or {})[next(iter(position()))].committed) == (10, 5)
