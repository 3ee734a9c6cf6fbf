"""The Python interface of kfix: what its commands do, for programs (docs/python.md).

    from kfix.api import Access, Approval, carry_out, diagnose, plan

    access = Access("broker1:9092")
    for finding in diagnose(access).findings:
        print(finding.key, finding.summary)
    made = plan("coordinator-stuck", access)
    carry_out(made, access, approval=Approval(approve=(f"plan:{made.short_id}",)))

They are loaded when the first of them is used, so that `import kfix.api` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kfix.api.calls import *  # noqa: F403 - its `__all__` names everything that programs may use


def __getattr__(name: str) -> Any:
    calls = import_module("kfix.api.calls")
    if name != "__all__" and name not in calls.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(calls, name)
