"""The application layer: every use case of kfix, for the command line and for Python programs (docs/python.md).

    from kfix.app import Access, Approval, carry_out, diagnose, plan

    access = Access("broker1:9092")
    for finding in diagnose(access).findings:
        print(finding.key, finding.summary)
    made = plan("coordinator-stuck", access)
    carry_out(made, access, approval=Approval(approve=(f"plan:{made.short_id}",)))

A name is loaded when it is first used, so that `import kfix.app` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kfix.app.access import Access
    from kfix.app.api import carry_out, diagnose, plan, whatif
    from kfix.app.application import App
    from kfix.app.clusters import Clusters, DiagnoseOptions, OpenCluster
    from kfix.app.healing.request import Nothing
    from kfix.app.healing.session import Approval
    from kfix.model.diagnosis.finding import Diagnosis, Finding
    from kfix.model.diagnosis.forecast import Forecast
    from kfix.model.plan.plan import Plan
    from kfix.runbook.execution.context import RunResult
    from kfix.runbook.gate.gates import Human

_HOMES = {
    "Access": "kfix.app.access",
    "App": "kfix.app.application",
    "Approval": "kfix.app.healing.session",
    "Clusters": "kfix.app.clusters",
    "DiagnoseOptions": "kfix.app.clusters",
    "Diagnosis": "kfix.model.diagnosis.finding",
    "Finding": "kfix.model.diagnosis.finding",
    "Forecast": "kfix.model.diagnosis.forecast",
    "RunResult": "kfix.runbook.execution.context",
    "Human": "kfix.runbook.gate.gates",
    "Nothing": "kfix.app.healing.request",
    "OpenCluster": "kfix.app.clusters",
    "Plan": "kfix.model.plan.plan",
    "carry_out": "kfix.app.api",
    "diagnose": "kfix.app.api",
    "plan": "kfix.app.api",
    "whatif": "kfix.app.api",
}

__all__ = [
    "Access",
    "App",
    "Approval",
    "Clusters",
    "DiagnoseOptions",
    "Diagnosis",
    "Finding",
    "Forecast",
    "Human",
    "Nothing",
    "OpenCluster",
    "Plan",
    "RunResult",
    "carry_out",
    "diagnose",
    "plan",
    "whatif",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
