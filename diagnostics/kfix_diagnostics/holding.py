"""No advice is forbidden by another finding of the same diagnosis: such a remedy waits, and names what it waits for.

An unclean election waits with the start that would make it unnecessary.
"""

from collections.abc import Iterable
from dataclasses import replace

from kfix.core.diagnosis.finding import Ban, ChangeKind, Finding, Remedy
from kfix.core.wording import continued


def held_back(findings: Iterable[Finding]) -> list[Finding]:
    """Returns the findings; a remedy that another finding forbids says to wait for that one, and has no command."""
    every = [*findings]
    banning = [finding for finding in every if finding.forbids]
    return [_held(finding, banning) for finding in every] if banning else every


def _held(finding: Finding, banning: list[Finding]) -> Finding:
    remedies = tuple(_waiting(remedy, finding, banning) for remedy in finding.remedies)
    start = next((r for r in remedies if r.after and ChangeKind.START in r.changes), None)
    if start is not None:
        first = next(other for other in banning if other.key == start.after)
        remedies = tuple(
            _after(first, r) if not r.after and ChangeKind.UNCLEAN_ELECTION in r.changes else r for r in remedies
        )
    return finding if remedies == finding.remedies else replace(finding, remedies=remedies)


def _waiting(remedy: Remedy, finding: Finding, banning: list[Finding]) -> Remedy:
    others = (other for other in banning if other is not finding)
    first = next((other for other in others if any(_covers(ban, remedy, finding) for ban in other.forbids)), None)
    return remedy if first is None else _after(first, remedy)


def _after(first: Finding, remedy: Remedy) -> Remedy:
    text = f"Wait until {first.code} ({first.obj}) is resolved. Then: {continued(remedy.text.removeprefix('Or '))}"
    return replace(remedy, text=text, command="", after=first.key)


def _covers(ban: Ban, remedy: Remedy, finding: Finding) -> bool:
    if not set(ban.changes) & set(remedy.changes):
        return False
    if ban.brokers is not None:
        return not remedy.brokers or not ban.brokers.isdisjoint(remedy.brokers)
    return ban.partitions is None or not ban.partitions.isdisjoint(finding.partitions)
