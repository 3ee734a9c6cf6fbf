"""Logins at the second listener of a lab: the SCRAM user, and whether every broker accepts a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.security import Security
from kfix.lab.clients.asking import ask
from kfix.lab.clients.confluent import create_scram
from kfix.lab.definition.protocols import SASL_PROTOCOL, SCRAM
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.clients.access import LabClient


def create_user(access: LabClient, user: str, password: str) -> None:
    """Creates the SCRAM credentials of a user."""
    create_scram(access.admin(), user, password)


def scram_ways(user: str, password: str) -> tuple[Security, ...]:
    return tuple(Security(SASL_PROTOCOL, mechanism, user, password) for mechanism in SCRAM)


def await_logins(addresses: Iterable[str], ways: Iterable[Security]) -> None:
    """Returns when every broker accepts a client in each of these ways."""
    for address in addresses:
        for way in ways:
            wait_for(f"{address} accepts {way.recorded}", lambda at=address, by=way: _accepts(at, by), 20)  # type: ignore[misc]


def _accepts(address: str, security: Security) -> bool:
    try:
        ask(address, requests.metadata(()), 2.0, security)
    except UnreachableError:
        return False
    return True
