"""The SCRAM user of a lab with a second listener."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.adapters.kafka import requests, responses
from kfix.adapters.kafka.security import Security
from kfix.errors import UnreachableError
from kfix.lab.clients.asking import ask
from kfix.lab.clients.confluent import create_scram
from kfix.lab.definition.properties import SASL_PROTOCOL, SCRAM
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.clients.access import LabClient


def create_user(access: LabClient, user: str, password: str, addresses: Iterable[str]) -> None:
    """Creates the SCRAM credentials of a user and returns when every broker accepts them."""
    create_scram(access.admin(), user, password)
    ways = [Security(SASL_PROTOCOL, mechanism, user, password) for mechanism in SCRAM]
    for address in addresses:
        wait_for(f"{address} accepts the user", lambda at=address: all(_accepts(at, way) for way in ways), 20)  # type: ignore[misc]


def _accepts(address: str, security: Security) -> bool:
    try:
        ask(address, requests.metadata(()), responses.metadata, 2.0, security)
    except UnreachableError:
        return False
    return True
