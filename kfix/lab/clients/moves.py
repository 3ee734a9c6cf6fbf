"""Reassignments in progress, through AlterPartitionReassignments. `LabClient.reassign` waits for the end instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.errors import LabError, UnreachableError
from kfix.core.kafka import requests
from kfix.lab.clients.asking import ask
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kfix.core.snapshot.snapshot import Assignment, TopicPartition
    from kfix.lab.clients.access import LabClient

_NOT_CONTROLLER = 41
_ANSWER_SECONDS = 10.0


def start_move(access: LabClient, where: TopicPartition, replicas: tuple[int, ...] | None) -> None:
    """Returns when the reassignment has begun. None as `replicas` cancels the one in progress."""
    request = requests.alter_reassignment(where, replicas, int(_ANSWER_SECONDS * 1000))

    def begun() -> bool:
        taker = access.taker()
        if taker is None:
            return False
        result = ask(access.addresses()[taker], request, _ANSWER_SECONDS)
        if result.error not in {0, _NOT_CONTROLLER}:
            raise LabError(f"the reassignment of {where} to {replicas} was refused: {result.error} {result.message}")
        return result.error == 0

    wait_for(f"the reassignment of {where} begins", begun, 20)


def moves(access: LabClient) -> Mapping[TopicPartition, Assignment]:
    """Returns the reassignments in progress, as the controller reports them; none if it does not answer."""
    taker = access.taker()
    try:
        address = access.addresses()[-1 if taker is None else taker]
        _, found = ask(address, requests.list_reassignments(), _ANSWER_SECONDS)
    except (UnreachableError, KeyError):
        return {}
    return found
