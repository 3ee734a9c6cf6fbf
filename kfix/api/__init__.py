"""The Python interface of kfix: what its commands do, for programs (docs/python.md).

    from kfix.api import Access, Approval, carry_out, diagnose, plan

    access = Access("broker1:9092")
    for finding in diagnose(access).findings:
        print(finding.key, finding.summary)
    made = plan("coordinator-stuck", access)
    carry_out(made, access, approval=Approval(approve=(f"plan:{made.short_id}",)))

A name is loaded when it is first used, so that `import kfix.api` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kfix.api.calls import carry_out, diagnose, plan, whatif
    from kfix.core.access import Access
    from kfix.core.application import App
    from kfix.core.clusters import Clusters, DiagnoseOptions, OpenCluster
    from kfix.core.diagnosis.finding import Diagnosis, Finding
    from kfix.core.diagnosis.forecast import Forecast
    from kfix.core.ports import Human
    from kfix.heal.execution.context import RunResult
    from kfix.heal.model.plan import Plan
    from kfix.heal.session.request import Nothing
    from kfix.heal.session.session import Approval

_HOMES = {
    "Access": "kfix.core.access",
    "App": "kfix.core.application",
    "Approval": "kfix.heal.session.session",
    "Clusters": "kfix.core.clusters",
    "DiagnoseOptions": "kfix.core.clusters",
    "Diagnosis": "kfix.core.diagnosis.finding",
    "Finding": "kfix.core.diagnosis.finding",
    "Forecast": "kfix.core.diagnosis.forecast",
    "RunResult": "kfix.heal.execution.context",
    "Human": "kfix.core.ports",
    "Nothing": "kfix.heal.session.request",
    "OpenCluster": "kfix.core.clusters",
    "Plan": "kfix.heal.model.plan",
    "carry_out": "kfix.api.calls",
    "diagnose": "kfix.api.calls",
    "plan": "kfix.api.calls",
    "whatif": "kfix.api.calls",
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
