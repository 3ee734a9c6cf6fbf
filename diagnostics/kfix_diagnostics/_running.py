"""Brokers that run although the record shows them as dead: to start them a second time repairs nothing.

On KRaft they are fenced (KFX814, KFX813), with ZooKeeper they are not registered (KFX403).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kfix.core.derive.casefile import CaseFile
from kfix.core.diagnosis.finding import Remedy
from kfix.core.wording import are, brokers_named
from kfix_diagnostics._advice import start
from kfix_diagnostics._bans import registers, starts
from kfix_diagnostics._explained import see_shut_out

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
