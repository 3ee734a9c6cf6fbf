"""Real throw-away Kafka clusters with incidents on demand. Importing this loads no client library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kfix.lab.cluster import Lab, down_all
from kfix.lab.definition.spec import LabSpec
from kfix.lab.incidents import INCIDENTS, Incident
from kfix.lab.incidents.setup.result import Broken
from kfix.lab.status import LabStatus, ProcessStatus

if TYPE_CHECKING:
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
    """The workload alone needs a client library when it is imported, so it comes when it is asked for."""
    if name in {"Workload", "WorkloadPlan", "Counts"}:
        from kfix.lab.workload import workload  # noqa: PLC0415 - see above

        return getattr(workload, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
