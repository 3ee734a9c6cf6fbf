"""Which rows of `facts` a check walks through, so that a healthy cluster's rows never become Python objects.

A check that is not named here walks through all rows: right, and slower (about 1 us a row). A condition may pick more
rows than the check wants, never fewer; tests compare every judgement with the one over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck
from kfix.derive.predicate import Predicate, parse

_NOWHERE: Final = "False"


def _controller(case: CaseFile) -> str:
    """A broker that answers and knows no partition is looked for in the isr of all of them."""
    return "leader >= 0 and leaderless" if all(v.partitions for v in case.views.values()) else ""


_ASK_THE_OVERVIEW: Final = tuple(f"KFX8{n:02}" for n in range(1, 11))

_WALKS: Final[Mapping[str, Callable[[CaseFile], str]]] = {
    "KFX106": lambda case: "offsets and leader >= 0 and not leaderless" if case.probes else _NOWHERE,
    "KFX202": _controller,
    "KFX203": lambda _: "not views_agree and not deleting",
    "KFX401": lambda case: "n_live_replicas < n_replicas" if case.dead else _NOWHERE,
    "KFX403": lambda case: "leader >= 0 and (not views_agree or not zk_agrees)" if case.shut_out else _NOWHERE,
    # They ask for the odd rows only, which the stored case finds by itself.
    **dict.fromkeys(_ASK_THE_OVERVIEW, lambda _: _NOWHERE),
    "KFX610": lambda _: "offsets and not deleting",
}

#: Partition checks whose descriptions ask who else is in sync with the brokers that lag (`_missing.cause_of`).
ASK_WHO_IS_IN_SYNC: Final = frozenset({"KFX301", "KFX302", "KFX304"})


def walk_of(check: ClusterCheck, case: CaseFile) -> Predicate | None:
    """None: all rows."""
    text = _WALKS[check.code](case) if check.code in _WALKS else ""
    return _parsed(text) if text else None


@cache
def _parsed(text: str) -> Predicate:
    return parse(text, f"{__name__}: {text!r}")
