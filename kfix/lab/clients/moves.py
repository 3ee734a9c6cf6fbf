"""Moves that have begun and not ended, by the requests of Kafka's own tool. `LabClient.reassign` waits for the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.adapters.kafka import requests, responses
from kfix.errors import LabError, UnreachableError
from kfix.lab.clients.asking import ask
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kfix.lab.clients.access import LabClient
    from kfix.model.cluster.snapshot import Assignment, TopicPartition

_NOT_CONTROLLER = 41
_ANSWER_SECONDS = 10.0


def start_move(access: LabClient, where: TopicPartition, replicas: tuple[int, ...] | None) -> None:
    """None cancels the move that is under way."""
    request = requests.alter_reassignment(where, replicas, int(_ANSWER_SECONDS * 1000))

    def begun() -> bool:
        controller = access.controller()
        if controller is None:
            return False
        result = ask(access.addresses()[controller], request, responses.alter_reassignment, _ANSWER_SECONDS)
        if result.error not in {0, _NOT_CONTROLLER}:
            raise LabError(f"the move of {where} to {replicas} is refused: {result.error} {result.message}")
        return result.error == 0

    wait_for(f"the move of {where} begins", begun, 20)


def moves(access: LabClient) -> Mapping[TopicPartition, Assignment]:
    """What the controller says is under way; nothing where there is none to ask."""
    controller = access.controller()
    try:
        address = access.addresses()[-1 if controller is None else controller]
        _, found = ask(address, requests.list_reassignments(), responses.list_reassignments, _ANSWER_SECONDS)
    except (UnreachableError, KeyError):
        return {}
    return found
