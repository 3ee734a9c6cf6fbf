"""Keys of the findings that explain others: a finding about a missing broker follows from these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kfix.derive.casefile import CaseFile
from kfix.derive.cuts import Cut, CutKind

_DEAD: Final = "KFX401"
_SILENT: Final = "KFX402"
_SHUT_OUT: Final = "KFX403"
_FENCED: Final = "KFX813"
#: The check that reports each kind of cut.
CUT_CODES: Final = {
    CutKind.LINK: "KFX801",
    CutKind.CONTROLLER_LINK: "KFX802",
    CutKind.ZONE: "KFX803",
    CutKind.CONTROLLER_ZONE: "KFX804",
    CutKind.ALONE: "KFX807",
}


def code_of(cut: Cut) -> str:
    """Returns the code of the finding that reports this cut."""
    return CUT_CODES[cut.kind]


def key_of(cut: Cut) -> str:
    """Returns the key of the finding that reports this cut."""
    return f"{code_of(cut)}:{cut.about or cut.obj}"


def explained_by(brokers: Iterable[int], case: CaseFile) -> tuple[str, ...]:
    """Returns the keys of the findings that explain why exactly these brokers are missing.

    What hangs comes first: a broker that does not answer causes the rest.
    """
    ids = set(brokers)
    keys = [f"{_SILENT}:broker {b}" for b in sorted(ids.intersection(case.silent))]
    # The finding of the first dead broker has those of the others.
    keys += [f"{_DEAD}:broker {case.dead[0]}"] if ids.intersection(case.dead) else []
    keys += [key_of(case.cut)] if case.cut is not None and case.cut.explains(ids - set(case.dead)) else []
    code = _FENCED if case.kraft else _SHUT_OUT
    return (*keys, *(f"{code}:broker {b}" for b in case.shut_out if b in ids))
