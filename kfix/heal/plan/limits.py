"""Refuses a plan above a limit as a whole; it is never shortened to fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kfix.core.errors import RefusedError
from kfix.core.wording import known_size, several
from kfix.heal.model.plan import Plan


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
