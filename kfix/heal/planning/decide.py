"""Decides `when` conditions while planning, from facts of the finding and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.errors import RefusedError
from kfix.heal.model.runbook import Condition, Several, words
from kfix.heal.runbook.references import Value


def _number(test: Callable[[float, float], bool]) -> Callable[[object, object], bool]:
    def compare(seen: object, wanted: object) -> bool:
        if not isinstance(seen, int | float) or not isinstance(wanted, int | float):
            raise RefusedError(f"{seen!r} and {wanted!r} cannot be compared as numbers")
        return test(seen, wanted)

    return compare


_TESTS: Mapping[str, Callable[[object, object], bool]] = {
    "eq": lambda seen, wanted: seen == wanted,
    "ne": lambda seen, wanted: seen != wanted,
    "lt": _number(lambda seen, wanted: seen < wanted),
    "le": _number(lambda seen, wanted: seen <= wanted),
    "gt": _number(lambda seen, wanted: seen > wanted),
    "ge": _number(lambda seen, wanted: seen >= wanted),
    "in": lambda seen, wanted: isinstance(wanted, tuple) and seen in wanted,
    "contains": lambda seen, wanted: isinstance(seen, tuple | str) and wanted in seen,
}


def decide(when: Condition, known: Mapping[str, Value], what: str) -> bool:
    """Returns whether a condition holds.

    Raises RefusedError if any fact it names is unknown, even if the others would decide: `any` must not hide a typo.
    """
    if isinstance(when, Several):
        results = [decide(part, known, what) for part in when.parts]
        return {"all": all, "any": any}[when.how](results) if when.how != "not" else not results[0]
    if when.fact not in known:
        raise RefusedError(f"{what}: cannot decide {words(when)}: the finding has no fact {when.fact}")
    return _TESTS[when.op](known[when.fact], when.value)
