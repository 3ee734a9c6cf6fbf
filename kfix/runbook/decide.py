"""`when`: decided while planning, from facts of the finding and parameters. A fact that is missing decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.errors import RefusedError
from kfix.model.runbook import When
from kfix.runbook.refs import Value

_TESTS: Mapping[str, Callable[[object, object], bool]] = {
    "eq": lambda seen, wanted: seen == wanted,
    "ne": lambda seen, wanted: seen != wanted,
    "in": lambda seen, wanted: isinstance(wanted, tuple) and seen in wanted,
    "contains": lambda seen, wanted: isinstance(seen, tuple | str) and wanted in seen,
}


def decide(when: When, known: Mapping[str, Value], what: str) -> bool:
    if when.fact not in known:
        raise RefusedError(f"{what}: cannot decide {words(when)}: the finding says nothing about {when.fact}")
    return _TESTS[when.op](known[when.fact], when.value)


def words(when: When) -> str:
    return f"{when.fact} {when.op} {list(when.value) if isinstance(when.value, tuple) else when.value}"
