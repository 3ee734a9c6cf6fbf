"""The catalogue as the engine and `kfix explain` use it: conditions compiled, pages looked up by code or slug."""

import linecache
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache

from kfix.core.derive.checks import Check, ClusterCheck, Debounce, PartitionCheck, Scope
from kfix.core.derive.predicate import Matcher, Predicate, compile_all, parse
from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError
from kfix.core.fleetcase import FleetCheck
from kfix_diagnostics import ALL

PARTITION_CHECKS = tuple(c for c in ALL if isinstance(c, PartitionCheck))
CLUSTER_CHECKS = tuple(c for c in ALL if isinstance(c, ClusterCheck))


@cache
def predicate_of(check: Check) -> Predicate | None:
    """Returns None for a check that gets no row. Raises InvalidFileError with file and line for a mistake in it."""
    return parse(check.rows, where(check)) if check.rows else None


def predicates(checks: Sequence[PartitionCheck] = PARTITION_CHECKS) -> tuple[Predicate, ...]:
    return tuple(p for check in checks if (p := predicate_of(check)) is not None)


@cache
def partition_checks(*, prevention: bool) -> tuple[PartitionCheck, ...]:
    return PARTITION_CHECKS if prevention else tuple(c for c in PARTITION_CHECKS if not c.prevention)


@cache
def cluster_checks(*, prevention: bool) -> tuple[ClusterCheck, ...]:
    return CLUSTER_CHECKS if prevention else tuple(c for c in CLUSTER_CHECKS if not c.prevention)


@cache
def matcher(*, prevention: bool = True) -> Matcher:
    """Returns the compiled conditions of `partition_checks` with the same argument, in the same order."""
    return compile_all(predicates(partition_checks(prevention=prevention)))


def where(check: Check) -> str:
    """Returns `file:line` of the condition, for error messages."""
    path = check.judge.__code__.co_filename
    for number, line in enumerate(linecache.getlines(path), 1):
        if check.rows[:40] in line:
            return f"{path}:{number}"
    return path


@cache
def pages() -> tuple[Check | FleetCheck, ...]:
    """Returns every check that `kfix explain` documents, by code: those of a cluster, and those over a fleet."""
    from kfix_diagnostics.fleet import FLEET  # noqa: PLC0415

    return tuple(sorted((*ALL, *FLEET), key=lambda check: check.code))


def find(name: str) -> Check:
    """Returns the check of a single cluster with this code or slug, in any case. Raises UsageError if there is none."""
    found = find_page(name)
    if not isinstance(found, Check):
        raise UsageError(f"{found.code} is a check over a fleet, not over one cluster", hint="kfix audit reports it")
    return found


def find_all(pattern: str) -> tuple[Check, ...]:
    """Returns the checks of a single cluster that a code, a slug or a pattern such as KFX1* names.

    Raises UsageError if there is none.
    """
    if not set(pattern) & set("*?["):
        return (find(pattern),)
    checks = (check for check in pages() if isinstance(check, Check))
    wanted = pattern.lower()
    found = tuple(c for c in checks if any(fnmatchcase(name, wanted) for name in (c.code.lower(), c.slug)))
    if not found:
        raise UsageError(f"no code matches {pattern!r}", hint="kfix explain lists all codes")
    return found


def find_page(name: str) -> Check | FleetCheck:
    """Returns the check with this code or slug, in any case. Raises UsageError if there is none."""
    wanted = name.lower()
    for check in pages():
        if wanted in {check.code.lower(), check.slug}:
            return check
    plain = name.upper()[:3] + name.upper()[3:].translate(_FOR_DIGITS)
    known = [word for check in pages() for word in (check.code, check.slug)]
    guess = did_you_mean(plain, known) or did_you_mean(name.lower(), known)
    raise UsageError(f"unknown code {name!r}{guess}", hint="kfix explain lists all codes")


def table() -> str:
    """Returns the table of codes as Markdown, for docs/diagnostics.md."""
    rows = ["| code | slug | worst | finding | must persist | reported |", "|---|---|---|---|---|---|"]
    rows += [f"| {c.code} | {c.slug} | {c.severity.word} | {c.title} | {_lasts(c)} | {_reported(c)} |" for c in pages()]
    return "\n".join(rows)


def _reported(check: Check | FleetCheck) -> str:
    if not isinstance(check, Check):
        return "audit"
    if check.scope is Scope.GROUP:
        return "with --group"
    return "latent risk" if check.prevention else "always"


def _lasts(check: Check | FleetCheck) -> str:
    return _LASTS[check.debounce if isinstance(check, Check) else Debounce.NONE]


#: Letters that are mistaken for digits.
_FOR_DIGITS = str.maketrans("OIL", "011")
_LASTS = {Debounce.NONE: "no", Debounce.HELD: "yes", Debounce.SAME: "yes, unchanged"}
