"""Which findings a runbook is for, and how many plans they make."""

from __future__ import annotations

from dataclasses import replace

from kfix.errors import RefusedError, UsageError
from kfix.model.finding import Diagnosis, Finding
from kfix.model.runbook import Runbook
from kfix.runbook.problems import did_you_mean


def findings_for(runbook: Runbook, diagnosis: Diagnosis, key: str | None) -> tuple[Finding, ...]:
    """All that the runbook is for, folded ones too, worst first; or the one with that key."""
    found = {f.key: f for f in diagnosis.walk() if f.code in runbook.codes}
    if key is None:
        return tuple(sorted(found.values(), key=lambda f: (-f.severity, f.code, f.partitions)))
    if key in found:
        return (found[key],)
    others = {f.key for f in diagnosis.walk()}
    if key in others:
        raise RefusedError(f"{runbook.id} is for {', '.join(runbook.codes)}, not for {key}; nothing was changed")
    hint = f"found now: {', '.join(sorted(found)) or 'nothing that ' + runbook.id + ' is for'}"
    raise UsageError(f"there is no finding {key!r}{did_you_mean(key, others)}", hint=hint)


def in_plans(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Findings of one code on one topic become one, so that one look and one answer serve all of its partitions."""
    groups: dict[tuple[str, object], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.facts.get("topic")), []).append(finding)
    return tuple(_merged(group) for group in groups.values())


def _merged(group: list[Finding]) -> Finding:
    first = group[0]
    if len(group) == 1:
        return first
    partitions = tuple(dict.fromkeys(tp for finding in group for tp in finding.partitions))
    return replace(
        first,
        obj=f"{first.facts.get('topic')} ({len(partitions)} partitions)",
        summary=f"{first.summary}; and {len(group) - 1} more like it",
        partitions=partitions,
        unsettled=any(finding.unsettled for finding in group),
    )
