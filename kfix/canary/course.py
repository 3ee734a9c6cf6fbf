"""What a canary will try, by the metadata of the cluster: read by kfix, which creates nothing by asking."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kfix.canary.model import NAME, NO_LEADER, CanaryOptions
from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.errors import UnreachableError, UsageError
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.metadata import MetadataResponse
from kfix.core.kafka.requests import list_offsets, metadata
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.target import Target
from kfix.core.timing import Deadline
from kfix.core.wording import brokers_named

_REPLICAS: Final = 3
_LATEST: Final = -1
_UNKNOWN_TOPIC, _NOT_ALLOWED = 3, 29
#: Partitions without a leader that are tried although no option names them.
_MOST_LEADERLESS: Final = 8
_NOT_SEEN: Final = "does not exist, or this user may not describe it"
_NOT_JOINED: Final = f"no group joined: {OFFSETS_TOPIC} {_NOT_SEEN}; joining would create it"
_NOT_READ: Final = "no record read: a consumer looks for its coordinator, which would create that topic, too"


@dataclass(frozen=True, slots=True)
class Course:
    """`leaders` are {partition of the canary's topic: broker}; `new` is the assignment of a topic to create, or ().

    `groups` are {group of the canary: its partition of __consumer_offsets}; `reads` is False where a consumer would
    create that topic.
    """

    cluster: str
    leaders: dict[TopicPartition, int]
    groups: dict[str, TopicPartition]
    coordinators: dict[TopicPartition, int]
    new: tuple[tuple[int, ...], ...] = ()
    reads: bool = True
    untested: tuple[str, ...] = ()


def read_metadata(target: Target, topic: str, seconds: float) -> MetadataResponse:
    """Returns the brokers, and the partitions of the topic and of __consumer_offsets. Raises UnreachableError."""
    errors = []
    for endpoint in target.bootstrap:
        try:
            with BrokerConnection(endpoint, target.security) as connection:
                return _asked(connection, topic, Deadline.after(seconds))
        except UnreachableError as error:
            errors.append(str(error))
    raise UnreachableError(f"the cluster cannot be reached: {'; '.join(errors)}", hint="nothing was sent")


def _asked(connection: BrokerConnection, topic: str, deadline: Deadline) -> MetadataResponse:
    # Older brokers create an internal topic that a Metadata request names, even without auto-creation.
    first = TopicPartition(OFFSETS_TOPIC, 0)
    found = connection.call(list_offsets((first,), _LATEST), deadline).get(first)
    exists = found is not None and found[0] not in {_UNKNOWN_TOPIC, _NOT_ALLOWED}
    return connection.call(metadata((topic, OFFSETS_TOPIC) if exists else (topic,)), deadline)


def course_of(answer: MetadataResponse, options: CanaryOptions) -> Course:
    """Returns what to try. Raises UsageError if the topic does not exist and may not be created."""
    asked = options.brokers or tuple(sorted(answer.brokers))
    gone = [broker for broker in asked if broker not in answer.brokers]
    untested = [f"{brokers_named(gone)}: not in the cluster's list of brokers"] if gone else []
    leaders = {tp: view.leader for tp, view in answer.partitions.items() if tp.topic == options.topic}
    new: tuple[tuple[int, ...], ...] = ()
    if not leaders:
        if not options.creates:
            raise UsageError(
                f"topic {options.topic} {_NOT_SEEN}",
                hint="--create-topic creates it for this run and deletes it at its end",
            )
        new = tuple(_replicas(broker, sorted(answer.brokers)) for broker in asked if broker not in gone)
        leaders = {TopicPartition(options.topic, index): replicas[0] for index, replicas in enumerate(new)}
    leaders = {tp: leader for tp, leader in leaders.items() if leader in asked or leader == NO_LEADER}
    missing = sorted(set(asked) - set(gone) - set(leaders.values()))
    untested += [f"{brokers_named(missing)}: leader of no partition of {options.topic}"] if missing else []
    offsets = {tp: view.leader for tp, view in answer.partitions.items() if tp.topic == OFFSETS_TOPIC}
    if not offsets:
        untested += [_NOT_JOINED, _NOT_READ]
    chosen = _coordinators(offsets, options) if offsets else ()
    groups = {_group_of(tp.partition, len(offsets)): tp for tp in chosen}
    return Course(answer.cluster_id, leaders, groups, offsets, new, bool(offsets), tuple(untested))


def _replicas(leader: int, brokers: list[int]) -> tuple[int, ...]:
    at = brokers.index(leader)
    return tuple((brokers[at:] + brokers[:at])[:_REPLICAS])


def _coordinators(offsets: dict[TopicPartition, int], options: CanaryOptions) -> Iterable[TopicPartition]:
    """Returns the partitions of __consumer_offsets to try. Raises UsageError for one that does not exist."""
    if options.every_partition:
        return sorted(offsets)
    named = {*options.partitions, *(partition_of_group(group, len(offsets)) for group in options.groups)}
    if unknown := [number for number in sorted(named) if TopicPartition(OFFSETS_TOPIC, number) not in offsets]:
        raise UsageError(f"{OFFSETS_TOPIC} has no partition {unknown[0]}", hint=f"it has 0 to {len(offsets) - 1}")
    if named:
        return [TopicPartition(OFFSETS_TOPIC, number) for number in sorted(named)]
    first: dict[int, TopicPartition] = {}
    for tp, leader in sorted(offsets.items()):
        if leader != NO_LEADER and leader in (options.brokers or (leader,)):
            first.setdefault(leader, tp)
    leaderless = [tp for tp, leader in sorted(offsets.items()) if leader == NO_LEADER]
    return [*first.values(), *leaderless[:_MOST_LEADERLESS]]


def _group_of(partition: int, count: int) -> str:
    """Returns a new name of a group that hashes to the partition."""
    token = secrets.token_hex(4)
    # A name hits a partition with the chance 1/count.
    for number in range(1000 * count):
        if partition_of_group(name := f"{NAME}-{token}-{number}", count) == partition:
            return name
    raise AssertionError(f"no name hashes to partition {partition} of {count}")
