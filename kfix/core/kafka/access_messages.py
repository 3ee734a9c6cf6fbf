"""The requests about access rules and quotas of clients, in the versions that all brokers since 2.6 support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kfix.core.kafka.api import Api, Request
from kfix.core.kafka.codec import Row, Rows
from kfix.core.snapshot.fleet_facts import AclRule, Quota

#: SECURITY_DISABLED: the broker has no authorizer.
NO_AUTHORIZER: Final = 54
_ANY, _TOPIC, _LITERAL, _PREFIXED, _ALL, _ALLOW = 1, 2, 3, 4, 2, 3
_KINDS: Final = {2: "topic", 3: "group", 4: "cluster", 5: "transactional-id", 6: "delegation-token", 7: "user"}
_OPERATIONS: Final = (
    *("unknown", "any", "all", "read", "write", "create", "delete", "alter", "describe", "cluster-action"),
    *("describe-configs", "alter-configs", "idempotent-write", "create-tokens", "describe-tokens", "two-phase-commit"),
)
_PERMISSIONS: Final = {2: "deny", 3: "allow"}


class AclFilter(NamedTuple):
    """What rules are asked for; None and 1 stand for any."""

    kind: int = _ANY
    name: str | None = None
    pattern: int = _ANY
    principal: str | None = None
    operation: int = _ANY
    permission: int = _ANY


#: The rules that allow everything of all resources of a kind.
EVERYTHING: Final = AclFilter(name="*", pattern=_LITERAL, operation=_ALL, permission=_ALLOW)
OF_TOPICS: Final = AclFilter(kind=_TOPIC)

DESCRIBE_ACLS = Api(
    29,
    "kind:i8 name:str? pattern:i8 principal:str? host:str? operation:i8 permission:i8",
    "_throttle_ms:i32 error:i16 message:str resources:[kind:i8 name:str pattern:i8 acls:[principal:str host:str"
    " operation:i8 permission:i8]]",
    reads=True,
    flexible=2,
)


def describe_acls(wanted: AclFilter) -> Request[tuple[int, tuple[AclRule, ...]]]:
    """Returns (error, rules)."""
    kind, name, pattern, principal, operation, permission = wanted
    values = (kind, name, pattern, principal, None, operation, permission)
    return DESCRIBE_ACLS.ask(1, values, lambda error, _, resources: (error, tuple(map(_rule, _flat(resources)))))


def _flat(resources: Rows) -> list[Row]:
    return [(kind, name, pattern, *acl) for kind, name, pattern, acls in resources for acl in acls]


def _rule(row: Row) -> AclRule:
    kind, name, pattern, principal, host, operation, permission = row
    done = _OPERATIONS[operation] if 0 <= operation < len(_OPERATIONS) else f"operation {operation}"
    may, of = _PERMISSIONS.get(permission, f"permission {permission}"), _KINDS.get(kind, f"resource {kind}")
    return AclRule(principal, host, may, done, of, name, pattern == _PREFIXED)


DESCRIBE_CLIENT_QUOTAS = Api(
    48,
    "components:[type:str match:i8 name:str?] strict:bool",
    "_throttle_ms:i32 error:i16 message:str entries:[entity:[type:str name:str?] values:[key:str value:f64]]",
    reads=True,
    flexible=1,
    operations={31: "DescribeConfigs"},
)


#: How a part of a filter matches: this name, or the default entity.
EXACT, DEFAULT = 0, 1


class QuotaPart(NamedTuple):
    """A part of a filter of quotas. `kind` is user or client-id."""

    kind: str
    match: int
    name: str | None = None


def describe_quotas(parts: Sequence[QuotaPart] = ()) -> Request[tuple[int, tuple[Quota, ...]]]:
    """Returns (error, the quotas that match all parts of the filter: without any, all quotas)."""

    def convert(error: int, _: str, entries: Rows) -> tuple[int, tuple[Quota, ...]]:
        rows = [
            ({kind: name or "" for kind, name in entity}, key, value) for entity, of in entries for key, value in of
        ]
        return error, tuple(Quota(e.get("user"), e.get("client-id"), e.get("ip"), key, v) for e, key, v in rows)

    return DESCRIBE_CLIENT_QUOTAS.ask(0, (list(parts), False), convert)
