"""Missing brokers: the findings that explain them, and those that run although the record lists them as dead.

To start a broker that runs a second time repairs nothing. On KRaft it is fenced (KFX814, KFX813), with ZooKeeper it is
not registered (KFX403).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.cuts import Cut, CutKind
from kfix.core.diagnosis.finding import Remedy
from kfix.core.wording import are, brokers_named
from kfix_diagnostics._advice import start
from kfix_diagnostics._bans import registers, starts

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


#: In the errors of connections (kfix/core/endpoint.py): nothing answers at the address, so no process hangs there.
UNRESOLVED, REFUSED = "cannot be resolved", "connection refused"


def running(brokers: Iterable[int], case: CaseFile) -> tuple[int, ...]:
    """Returns those of the brokers that run, although they are fenced or not registered."""
    return tuple(b for b in brokers if b in case.shut_out)


def running_and_dead(brokers: Iterable[int], case: CaseFile) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns those of the brokers that run, although they are fenced or not registered, and those that are dead."""
    wanted = tuple(brokers)
    up = running(wanted, case)
    return up, tuple(b for b in case.away(wanted) if b not in up)


def runs_but(brokers: Sequence[int], case: CaseFile) -> str:
    """Returns `broker 2 runs, but is fenced`."""
    runs = "runs" if len(brokers) == 1 else "run"
    return f"{brokers_named(brokers)} {runs}, but {are(len(brokers))} {_how(case)}"


def which_runs(brokers: Sequence[int], up: Sequence[int], case: CaseFile) -> str:
    """Returns the end of a sentence after the names of the brokers, of which those in `up` run; "" for none."""
    if not up:
        return ""
    if set(up) < set(brokers):
        return f"; {runs_but(up, case)}"
    return f", which {'runs' if len(up) == 1 else 'run'}, but {are(len(up))} {_how(case)}"


def find_out_why(brokers: Sequence[int], case: CaseFile, then: str = "") -> Remedy:
    """Returns `Find out why broker 2 is fenced: see KFX814`, and what follows once it is repaired."""
    # Without an active controller no finding reports them.
    known = not case.kraft or (case.snapshot.quorum is not None and case.snapshot.quorum.read)
    where = f": {see_shut_out(brokers, case)}" if known else ""
    text = f"Find out why {brokers_named(brokers)} {are(len(brokers))} {_how(case)}{where}"
    return registers(Remedy(f"{text}. {then}" if then else text), brokers)


def bring_up(brokers: Sequence[int], case: CaseFile, then: str) -> Iterator[Remedy]:
    """Yields what brings back brokers that are missing: those that run are repaired, the others started."""
    up = running(brokers, case)
    if up:
        yield find_out_why(up, case, then)
    if down := tuple(broker for broker in brokers if broker not in up):
        yield starts(Remedy(f"{start(down, case)}. {then}"), down)


def _how(case: CaseFile) -> str:
    return "fenced" if case.kraft else "not registered"
