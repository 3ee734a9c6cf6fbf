"""Why a plan is refused for what it contains: above a limit, or forged."""

from collections import Counter
from collections.abc import Iterator

from kfix.core.args import Args
from kfix.core.errors import KfixError, RefusedError
from kfix.core.ports import ClusterReader
from kfix.core.wording import known_size, several
from kfix.heal.actions.base import NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import Phase, Plan, PlannedStep
from kfix.heal.probes.facts import FactReader


def refuse_over_limits(plan: Plan) -> None:
    """Raises RefusedError, naming the first limit that the plan exceeds."""
    for problem in over_limits(plan):
        raise RefusedError(
            f"{plan.runbook.id}: {problem}",
            hint="raise the limit in a copy of the runbook and pass its folder with --runbooks DIR",
        )


def over_limits(plan: Plan) -> Iterator[str]:
    caps, impact = plan.caps, plan.impact
    partitions = max(len(plan.finding.partitions) if not plan.undoes else 0, impact.partitions)
    if partitions > caps.max_partitions:
        yield f"{several(partitions, 'partition')}; the limit is {caps.max_partitions} (limits.max_partitions)"
    brokers = {b for s in plan.steps for b in _touched(s.args.get("replicas")) - _touched(s.args.get("before"))}
    if caps.max_brokers is not None and len(brokers) > caps.max_brokers:
        count = several(len(brokers), "broker")
        yield f"{count} to add replicas to; the limit is {caps.max_brokers} (limits.max_brokers)"
    if caps.max_bytes_moved is not None and impact.bytes > caps.max_bytes_moved:
        limit = known_size(caps.max_bytes_moved)
        yield f"{known_size(impact.bytes)} to copy; the limit is {limit} (limits.max_bytes_moved)"
    unknown = sum(s.estimate.replicas_moved > 0 and s.args.get("bytes") == -1 for s in plan.steps)
    if caps.max_bytes_moved is not None and unknown:
        size = several(unknown, "partition")
        yield f"the size of {size} to copy is unknown, so limits.max_bytes_moved cannot be checked"
    unclean = sum(s.action == "leader.elect_unclean" for s in plan.steps)
    if unclean > caps.max_unclean:
        yield f"{several(unclean, 'unclean election')}; the limit is {caps.max_unclean} (limits.max_unclean)"
    together = max(Counter(s.batch for s in plan.steps if s.batch).values(), default=1)
    if caps.max_concurrent_moves is not None and together > caps.max_concurrent_moves:
        most = caps.max_concurrent_moves
        yield f"{several(together, 'move')} at once; the limit is {most} (limits.max_concurrent_moves)"


def _touched(value: object) -> set[int]:
    return set(value) if isinstance(value, tuple) else set()


# Detects forged plans: computes every argument again and compares it with the plan.
#
# The hash reveals an edit unless it was computed again, and `planfile.audit` a plan without its guards. Arguments that
# were read from the cluster, such as the winner of an election, are compared with the cluster itself, after the facts
# were found unchanged and before the first question.

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
