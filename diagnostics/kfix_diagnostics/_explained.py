"""Keys of the findings that explain others: a finding about a missing broker follows from these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.cuts import Cut, CutKind

_DEAD: Final = "KFX401"
_SILENT: Final = "KFX402"
_SHUT_OUT: Final = "KFX403"
_OUTDATED: Final = "KFX813"
_FENCED: Final = "KFX814"
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

    A broker that hangs comes first: it causes the rest.
    """
    ids = set(brokers)
    keys = [f"{_SILENT}:broker {b}" for b in sorted(ids.intersection(case.silent))]
    # The finding of the first dead broker has those of the others.
    keys += [f"{_DEAD}:broker {case.dead[0]}"] if ids.intersection(case.dead) else []
    keys += [key_of(case.cut)] if case.cut is not None and case.cut.explains(ids - set(case.dead)) else []
    return (*keys, *(f"{_shut_out(b, case)}:broker {b}" for b in case.shut_out if b in ids))


def see_shut_out(brokers: Iterable[int], case: CaseFile) -> str:
    """Returns `see KFX813`: where brokers that respond, and are not registered or fenced, are reported."""
    return f"see {' and '.join(dict.fromkeys(_shut_out(b, case) for b in brokers))}"


def _shut_out(broker: int, case: CaseFile) -> str:
    """Returns the code of the finding about a broker that responds and is not registered, or fenced."""
    if not case.kraft:
        return _SHUT_OUT
    return _OUTDATED if outdated(broker, case) else _FENCED


def outdated(broker: int, case: CaseFile) -> bool:
    """Returns whether the metadata of a broker on KRaft is of an older moment, which KFX813 reports."""
    quorum = case.snapshot.quorum
    if quorum is None or not quorum.read:
        return False
    return broker in quorum.behind or (broker in case.shut_out and quorum.stale(broker))
