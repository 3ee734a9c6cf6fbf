"""What a canary will try, by the metadata of a cluster."""

from __future__ import annotations

import pytest

from kfix.canary.course import course_of
from kfix.canary.model import NAME, CanaryOptions
from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.errors import UsageError
from kfix.core.kafka.metadata import MetadataResponse
from kfix.core.snapshot.snapshot import Endpoint, PartitionView, TopicPartition

BROKERS = {broker: Endpoint("h", 9000 + broker) for broker in (1, 2, 5, 7)}


def answer(topic: dict[int, int] | None = None, offsets: tuple[int, ...] = (1, 2, 5, 1, -1)) -> MetadataResponse:
    """`topic` is {partition of the canary's topic: leader}, `offsets` the leaders of the offsets partitions."""
    views = {TopicPartition(NAME, number): leader for number, leader in (topic or {}).items()}
    views |= {TopicPartition(OFFSETS_TOPIC, number): leader for number, leader in enumerate(offsets)}
    found = {tp: PartitionView(leader, 0, (), (), ()) for tp, leader in views.items()}
    return MetadataResponse("c", 1, dict(BROKERS), {}, found)


def test_a_new_topic_has_one_partition_led_by_each_broker_and_three_replicas() -> None:
    course = course_of(answer(), CanaryOptions(creates=True))
    assert course.new == ((1, 2, 5), (2, 5, 7), (5, 7, 1), (7, 1, 2))
    assert list(course.leaders.values()) == [1, 2, 5, 7]


def test_a_topic_that_is_missing_is_refused_unless_it_may_be_created() -> None:
    with pytest.raises(UsageError, match="kfix-canary does not exist"):
        course_of(answer(), CanaryOptions())


def test_a_topic_that_exists_is_used_as_it_is_and_what_it_cannot_reach_is_named() -> None:
    course = course_of(answer({0: 1, 1: 2, 2: -1}), CanaryOptions(creates=True))
    assert course.new == ()
    assert list(course.leaders.values()) == [1, 2, -1]
    assert course.untested == ("brokers 5, 7: leader of no partition of kfix-canary",)


def test_one_partition_of_each_coordinator_is_tried_and_those_without_a_leader() -> None:
    course = course_of(answer(), CanaryOptions(creates=True))
    assert [tp.partition for tp in course.groups.values()] == [0, 1, 2, 4]
    assert all(partition_of_group(group, 5) == tp.partition for group, tp in course.groups.items())
    assert all(group.startswith(f"{NAME}-") for group in course.groups)


def test_a_broker_a_partition_and_a_group_restrict_what_is_tried() -> None:
    options = CanaryOptions((2,), (3,), groups=("billing",), creates=True)
    course = course_of(answer(), options)
    assert list(course.leaders.values()) == [2]
    assert [tp.partition for tp in course.groups.values()] == sorted({3, partition_of_group("billing", 5)})
    gone = course_of(answer(), CanaryOptions((2, 9), creates=True))
    assert gone.untested == ("broker 9: not in the cluster's list of brokers",)
    with pytest.raises(UsageError, match="has no partition 5"):
        course_of(answer(), CanaryOptions(partitions=(5,), creates=True))


def test_without_an_offsets_topic_nothing_is_joined_and_nothing_is_read() -> None:
    course = course_of(answer(offsets=()), CanaryOptions(creates=True))
    assert (course.groups, course.reads) == ({}, False)
    assert len(course.untested) == 2
