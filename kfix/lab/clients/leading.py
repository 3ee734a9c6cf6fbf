"""What brokers report about their replicas, and reassignments in progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.errors import LabError, UnreachableError
from kfix.core.kafka import requests
from kfix.lab.clients.asking import ask
from kfix.lab.clients.commits import NOT_LEADER
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kfix.core.snapshot.snapshot import Assignment, TopicPartition
    from kfix.lab.clients.access import LabClient, RecordedState


# What brokers report about their replicas: whether they lead, and their log ends.

# Unknown partition, leader not available, not leader, replica not available: from a broker that all name as leader.
_DISOWNED = frozenset({3, 5, NOT_LEADER, 9})
_CONSUMER = -1
_ANSWER_SECONDS = 3.0


def answers_as_leader(
    access: LabClient, broker: int, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """Returns {partition: error code that a consumer gets, 0 for none}; empty if the broker does not answer."""
    request = requests.list_offsets(tuple(partitions), requests.LATEST, replica=_CONSUMER)
    try:
        found = ask(access.addresses()[broker], request, _ANSWER_SECONDS)
    except (UnreachableError, KeyError):
        return {}
    return {where: each.error for where, each in found.items()}


def phantoms(access: LabClient, states: Mapping[TopicPartition, RecordedState | None]) -> frozenset[TopicPartition]:
    """Returns the partitions whose leader recorded in ZooKeeper answers that it is not the leader."""
    by_leader: dict[int, list[TopicPartition]] = {}
    for where, state in states.items():
        if state is not None and state.leader >= 0:
            by_leader.setdefault(state.leader, []).append(where)
    return frozenset(
        where
        for leader, claimed in by_leader.items()
        for where, error in answers_as_leader(access, leader, claimed).items()
        if error in _DISOWNED
    )


def stable_end(access: LabClient, leader: int, where: TopicPartition) -> tuple[int, int] | None:
    """Returns (last stable offset, high watermark) at the leader; None if it does not answer."""
    asked = [
        requests.list_offsets((where,), requests.LATEST, replica=_CONSUMER, isolation=isolation) for isolation in (1, 0)
    ]
    try:
        at = access.addresses()[leader]
        found = [ask(at, each, _ANSWER_SECONDS)[where] for each in asked]
    except (UnreachableError, KeyError):
        return None
    return None if any(each.error for each in found) else (found[0].offset, found[1].offset)


def log_ends(access: LabClient, where: TopicPartition, brokers: Iterable[int]) -> dict[int, int]:
    """Returns {broker: log end offset} of the replicas, whether they lead or not."""
    ends = {}
    for broker in brokers:
        request = requests.list_offsets((where,), requests.LATEST)
        found = ask(access.addresses()[broker], request, _ANSWER_SECONDS)[where]
        if found.error == 0:
            ends[broker] = found.offset
    return ends


def all_replicated(access: LabClient, where: TopicPartition, leader: int) -> bool:
    """Returns whether every in-sync replica has all records: the high watermark is the log end offset."""
    ends = set()
    for replica in (_CONSUMER, requests.DEBUGGING_REPLICA):
        request = requests.list_offsets((where,), requests.LATEST, replica=replica)
        found = ask(access.addresses()[leader], request, _ANSWER_SECONDS)[where]
        ends.add((found.error, found.offset))
    return len(ends) == 1 and all(error == 0 for error, _ in ends)


# Reassignments in progress, through AlterPartitionReassignments. `LabClient.reassign` waits for the end instead.

_NOT_CONTROLLER = 41
_MOVE_SECONDS = 10.0


def start_move(access: LabClient, where: TopicPartition, replicas: tuple[int, ...] | None) -> None:
    """Returns when the reassignment has begun. None as `replicas` cancels the one in progress."""
    request = requests.alter_reassignment(where, replicas, int(_MOVE_SECONDS * 1000))

    def begun() -> bool:
        taker = access.taker()
        if taker is None:
            return False
        result = ask(access.addresses()[taker], request, _MOVE_SECONDS)
        if result.error not in {0, _NOT_CONTROLLER}:
            raise LabError(f"the reassignment of {where} to {replicas} was refused: {result.error} {result.message}")
        return result.error == 0

    wait_for(f"the reassignment of {where} begins", begun, 20)


def moves(access: LabClient) -> Mapping[TopicPartition, Assignment]:
    """Returns the reassignments in progress, as the controller reports them; none if it does not answer."""
    taker = access.taker()
    try:
        address = access.addresses()[-1 if taker is None else taker]
        _, found = ask(address, requests.list_reassignments(), _MOVE_SECONDS)
    except (UnreachableError, KeyError):
        return {}
    return found
