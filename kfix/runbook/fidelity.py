"""Whether a plan is what kfix would make of the world it says it was made of: every argument is worked out again.

A hash tells an edit by somebody who cannot hash, and `planfile.audit` a plan without its guards. Arguments that were
read from the cluster, such as who will win an election, are compared with the cluster itself, after its facts were
found unchanged and before anybody is asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.actions.base import NotApplicable
from kfix.actions.registry import ALL as ACTIONS
from kfix.errors import KfixError
from kfix.model.args import Args
from kfix.model.plan import Plan, PlannedStep
from kfix.ports import ClusterReader
from kfix.probes.facts import FactReader

# Grows while records are written; it is an estimate and decides nothing.
_ESTIMATES = frozenset({"bytes"})


def unfaithful(plan: Plan, reader: ClusterReader) -> Iterator[str]:
    """One line a step that says something else than the cluster does. Inverses are what another step found."""
    read = FactReader(reader)
    inverses = {(s.inverse.action, s.inverse.args) for s in plan.steps if s.inverse is not None}
    for step in plan.steps:
        if (step.action, step.args) not in inverses and not plan.undoes:
            yield from _compare(step, read)


def _compare(step: PlannedStep, read: FactReader) -> Iterator[str]:
    action = ACTIONS[step.action]
    given = Args({k: v for k, v in step.args.items() if k not in action.frozen})
    try:
        found = action.freeze(given, read)
    except (NotApplicable, KfixError) as reason:
        yield f"step {step.id}: {reason}"
        return
    for name, value in found.items():
        if name not in _ESTIMATES and step.args.get(name) != value:
            yield f"step {step.id}: {name} is {step.args.get(name)} in the plan, the cluster says {value}"
