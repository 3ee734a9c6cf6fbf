"""The rights of a principal, through confluent-kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from kfix.core.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka.admin import AdminClient

    from kfix.lab.definition.rights import Right

_TYPES = {
    "CLUSTER": ResourceType.BROKER,  # librdkafka's name
    "TOPIC": ResourceType.TOPIC,
    "GROUP": ResourceType.GROUP,
    "TRANSACTIONAL_ID": ResourceType.TRANSACTIONAL_ID,
}


def grant(admin: AdminClient, principal: str, rights: Iterable[Right]) -> None:
    """Allows the principal all of these. Raises LabError."""
    try:
        for answer in admin.create_acls(
            [AclBinding(*_fields(principal, each)) for each in rights], request_timeout=10
        ).values():
            answer.result()
    except KafkaException as problem:
        raise LabError(f"the rights of {principal} cannot be granted: {problem.args[0].str()}") from problem


def revoke(admin: AdminClient, principal: str, rights: Iterable[Right]) -> None:
    """Takes these rights away. Raises LabError."""
    filters = [AclBindingFilter(*_fields(principal, each)) for each in rights]
    try:
        for answer in admin.delete_acls(filters, request_timeout=10).values():
            answer.result()
    except KafkaException as problem:
        raise LabError(f"the rights of {principal} cannot be revoked: {problem.args[0].str()}") from problem


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
