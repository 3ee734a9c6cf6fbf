"""Warnings that an operator should read before approving a plan."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.diagnosis.finding import Finding
from kfix.core.snapshot.snapshot import Mode
from kfix.core.wording import several
from kfix.heal.model.plan import Goal, PlannedStep, Risk

#: Why: docs/adr/023.
ALONE = (
    "on KRaft the lock covers this host only, so every change is approved separately: make sure that no other kfix "
    "changes this cluster"
)


def warnings(finding: Finding, goal: Goal, steps: tuple[PlannedStep, ...], mode: Mode) -> Iterator[str]:
    if mode is Mode.KRAFT:
        yield ALONE
    if finding.unsettled:
        yield "the finding was seen in one snapshot only; it may be an ordinary election in progress"
    wide = [step.id for step in steps if step.risk is Risk.WHOLE_CLUSTER]
    if wide:
        yield f"{', '.join(wide)} touches the whole cluster; it comes last and has its own gate"
    group = finding.facts.get("group")
    made_up = sorted(
        {
            str(c.args["group"])
            for c in goal.checks
            if c.check == "coordinator_answers" and c.args.get("group", group) != group
        }
    )
    if made_up:
        names = f"{'group' if len(made_up) == 1 else 'groups'} {', '.join(made_up)}"
        yield f"no consumer group is known on these partitions; the proof uses the unused {names}"
    unknown = [s.id for s in steps if s.args.get("bytes") == -1 and s.estimate.replicas_moved]
    if unknown:
        yield f"the size of {several(len(unknown), 'partition')} to copy is unknown: no broker reported it"
    copying = [s for s in steps if s.estimate.replicas_moved]
    if copying:
        yield "check the free disk space of the destination brokers: Kafka reports it only from version 3.3 on"
    lost = [s.id for s in steps if s.risk is Risk.DATA_LOSS]
    if lost:
        yield f"{', '.join(lost)} CANNOT BE UNDONE and may lose records"
