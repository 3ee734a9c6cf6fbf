"""Real throw-away Kafka clusters with incidents on demand. Importing this loads no client library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kfix.lab.cluster import Lab, down_all
from kfix.lab.definition.spec import LabSpec
from kfix.lab.status import LabStatus, ProcessStatus

if TYPE_CHECKING:
    from kfix.lab.incidents import INCIDENTS, Broken, Incident
    from kfix.lab.workload.tally import Counts
    from kfix.lab.workload.workload import Workload, WorkloadPlan

__all__ = [
    "INCIDENTS",
    "Broken",
    "Counts",
    "Incident",
    "Lab",
    "LabSpec",
    "LabStatus",
    "ProcessStatus",
    "Workload",
    "WorkloadPlan",
    "down_all",
]


def __getattr__(name: str) -> Any:
    """Loads incidents and the workload when they are asked for: the one need Kafka's protocol, the other a client."""
    if name in {"INCIDENTS", "Incident", "Broken"}:
        from kfix.lab import incidents  # noqa: PLC0415 - see above

        return getattr(incidents, name)
    if name in {"Workload", "WorkloadPlan", "Counts"}:
        from kfix.lab.workload import workload  # noqa: PLC0415 - see above

        return getattr(workload, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
