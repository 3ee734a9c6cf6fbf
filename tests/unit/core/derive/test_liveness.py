"""Who is likely alive or dead by a text that lists no brokers."""

import pytest

from kfix.core.derive.liveness import Likely, likely_of
from kfix.diagnose.pasted.reader import parse_pasted
from tests.each import for_each

LED = "Topic: x Partition: {} Leader: {} Replicas: {} Isr: {}\n"


def likely(rows: str) -> Likely:
    """Returns what rows suggest below the header that states how many there are."""
    header = f"Topic: x PartitionCount: {rows.count('Partition:')} ReplicationFactor: 2 Configs:\n"
    return likely_of(parse_pasted(header + rows, "paste.txt", 1_800_000_000.0))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),  # rows without their header
        ("Topic: x PartitionCount: 3 Configs:\n", ""),  # a row is missing
        ("$ kafka-topics.sh --describe --under-replicated-partitions\nTopic: x PartitionCount: 2 Configs:\n", ""),
        ("Topic: x PartitionCount: 2 Configs:\n", "$ kcat -L | grep 'partition 0'\n" + LED.format(9, 1, "1", "1")),
    ],
)
def test_a_text_that_leaves_rows_out_shows_no_death(before: str, after: str) -> None:
    rows = LED.format(0, 1, "1,2", "1") + LED.format(1, 1, "1,2", "1")
    found = likely_of(parse_pasted(before + rows + after, "paste.txt", 1_800_000_000.0))
    assert (set(found.alive), set(found.dead)) == ({1}, set())


@for_each(
    ("text", "alive", "dead"),
    [
        (LED.format(0, 1, "1,2,3", "1,3"), {1, 3}, set()),  # one partition without 2: it may only lag
        (LED.format(0, 1, "1,2", "1") + LED.format(1, 3, "3,2", "3"), {1, 3}, {2}),
        (LED.format(0, 1, "1,2", "1") + LED.format(1, "none", "2", "2"), {1}, {2}),
        (LED.format(0, 1, "1,2", "1") + LED.format(1, 2, "2,1", "2"), {1, 2}, set()),
        (LED.format(0, "none", "1,2", "2"), set(), set()),  # nobody leads: nothing to compare with
        (LED.format(0, "none", "1,2", "2").strip() + " Offline: 2", set(), {2}),
        (LED.format(0, 1, "1,2", "1,2").strip() + " Offline: 2", {1}, {2}),  # Offline outweighs a place in an ISR
        (LED.format(0, 1, "1,2", "1,2").strip() + " Offline: 1", {2}, set()),  # a leader that is offline: a doubt
        (LED.format(0, 1, "1,2", "1").strip() + " Offline: LiveObservers: 2", {1, 2}, set()),
        (
            LED.format(0, 1, "1,2", "1").strip() + " Adding Replicas: 2 Removing Replicas:\n"
            + LED.format(1, 1, "1,2", "1").strip() + " Adding Replicas: 2 Removing Replicas:",
            {1}, set(),
        ),
    ],
)  # fmt: skip
def test_who_is_alive_and_who_is_dead(text: str, alive: set[int], dead: set[int]) -> None:
    found = likely(text)
    assert (set(found.alive), set(found.dead)) == (alive, dead)
    assert not found.alive.keys() & found.dead.keys()


def test_a_list_of_brokers_leaves_nothing_to_infer() -> None:
    rows = LED.format(0, 1, "1,2", "1") + LED.format(1, 1, "1,2", "1")
    assert likely(rows).dead
    assert likely("ls /brokers/ids\n[1, 2]\n" + rows) == Likely()
    assert likely(" 1 brokers:\n  broker 1 at h:9092\n" + rows) == Likely()
