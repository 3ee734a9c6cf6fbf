"""The rights of a principal, and the SCRAM user of a lab's second listener."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.security import Security
from kfix.lab.clients.asking import ask
from kfix.lab.clients.confluent import refused_as
from kfix.lab.definition.protocols import SASL_PROTOCOL, SCRAM, Right
from kfix.lab.waiting import wait_for

# The rights of a principal, through confluent-kafka.

_TYPES = {
    "CLUSTER": ResourceType.BROKER,  # librdkafka's name
    "TOPIC": ResourceType.TOPIC,
    "GROUP": ResourceType.GROUP,
    "TRANSACTIONAL_ID": ResourceType.TRANSACTIONAL_ID,
}


def grant(admin: AdminClient, principal: str, rights: Iterable[Right]) -> None:
    """Allows the principal all of these. Raises LabError."""
    bindings = [AclBinding(*_fields(principal, each)) for each in rights]
    with refused_as(f"the rights of {principal} cannot be granted"):
        for answer in admin.create_acls(bindings, request_timeout=10).values():
            answer.result()


def revoke(admin: AdminClient, principal: str, rights: Iterable[Right]) -> None:
    """Takes these rights away. Raises LabError."""
    filters = [AclBindingFilter(*_fields(principal, each)) for each in rights]
    with refused_as(f"the rights of {principal} cannot be revoked"):
        for answer in admin.delete_acls(filters, request_timeout=10).values():
            answer.result()


def _fields(principal: str, right: Right) -> tuple[Any, ...]:
    return (
        _TYPES[right.resource],
        right.name,
        ResourcePatternType.LITERAL,
        principal,
        "*",
        AclOperation[right.operation],
        AclPermissionType.ALLOW,
    )


# Logins at the second listener of a lab: the SCRAM user, and whether every broker accepts a client.


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
