"""Root causes first: a finding that follows from another is folded under it, and the worst heads come first."""

from collections.abc import Iterable, Sequence

from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Finding


def fold(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Returns the heads, each with the findings that it explains. None is dropped: of two with one key both remain."""
    by_key: dict[str, Finding] = {}
    more = [finding for finding in findings if by_key.setdefault(finding.key, finding) is not finding]
    parents = {key: parent for key, finding in by_key.items() if (parent := _parent(finding, by_key))}
    heads = dict.fromkeys(key for key in by_key if key not in parents or _in_a_circle(key, parents))
    children = grouped((parents[key], key) for key in by_key if key not in heads)
    return _ordered([*(_grown(key, by_key, children) for key in heads), *more])


def _parent(finding: Finding, by_key: dict[str, Finding]) -> str | None:
    """Returns the first finding it names as its cause that is present; None where none is."""
    named = next((key for key in finding.follows if key in by_key and key != finding.key), None)
    if named is not None or not finding.follows_codes:
        return named
    mine = set(finding.partitions)
    shared = (f for f in by_key.values() if f.code in finding.follows_codes and not mine.isdisjoint(f.partitions))
    return next((f.key for f in shared if f.key != finding.key), None)


def _in_a_circle(key: str, parents: dict[str, str]) -> bool:
    at = parents.get(key)
    seen = set[str]()
    while at is not None and at not in seen:
        if at == key:
            return True
        seen.add(at)
        at = parents.get(at)
    return False


def _grown(key: str, by_key: dict[str, Finding], children: dict[str, list[str]]) -> Finding:
    folded = [_grown(child, by_key, children) for child in children.get(key, ())]
    return by_key[key].with_folded(_ordered(folded)) if folded else by_key[key]


def _ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda f: (-f.worst, f.code, f.obj)))
