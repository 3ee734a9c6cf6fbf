"""The shape of a prepared incident, and the findings that a diagnosis of it gives."""

from collections.abc import Mapping
from dataclasses import dataclass

from kfix.core.derive.restoring import OffsetsItem
from kfix.core.diagnosis.finding import REQUEST, Cause, Confidence, FactValue, Finding, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.cluster import MemoryCluster


@dataclass(frozen=True, slots=True)
class PreparedIncident:
    """`finding` comes from a diagnosis, or from a person's request. `offsets` are saved ones to restore."""

    cluster: MemoryCluster
    finding: Finding
    offsets: tuple[OffsetsItem, ...] = ()


def found(
    code: str,
    obj: str,
    tps: tuple[TopicPartition, ...],
    *,
    severity: Severity = Severity.CRITICAL,
    facts: Mapping[str, FactValue] | None = None,
) -> Finding:
    cause = Cause("as diagnosed")
    return Finding(obj, f"{code} on {obj}", cause, severity, code, partitions=tps, facts=facts or {})


def requested(obj: str, tps: tuple[TopicPartition, ...]) -> Finding:
    cause = Cause("a person's request", Confidence.CERTAIN)
    return Finding(obj, "requested by a test", cause, Severity.INFO, REQUEST, partitions=tps)
