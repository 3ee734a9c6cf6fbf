"""Which findings a runbook is for, how many plans they make, and what stands for a finding where a person asks."""

from __future__ import annotations

from dataclasses import replace

from kfix.documents.problems import did_you_mean
from kfix.errors import RefusedError, UnreachableError, UsageError
from kfix.model.cluster.snapshot import Snapshot, TopicPartition
from kfix.model.diagnosis.finding import REQUEST, Cause, Confidence, Diagnosis, FactValue, Finding, Severity
from kfix.model.plan.runbook import Runbook

#: The parameter that names the topic of a request.
TOPIC = "topic"


def findings_for(runbook: Runbook, diagnosis: Diagnosis, key: str | None, topic: str = "") -> tuple[Finding, ...]:
    """All that the runbook is for, folded ones too, worst first, or those of one topic; or the one with that key."""
    found = {f.key: f for f in diagnosis.walk() if f.code in runbook.codes}
    if key is None:
        wanted = (f for f in found.values() if not topic or topic in topics_of(f))
        return tuple(sorted(wanted, key=lambda f: (-f.severity, f.code, f.partitions)))
    if key in found:
        return (found[key],)
    others = {f.key for f in diagnosis.walk()}
    if key in others:
        raise RefusedError(f"{runbook.id} is for {_purpose(runbook)}, not for {key}; nothing was changed")
    hint = f"found now: {', '.join(sorted(found)) or 'nothing that ' + runbook.id + ' is for'}"
    raise UsageError(f"there is no finding {key!r}{did_you_mean(key, others)}", hint=hint)


def topics_of(finding: Finding) -> frozenset[str]:
    return frozenset(tp.topic for tp in finding.partitions) | frozenset({str(finding.facts.get("topic", ""))} - {""})


def in_plans(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Findings of one code on the same topics become one, so that one look and one answer serve all partitions."""
    groups: dict[tuple[str, tuple[str, ...]], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, _subject(finding)), []).append(finding)
    return tuple(_merged(group) for group in groups.values())


def _subject(finding: Finding) -> tuple[str, ...]:
    return tuple(sorted(topics_of(finding))) or (finding.obj,)


def request(runbook: Runbook, topic: str, snapshot: Snapshot, by: str) -> Finding:
    """What a person asked for, in the place of a finding: a topic with all of its partitions, or the whole cluster."""
    partitions: tuple[TopicPartition, ...] = ()
    if runbook.request == TOPIC:
        partitions = _partitions(runbook, topic, snapshot)
    return Finding(
        code=REQUEST,
        severity=Severity.INFO,
        obj=topic if partitions else "cluster",
        summary=f"asked for by {by}",
        cause=Cause("a person's request", Confidence.CERTAIN),
        partitions=partitions,
        facts={TOPIC: topic} if partitions else {},
    )


def _partitions(runbook: Runbook, topic: str, snapshot: Snapshot) -> tuple[TopicPartition, ...]:
    if snapshot.zookeeper is None:
        raise UnreachableError("which topics there are was not read, so nothing can be planned")
    known = snapshot.zookeeper.assignments
    found = tuple(sorted(tp for tp in known if tp.topic == topic))
    if found:
        return found
    hint = f"-p {TOPIC}=NAME"
    if not topic or topic == _default(runbook):
        raise UsageError(f"nothing was found for {runbook.id}; without a finding it is asked for by topic", hint=hint)
    near = did_you_mean(topic, {tp.topic for tp in known})
    raise UsageError(f"there is no topic {topic!r} on {snapshot.cluster.name}{near}", hint=hint)


def _default(runbook: Runbook) -> object:
    param = runbook.params.get(TOPIC)
    return None if param is None else param.default


def _purpose(runbook: Runbook) -> str:
    return ", ".join(runbook.codes) or f"requests ({runbook.request})"


def _merged(group: list[Finding]) -> Finding:
    first = group[0]
    if len(group) == 1:
        return first
    partitions = tuple(dict.fromkeys(tp for finding in group for tp in finding.partitions))
    return replace(
        first,
        obj=f"{', '.join(_subject(first))} ({len(partitions)} partitions)",
        summary=f"{first.summary}; and {len(group) - 1} more like it",
        partitions=partitions,
        facts=_united(group),
        unsettled=any(finding.unsettled for finding in group),
    )


def _united(group: list[Finding]) -> dict[str, FactValue]:
    """Lists, such as the brokers that are lost, hold what all findings say; of anything else the first one's word."""
    facts = dict(group[0].facts)
    for finding in group[1:]:
        for name, value in finding.facts.items():
            known = facts.get(name, ())
            if isinstance(value, tuple) and isinstance(known, tuple):
                facts[name] = tuple(dict.fromkeys((*known, *value)))
    return facts
