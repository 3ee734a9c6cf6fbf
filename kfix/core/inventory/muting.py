"""Which findings an inventory mutes: one rule for the audit of a fleet and for the diagnosis of one cluster."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from kfix.core.diagnosis.finding import Diagnosis, Finding, MutedFinding
from kfix.core.inventory.model import ClusterEntry, Mute


def active(mutes: Iterable[Mute], day: date) -> tuple[Mute, ...]:
    """Returns the mutes that have not expired on this day (UTC)."""
    return tuple(mute for mute in mutes if not mute.expired(day))


def first_mute(mutes: Iterable[Mute], cluster: str, code: str, key: str) -> Mute | None:
    """Returns the first of the active mutes that covers a finding, None if there is none."""
    return next((mute for mute in mutes if mute.matches(cluster, code, key)), None)


def covers_too(head: tuple[str, int], explained: tuple[str, int]) -> bool:
    """Whether the mute of a finding covers a consequence of it; each is given as its code and its own severity.

    It does not cover a worse consequence, since a dead broker may be known and the leaderless partition news. Nor does
    it cover a finding of the same code, which has another object: a second dead broker.
    """
    return explained[0] != head[0] and explained[1] <= head[1]


def as_listed(diagnosis: Diagnosis, entry: ClusterEntry, mutes: Sequence[Mute]) -> Diagnosis:
    """Returns the diagnosis of this cluster with its muted findings apart, and the current maintenance window.

    The mute of a head also covers its consequences that are no worse (`covers_too`); the others become heads. If a
    finding is muted under a head that is not, its consequences take its place. An expired mute becomes a note.
    """
    when = datetime.fromtimestamp(diagnosis.taken_at, UTC)
    window = entry.in_maintenance(when)
    valid = active(mutes, when.date())
    apart: list[MutedFinding] = []

    def covering(finding: Finding) -> Mute | None:
        return first_mute(valid, entry.name, finding.code, finding.key)

    def kept(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        stay: list[Finding] = []
        for finding in findings:
            rest = kept(finding.folded)
            if (mute := covering(finding)) is None:
                stay.append(finding if rest == finding.folded else finding.with_folded(rest))
            else:
                apart.append(_muted(finding.with_folded(()), mute))
                stay += rest
        return tuple(stay)

    heads: list[Finding] = []
    for head in diagnosis.findings:
        if (mute := covering(head)) is None:
            heads += kept((head,))
        else:
            covered, others = _split(head, (head.code, head.severity))
            apart.append(_muted(covered, mute))
            heads += kept(others)
    expired = [mute for mute in mutes if mute.expired(when.date()) and mute.names(entry.name)]
    notes = (f"the mute of {', '.join(mute.findings)} expired on {mute.until} and covers nothing" for mute in expired)
    return replace(
        diagnosis,
        findings=tuple(sorted(heads, key=lambda f: -f.worst)),
        muted=tuple(apart),
        maintenance="" if window is None else window.why or "maintenance",
        notes=(*diagnosis.notes, *notes),
    )


def _split(finding: Finding, head: tuple[str, int]) -> tuple[Finding, tuple[Finding, ...]]:
    """Returns the finding with those consequences that the mute of the head covers, and the others."""
    covered: list[Finding] = []
    others: list[Finding] = []
    for child in finding.folded:
        below, apart = _split(child, head)
        if covers_too(head, (child.code, child.severity)):
            covered.append(below)
            others += apart
        else:
            covered += below.folded
            others.append(child.with_folded(apart))
    return finding.with_folded(tuple(covered)), tuple(others)


def _muted(finding: Finding, mute: Mute) -> MutedFinding:
    return MutedFinding(finding, mute.reason, mute.until.isoformat(), mute.by)
