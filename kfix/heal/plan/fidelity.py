"""Detects forged plans: computes every argument again and compares it with the plan.

The hash reveals an edit unless it was computed again, and `planfile.audit` a plan without its guards. Arguments that
were read from the cluster, such as the winner of an election, are compared with the cluster itself, after the facts
were found unchanged and before the first question.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.args import Args
from kfix.core.errors import KfixError
from kfix.core.ports import ClusterReader
from kfix.heal.actions.base import NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import Phase, Plan, PlannedStep
from kfix.heal.probes.facts import FactReader

# It grows while records are written; it is an estimate and decides nothing.
_ESTIMATES = frozenset({"bytes"})

# Compared even in a run that has changed something already, because the steps of a plan do not alter these arguments.
_ALWAYS_COMPARED = frozenset({"config.set", "leader.elect_unclean"})


def unfaithful(plan: Plan, reader: ClusterReader, done: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yields one line per step whose arguments do not match the cluster.

    Restoring steps are excluded, because they hold what an earlier step found, and so are rollback plans, which
    `rollback.planning` checks. `done` holds the steps of an earlier process; they may have altered the facts of others.
    """
    if plan.undoes:
        return
    read = FactReader(reader)
    found: set[tuple[str, Args]] = set()
    for step in plan.steps:
        put_back = step.phase is not Phase.MAIN and (step.action, step.args) in found
        if step.inverse is not None:
            found.add((step.inverse.action, step.inverse.args))
        if (
            put_back
            or step.id in done
            or not ACTIONS[step.action].changes
            or (done and step.action not in _ALWAYS_COMPARED)
        ):
            continue
        yield from _compare(step, read)


def without_estimates(args: Args) -> Args:
    return Args({k: v for k, v in args.items() if k not in _ESTIMATES})


def _compare(step: PlannedStep, read: FactReader) -> Iterator[str]:
    action = ACTIONS[step.action]
    given = Args({k: v for k, v in step.args.items() if k not in action.frozen})
    try:
        found = action.freeze(given, read)
    except (NotApplicable, KfixError) as reason:
        yield f"step {step.id}: {reason}"
        return
    for name, value in without_estimates(found).items():
        if step.args.get(name) != value:
            yield f"step {step.id}: {name} is {step.args.get(name)} in the plan, but {value} on the cluster"
