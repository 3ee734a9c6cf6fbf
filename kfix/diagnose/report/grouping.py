"""Shows findings of single partitions that share cause and remedy as one finding that lists them.

JSON keeps one key per partition, and the full report shows each with its own evidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Blocked, Diagnosis, Finding
from kfix.core.wording import several, some

_NAMED: Final = 6


def in_groups(diagnosis: Diagnosis) -> Diagnosis:
    """Returns the diagnosis with one finding for each group; the rest stays as it is."""
    groups = grouped((_same(finding), finding) for finding in diagnosis.findings)
    return replace(diagnosis, findings=tuple(map(_one_of, groups.values())))


def _same(finding: Finding) -> object:
    """Returns what findings of one group have in common; for any other finding, its key."""
    if len(finding.partitions) != 1 or finding.obj != str(finding.partitions[0]):
        return finding.key
    first = finding.remedies[0] if finding.remedies else None
    return (
        finding.code,
        finding.severity,
        finding.unsettled,
        finding.cause,
        finding.never,
        first and (first.text, first.command),
    )


def _one_of(group: list[Finding]) -> Finding:
    first = group[0]
    if len(group) == 1:
        return first
    # Their durations may differ: only cause and remedy are the same.
    verb = "has" if len(group) == 2 else "have"
    more = f"{several(len(group) - 1, 'more partition')} {verb} the same cause and the same remedy"
    return replace(
        first,
        obj=some([finding.obj for finding in group], _NAMED),
        summary=f"{first.summary}. {more}",
        blocked=_together([finding.blocked for finding in group]),
        partitions=tuple(tp for finding in group for tp in finding.partitions),
        folded=tuple(child for finding in group for child in finding.folded),
    )


def _together(each: Iterable[Blocked]) -> Blocked:
    blocked = [*each]
    who = [*dict.fromkeys(b.who for b in blocked if b.who)]
    first = who[0] if who else ""
    return Blocked(
        f"{first}, and of {several(len(who) - 1, 'more partition')}" if len(who) > 1 else first,
        tuple(sorted({name for b in blocked for name in b.groups})),
        any(b.others_unknown for b in blocked),
    )
