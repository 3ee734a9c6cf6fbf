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
    from kfix.api.calls import carry_out, diagnose, judge, load_snapshot, named, plan, preflight, snapshot, whatif
    from kfix.core.access import Access
    from kfix.core.application import App
    from kfix.core.clusters import Clusters, DiagnoseOptions, OpenCluster
    from kfix.core.criteria import Criteria
    from kfix.core.diagnosis.finding import Diagnosis, Finding
    from kfix.core.diagnosis.forecast import Forecast
    from kfix.core.errors import KfixError
    from kfix.core.ports import Human
    from kfix.core.snapshot.snapshot import Snapshot
    from kfix.diagnose.report.json_findings import findings_json
    from kfix.diagnose.report.verdict import exit_code
    from kfix.diagnose.snapshots import save_snapshot
    from kfix.heal.execution.context import RunResult
    from kfix.heal.model.plan import Plan
    from kfix.heal.session.request import Nothing
    from kfix.heal.session.session import Approval
    from kfix.preflight.model import Preflight

_HOMES = {
    "Access": "kfix.core.access",
    "App": "kfix.core.application",
    "Approval": "kfix.heal.session.session",
    "Clusters": "kfix.core.clusters",
    "Criteria": "kfix.core.criteria",
    "DiagnoseOptions": "kfix.core.clusters",
    "Diagnosis": "kfix.core.diagnosis.finding",
    "Finding": "kfix.core.diagnosis.finding",
    "Forecast": "kfix.core.diagnosis.forecast",
    "Human": "kfix.core.ports",
    "KfixError": "kfix.core.errors",
    "Nothing": "kfix.heal.session.request",
    "OpenCluster": "kfix.core.clusters",
    "Plan": "kfix.heal.model.plan",
    "Preflight": "kfix.preflight.model",
    "RunResult": "kfix.heal.execution.context",
    "Snapshot": "kfix.core.snapshot.snapshot",
    "carry_out": "kfix.api.calls",
    "diagnose": "kfix.api.calls",
    "exit_code": "kfix.diagnose.report.verdict",
    "findings_json": "kfix.diagnose.report.json_findings",
    "judge": "kfix.api.calls",
    "load_snapshot": "kfix.api.calls",
    "named": "kfix.api.calls",
    "plan": "kfix.api.calls",
    "preflight": "kfix.api.calls",
    "save_snapshot": "kfix.diagnose.snapshots",
    "snapshot": "kfix.api.calls",
    "whatif": "kfix.api.calls",
}

__all__ = [
    "Access",
    "App",
    "Approval",
    "Clusters",
    "Criteria",
    "DiagnoseOptions",
    "Diagnosis",
    "Finding",
    "Forecast",
    "Human",
    "KfixError",
    "Nothing",
    "OpenCluster",
    "Plan",
    "Preflight",
    "RunResult",
    "Snapshot",
    "carry_out",
    "diagnose",
    "exit_code",
    "findings_json",
    "judge",
    "load_snapshot",
    "named",
    "plan",
    "preflight",
    "save_snapshot",
    "snapshot",
    "whatif",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
