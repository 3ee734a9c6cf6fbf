"""What the commands of `kfix runbook` share: find, plan, show, carry out. Bodies import late, as always in `cli`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from kfix.errors import KfixError, NotProvedError, StoppedError, UnreachableError

if TYPE_CHECKING:
    from rich.console import Console

    from kfix.model.args import Args
    from kfix.model.finding import Finding
    from kfix.model.plan import Plan
    from kfix.model.runbook import Runbook
    from kfix.model.snapshot import Snapshot
    from kfix.ports import ClusterChanger, ClusterLock, ClusterReader
    from kfix.runbook.store import RunStore
    from kfix.wiring import Target


class Live(Protocol):
    """A cluster that is open for reading, for changes and for its lock."""

    @property
    def reader(self) -> ClusterReader: ...

    @property
    def changer(self) -> ClusterChanger: ...

    @property
    def lock(self) -> ClusterLock: ...


def find(runbook: Runbook, target: Target, key: str | None, people: Console) -> tuple[tuple[Finding, ...], Snapshot]:
    """What the runbook is for, of a fresh diagnosis. Nothing found is only good news where everything was read."""
    from kfix import wiring
    from kfix.runbook.matching import findings_for, in_plans

    def waiting(seconds: float) -> None:
        people.print(f"looking again in {seconds:.0f} s, to tell a fault from an ordinary election")

    diagnosis, snapshot = wiring.diagnose_live(target, waiting=waiting)
    found = findings_for(runbook, diagnosis, key)
    if not found:
        looked_at = ", ".join(f"{n} {what}" for what, n in diagnosis.looked_at.items()) or "the whole cluster"
        if diagnosis.could_not_read:
            unread = "; ".join(diagnosis.could_not_read)
            raise UnreachableError(
                f"nothing found for {runbook.id}, but whether there is nothing is unknown: could not read {unread}"
            )
        people.print(f"nothing to do: no {' or '.join(runbook.codes)} on {diagnosis.cluster}; looked at {looked_at}")
    return (in_plans(found) if key is None else found), snapshot


def make(runbook: Runbook, finding: Finding, reader: ClusterReader, params: Args, people: Console) -> Plan | None:
    """None where the goal is met already: then that is said, with what was seen."""
    import socket
    import time

    from kfix import __version__
    from kfix.model.plan import Created
    from kfix.runbook.planner import AlreadyMet, make_plan
    from kfix.runbook.run import whoami

    created = Created(at=time.time(), by=str(whoami()["user"]), host=socket.gethostname(), kfix=__version__)
    made = make_plan(runbook, finding, reader, created=created, params=params)
    if isinstance(made, AlreadyMet):
        people.print(f"nothing to do: {finding.key} is well already")
        for call, answer in made.answers:
            people.print(f"  {call}: {answer.observed}")
        return None
    show(made, people)
    return made


def show(plan: Plan, people: Console) -> None:
    from kfix.report.runbook import print_plan
    from kfix.runbook.explain import explain

    print_plan(plan, explain(plan), people)


def carry_out(
    plan: Plan,
    live: Live,
    given: tuple[list[str], list[str]],
    people: Console,
    json_output: bool,
) -> tuple[str, ...]:
    """What was changed."""
    from kfix.report.runbook_run import NdjsonTeller, Teller, Terminal, closing
    from kfix.runbook.clock import SystemClock
    from kfix.runbook.gates import parse_given
    from kfix.runbook.rollback import run_or_roll_back
    from kfix.runbook.scene import Scene

    scene = Scene(
        reader=live.reader,
        changer=live.changer,
        lock=live.lock,
        clock=SystemClock(),
        store=store(),
        human=Terminal(people),
        given=parse_given(*given, plan),
        listener=NdjsonTeller(sys.stdout) if json_output else Teller(plan, people),
    )
    healed = run_or_roll_back(plan, scene)
    people.print()
    people.print(closing(plan, healed.changed, healed.seconds, healed.run), soft_wrap=True)
    return healed.changed


@contextmanager
def after(changed: list[str]) -> Iterator[None]:
    """A run that ends before its own first change must not promise "nothing was changed" for the runs before it."""
    try:
        yield
    except (KfixError, KeyboardInterrupt) as error:
        if not changed or isinstance(error, NotProvedError | StoppedError):
            raise
        done = "; ".join(changed)
        said = str(error) or "interrupted"
        raise StoppedError(f"{said} (here; the findings before it were healed: {done})") from error


def params(runbook: Runbook, given: list[str]) -> Args:
    from kfix.runbook.params import parse_params

    return parse_params(runbook, given)


def store() -> RunStore:
    from kfix.model.places import state_home
    from kfix.runbook.store import RunStore

    return RunStore(state_home(os.environ))


def codes() -> frozenset[str]:
    """Every code a diagnosis can give: a runbook for another one would never be used."""
    from kfix_diagnostics import ALL

    return frozenset(check.code for check in ALL)
