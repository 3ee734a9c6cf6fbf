"""The target of `kfix lab workload`: which group, and a topic, which is created if it is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UsageError
from kfix.lab.clients.groups import name_for
from kfix.lab.definition.layout import ids_by_rack, spread

if TYPE_CHECKING:
    from kfix.lab.nodes.handle import LabHandle

TOPIC = "workload"
_PARTITIONS = 3


@dataclass(frozen=True)
class WorkloadTarget:
    topic: str
    group: str | None


def target(
    lab: LabHandle, topic: str = TOPIC, group: str | None = None, offsets_partition: int | None = None
) -> WorkloadTarget:
    if group is not None and offsets_partition is not None:
        raise UsageError(
            "--group and --offsets-partition exclude each other", hint="the partition determines the group's name"
        )
    with lab.access() as access:
        if offsets_partition is not None:
            group = group_in(len(access.assignment(OFFSETS_TOPIC)), offsets_partition)
        if topic not in access.topics():
            ids = ids_by_rack(lab.state.brokers)
            access.create_topic(topic, spread(ids, _PARTITIONS, min(3, len(ids))), {})
    return WorkloadTarget(topic, group)


def group_in(partitions: int, wanted: int, stem: str = "workload") -> str:
    """Returns the name of a group that hashes to that partition of the offsets topic. Raises UsageError."""
    if partitions == 0:
        raise UsageError(
            f"{OFFSETS_TOPIC} does not exist yet", hint="kfix lab break healthy creates it; or use --group"
        )
    if not 0 <= wanted < partitions:
        raise UsageError(
            f"--offsets-partition {wanted}: {OFFSETS_TOPIC} has {partitions}", hint=f"0 to {partitions - 1}"
        )
    return name_for(wanted, partitions, stem)
