"""What a plan may do at most. Refused as a whole above a limit; never cut to size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kfix.errors import RefusedError
from kfix.model.plan.plan import Plan


def refuse_over_limits(plan: Plan) -> None:
    for problem in over_limits(plan):
        raise RefusedError(
            f"{plan.runbook.id}: {problem}",
            hint="raise the limit in a copy of the runbook and give it with --runbooks DIR",
        )


def over_limits(plan: Plan) -> Iterator[str]:
    caps, impact = plan.caps, plan.impact
    partitions = max(len(plan.finding.partitions) if not plan.undoes else 0, impact.partitions)
    if partitions > caps.max_partitions:
        yield f"{partitions} partitions, {caps.max_partitions} are allowed (limits.max_partitions)"
    brokers = {b for s in plan.steps for b in _touched(s.args.get("replicas")) - _touched(s.args.get("before"))}
    if caps.max_brokers is not None and len(brokers) > caps.max_brokers:
        yield f"{len(brokers)} brokers get replicas, {caps.max_brokers} are allowed (limits.max_brokers)"
    if caps.max_bytes_moved is not None and impact.bytes > caps.max_bytes_moved:
        yield f"{impact.bytes} bytes to copy, {caps.max_bytes_moved} are allowed (limits.max_bytes_moved)"
    unknown = sum(s.estimate.replicas_moved > 0 and s.args.get("bytes") == -1 for s in plan.steps)
    if caps.max_bytes_moved is not None and unknown:
        yield f"the size of {unknown} partitions to copy is unknown, and limits.max_bytes_moved is to be kept"
    unclean = sum(s.action == "leader.elect_unclean" for s in plan.steps)
    if unclean > caps.max_unclean:
        yield f"{unclean} unclean elections, {caps.max_unclean} are allowed (limits.max_unclean)"
    together = max(Counter(s.batch for s in plan.steps if s.batch).values(), default=1)
    if caps.max_concurrent_moves is not None and together > caps.max_concurrent_moves:
        yield f"{together} moves at once, {caps.max_concurrent_moves} are allowed (limits.max_concurrent_moves)"


def _touched(value: object) -> set[int]:
    return set(value) if isinstance(value, tuple) else set()
