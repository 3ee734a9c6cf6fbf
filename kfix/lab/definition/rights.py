"""The least rights of kfix on a cluster with an authorizer (docs/security.md)."""

from __future__ import annotations

from dataclasses import dataclass

CLUSTER = "kafka-cluster"


@dataclass(frozen=True)
class Right:
    """An operation that is allowed on a resource: `resource` is CLUSTER, TOPIC or GROUP; a `name` of * is all of them.
    Both are the words of kafka-acls.
    """

    operation: str
    resource: str
    name: str = "*"

    def __str__(self) -> str:
        return f"{self.operation} on {self.resource} {self.name}"


#: What `kfix diagnose` and `kfix snapshot` need.
READING: tuple[Right, ...] = (
    Right("DESCRIBE", "CLUSTER", CLUSTER),
    Right("DESCRIBE_CONFIGS", "CLUSTER", CLUSTER),
    Right("DESCRIBE", "TOPIC"),
    Right("DESCRIBE_CONFIGS", "TOPIC"),
    Right("DESCRIBE", "GROUP"),
)
