"""What a person should know before approving a plan, beyond its steps."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.model.diagnosis.finding import Finding
from kfix.model.plan.plan import Goal, PlannedStep, Risk


def warnings(finding: Finding, goal: Goal, steps: tuple[PlannedStep, ...]) -> Iterator[str]:
    if finding.unsettled:
        yield "the finding was seen once only: it may be an ordinary election that is still going on"
    wide = [step.id for step in steps if step.risk is Risk.WHOLE_CLUSTER]
    if wide:
        yield f"{', '.join(wide)} touches the whole cluster; it comes last and asks by itself"
    group = finding.facts.get("group")
    made_up = sorted({str(c.args["group"]) for c in goal.checks if c.args.get("group", group) != group})
    if made_up:
        yield f"no group is known to live there; the proof asks for {', '.join(made_up)}, which nobody uses"
    unknown = [s.id for s in steps if s.args.get("bytes") == -1 and s.estimate.replicas_moved]
    if unknown:
        yield f"the size of {len(unknown)} replicas to copy is unknown: no broker told it"
    copying = [s for s in steps if s.estimate.replicas_moved]
    if copying:
        yield "free disk space of the destinations is told by brokers from 3.3 on only: look before you approve"
    lost = [s.id for s in steps if s.risk is Risk.DATA_LOSS]
    if lost:
        yield f"{', '.join(lost)} CANNOT BE UNDONE and loses records"
