"""Matches runbooks with findings, groups findings into plans, and makes the stand-in finding of a request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kfix.core.diagnosis.finding import REQUEST, Cause, Confidence, Diagnosis, FactValue, Finding, Severity
from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import RefusedError, UnreachableError, UsageError
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.heal.record import record_to_plan_with

if TYPE_CHECKING:
    from kfix.heal.model.runbook import Runbook

#: The parameter that names the topic of a request.
TOPIC = "topic"
#: The object in the key of a plan for all findings of a runbook.
_ALL = "all"


def findings_for(runbook: Runbook, diagnosis: Diagnosis, key: str | None, topic: str = "") -> tuple[Finding, ...]:
    """Returns the findings that the runbook is for, folded ones included, worst first.

    `key` selects one finding, `topic` a topic's findings. Raises UsageError for an unknown key, RefusedError for the
    key of a finding that the runbook is not for.
    """
    found = {f.key: f for f in diagnosis.walk() if f.code in runbook.codes}
    if key is None:
        wanted = (f for f in found.values() if not topic or topic in topics_of(f))
        return tuple(sorted(wanted, key=lambda f: (-f.severity, f.code, f.partitions)))
    if key in found:
        return (found[key],)
    united = _plans_by_key(tuple(found.values()), runbook)
    if key in united:
        return (united[key],)
    others = {f.key for f in diagnosis.walk()}
    if key in others:
        raise RefusedError(f"{runbook.id} is for {_purpose(runbook)}, not for {key}; nothing was changed")
    hint = f"present findings: {', '.join(sorted(found)) or 'none that ' + runbook.id + ' is for'}"
    raise UsageError(f"there is no finding {key!r}{did_you_mean(key, others)}", hint=hint)


def topics_of(finding: Finding) -> frozenset[str]:
    return frozenset(tp.topic for tp in finding.partitions) | frozenset({str(finding.facts.get("topic", ""))} - {""})


def _plans_by_key(findings: tuple[Finding, ...], runbook: Runbook) -> dict[str, Finding]:
    """Returns the findings by the keys of their plans, so that the key in a plan can be named again.

    `CODE:all` still means all of them when only one is left.
    """
    plans = in_plans(tuple(sorted(findings, key=lambda f: (-f.severity, f.code, f.partitions))), runbook)
    found = {plan.key: plan for plan in plans}
    if runbook.on.together and len(plans) == 1:
        found |= {f"{code}:{_ALL}": plans[0] for code in runbook.codes}
    return found


def in_plans(findings: tuple[Finding, ...], runbook: Runbook) -> tuple[Finding, ...]:
    """Merges findings into plans, so that one plan and one answer cover all their partitions.

    Findings of one code on the same topics are one plan, unless they name different things, such as two transactions:
    the plan has the names of one, and its proof would not see the other. If the runbook heals all its findings
    together, they are one plan, unless they have more partitions than it may change.
    """
    if runbook.on.together and sum(len(f.partitions) for f in findings) <= runbook.caps.max_partitions:
        return (_merged(list(findings), _ALL),) if findings else ()
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[Finding]] = {}
    for finding in findings:
        names = tuple(f"{name}={value}" for name, value in sorted(finding.facts.items()) if isinstance(value, str))
        groups.setdefault((finding.code, _subject(finding), names), []).append(finding)
    return tuple(_merged(group, ", ".join(_subject(group[0]))) for group in groups.values())


def _subject(finding: Finding) -> tuple[str, ...]:
    return tuple(sorted(topics_of(finding))) or (finding.obj,)


def request(runbook: Runbook, topic: str, snapshot: Snapshot, by: str) -> Finding:
    """Returns the stand-in finding of a request: for a topic with all its partitions, or for the whole cluster.

    Raises UsageError for an unknown topic, UnreachableError if the topics could not be read.
    """
    partitions: tuple[TopicPartition, ...] = ()
    if runbook.request == TOPIC:
        partitions = _partitions(runbook, topic, snapshot)
    return Finding(
        code=REQUEST,
        severity=Severity.INFO,
        obj=topic if partitions else "cluster",
        summary=f"requested by {by}",
        cause=Cause("an operator's request", Confidence.CERTAIN),
        partitions=partitions,
        facts={TOPIC: topic} if partitions else {},
    )


def _partitions(runbook: Runbook, topic: str, snapshot: Snapshot) -> tuple[TopicPartition, ...]:
    record = record_to_plan_with(snapshot)
    if record is None:
        raise UnreachableError("the list of topics could not be read, so nothing can be planned")
    known = record.assignments
    found = tuple(sorted(tp for tp in known if tp.topic == topic))
    if found:
        return found
    hint = f"-p {TOPIC}=NAME"
    if not topic or topic == _default(runbook):
        raise UsageError(f"no finding for {runbook.id}; to run it without one, name the topic", hint=hint)
    near = did_you_mean(topic, {tp.topic for tp in known})
    raise UsageError(f"there is no topic {topic!r} on {snapshot.cluster.name}{near}", hint=hint)


def _default(runbook: Runbook) -> object:
    param = runbook.params.get(TOPIC)
    return None if param is None else param.default


def _purpose(runbook: Runbook) -> str:
    return ", ".join(runbook.codes) or f"requests ({runbook.request})"


def _merged(group: list[Finding], about: str) -> Finding:
    first = group[0]
    if len(group) == 1:
        return first
    partitions = tuple(dict.fromkeys(tp for finding in group for tp in finding.partitions))
    return replace(
        first,
        obj=f"{', '.join(sorted({name for each in group for name in _subject(each)}))} ({len(partitions)} partitions)",
        about=about,
        summary=f"{first.summary}; and {len(group) - 1} more like it",
        partitions=partitions,
        facts=_united(group),
        unsettled=any(finding.unsettled for finding in group),
    )


def _united(group: list[Finding]) -> dict[str, FactValue]:
    """Merges facts: lists, such as lost brokers, are united; any other fact has the first finding's value."""
    facts = dict(group[0].facts)
    for finding in group[1:]:
        for name, value in finding.facts.items():
            known = facts.get(name, ())
            if isinstance(value, tuple) and isinstance(known, tuple):
                facts[name] = tuple(dict.fromkeys((*known, *value)))
    return facts
