"""What the next snapshot is compared with: of each group the positions of a minute to an hour before."""

from dataclasses import replace

import pytest

from kfix.core.derive.memory import APART, FORGET_POSITIONS, remember
from kfix.core.snapshot.group_reading import seconds_behind
from kfix.core.snapshot.memory import Memory
from tests.unit.diagnostics.build import NOW
from tests.unit.diagnostics.group_readings import paced, position, read, reading


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


@pytest.mark.parametrize(
    ("before", "now", "seconds"),
    [
        # The partition that lags most: 50 records, of which 5 come each second.
        (((0, 10), (0, 30), (9, 9)), ((10, 20), (30, 80), (9, 9)), 10.0),
        (((9, 9), (9, 9), (9, 9)), ((19, 19), (19, 19), (19, 19)), 0.0),
        (((0, 10), (0, 10), (0, 10)), ((5, 10), (5, 10), (5, 10)), None),
    ],
)
def test_the_seconds_of_a_lag_are_by_the_records_that_arrive(before, now, seconds) -> None:
    assert seconds_behind(*paced(before, now).group_readings) == seconds
