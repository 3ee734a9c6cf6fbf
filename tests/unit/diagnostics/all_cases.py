"""Every snapshot that a test of the checks rests on, by name: the sick and the well, incidents, in-memory clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

from kfix.core.snapshot.snapshot import Snapshot
from kfix.heal.memory.incidents import ALL as MEMORY
from tests.unit.diagnostics.cases import SICK, WELL
from tests.unit.diagnostics.prevention_cases import SICK as AT_RISK
from tests.unit.diagnostics.prevention_cases import WELL as SAFE
from tests.unit.diagnostics.test_incidents import INCIDENTS


def in_memory(name: str) -> Snapshot:
    return MEMORY[name]().cluster.snapshot()


#: The cases of the codes: what a check must find, and what it must not.
OF_CODES: Mapping[str, Callable[[], Snapshot]] = {
    **{f"{code}-sick-{i}": case.make for code, cases in SICK.items() for i, case in enumerate(cases)},
    **{f"{code}-well-{i}": make for code, makes in WELL.items() for i, make in enumerate(makes)},
}
CASES: Mapping[str, Callable[[], Snapshot]] = {
    **OF_CODES,
    **{f"{code}-at-risk-{i}": case.make for code, cases in AT_RISK.items() for i, case in enumerate(cases)},
    **{f"{code}-safe-{i}": make for code, makes in SAFE.items() for i, make in enumerate(makes)},
    **{f"incident-{name}": make for name, (make, _) in INCIDENTS.items()},
    **{f"memory-{name}": partial(in_memory, name) for name in MEMORY},
}


@cache
def kraft_cases() -> Mapping[str, Snapshot]:
    """Returns the cases of the codes that show a KRaft quorum and that an audit can collect."""
    made = {name: make() for name, make in OF_CODES.items()}
    return {name: one for name, one in made.items() if one.quorum is not None and one.pasted is None}


def kraft_selection() -> Mapping[str, Snapshot]:
    """Returns the first sick and the first well one of `kraft_cases` for each code."""
    first: dict[str, tuple[str, Snapshot]] = {}
    for name, snapshot in kraft_cases().items():
        first.setdefault(name.rpartition("-")[0], (name, snapshot))
    return dict(first.values())
