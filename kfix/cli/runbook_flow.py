"""What the commands of `kfix runbook` share: show a plan, carry it out, go on with a run. Imports are late."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kfix.cli import runbook_site as site
from kfix.errors import KfixError, NotProvedError, RollbackFailedError, RolledBackError, StoppedError
from kfix.harmless import lines

if TYPE_CHECKING:
    from rich.console import Console

    from kfix.app.cluster import Target
    from kfix.model.plan import Plan
    from kfix.ports import ClusterChanger, ClusterLock, ClusterReader
    from kfix.runbook.gates import Given
    from kfix.runbook.policy import Policy
    from kfix.runbook.scene import Healed, Scene


class Live(Protocol):
    """A cluster that is open for reading, for changes and for its lock."""

    @property
    def reader(self) -> ClusterReader: ...

    @property
    def changer(self) -> ClusterChanger: ...

    @property
    def lock(self) -> ClusterLock: ...


@dataclass(frozen=True)
class Where:
    """How to reach the cluster. What a plan says of it stands in for what the command line leaves out."""

    bootstrap_server: str | None
    zookeeper: str | None
    command_config: Path | None
    timeout: float

    def of(self, plan: Plan) -> AbstractContextManager[Live]:
        from kfix.app import cluster as wiring

        return wiring.open_cluster(self._target(plan))

    def to_change(self, plan: Plan) -> AbstractContextManager[Live]:
        """Refused while the network is cut. A sign of it is looked at twice: a restart looks alike for a moment."""
        from kfix.app import cluster as wiring
        from kfix.runbook.cut_network import cuts_in, refuse_while_cut

        target = self._target(plan)
        if cuts_in(wiring.diagnose_once(target).findings):
            refuse_while_cut(wiring.diagnose_live(target, keep=False)[0].findings)
        return wiring.open_cluster(target)

    def _target(self, plan: Plan) -> Target:
        from kfix.app import cluster as wiring

        known = self.bootstrap_server or plan.cluster.bootstrap or None
        zookeeper = self.zookeeper or plan.cluster.zookeeper or None
        return wiring.make_target(known, zookeeper, self.command_config, self.timeout)


@dataclass(frozen=True)
class Answers:
    """What the command line approved beforehand."""

    approve: tuple[str, ...] = ()
    ack: tuple[str, ...] = ()
    countersign: Path | None = None
    step_by_step: bool = False

    @property
    def given(self) -> bool:
        return bool(self.approve or self.ack or self.countersign is not None)

    def to(self, plan: Plan) -> Given:
        import os

        from kfix.runbook.countersign import signer
        from kfix.runbook.gates import parse_given

        signed = "" if self.countersign is None else signer(self.countersign, plan, os.getuid())
        return parse_given(self.approve, self.ack, plan, signed)


@dataclass(frozen=True)
class Out:
    """People's text, and whether the journal's records go to standard output instead of it."""

    people: Console
    json: bool

    @classmethod
    def of(cls, json_output: bool) -> Out:
        from kfix.report.console import console_on

        return cls(console_on(sys.stderr if json_output else sys.stdout), json_output)


def show(plan: Plan, people: Console) -> None:
    from kfix.report.runbook import print_plan
    from kfix.runbook.explain import explain

    print_plan(plan, explain(plan), people)


def notes(plan: Plan) -> tuple[str, ...]:
    """Why a plan that is shown may not be carried out, as far as it can be told without its cluster."""
    import time

    from kfix import __version__
    from kfix.runbook.journal import utc

    found = [f"for cluster {plan.cluster.name}; whether that is the one you mean was not looked at"]
    now = time.time()
    if now > plan.expires_at:
        found.append(f"expired at {utc(plan.expires_at)}, it is {utc(now)}")
    if plan.created.kfix != __version__:
        found.append(f"made by kfix {plan.created.kfix}, this is {__version__}: it will not be carried out")
    spent = site.store().spent_by(plan.plan_id)
    if spent is not None:
        found.append(f"spent: run as {spent.id} (kfix runbook history {spent.id})")
    if plan.undoes:
        found.append(f"takes back run {plan.undoes}")
    return tuple(found)


def scene(plan: Plan, live: Live, answers: Answers, out: Out) -> Scene:
    from kfix.report.runbook_run import NdjsonTeller, Teller, Terminal
    from kfix.runbook.clock import SystemClock
    from kfix.runbook.scene import Scene

    return Scene(
        reader=live.reader,
        changer=live.changer,
        lock=live.lock,
        clock=SystemClock(),
        store=site.store(),
        human=Terminal(out.people),
        given=answers.to(plan),
        listener=NdjsonTeller(sys.stdout) if out.json else Teller(plan, out.people),
        step_by_step=answers.step_by_step,
    )


def carry_out(plan: Plan, live: Live, answers: Answers, out: Out, policy: Policy) -> tuple[str, ...]:
    """What was changed."""
    from kfix.runbook.rollback import run_or_roll_back

    policy.refuse(plan)
    return told(plan, lambda: run_or_roll_back(plan, scene(plan, live, answers, out), policy.raised), out)


def told(plan: Plan, run: Callable[[], Healed], out: Out) -> tuple[str, ...]:
    from kfix.report.runbook_run import closing

    healed = run()
    words = closing(plan, healed.changed, healed.seconds, healed.run, standing=healed.standing, left=healed.left)
    out.people.print()
    out.people.print(words, soft_wrap=True)
    return healed.changed


@contextmanager
def after(changed: list[str]) -> Iterator[None]:
    """A run that ends before its own first change must not promise "nothing was changed" for the runs before it."""
    try:
        yield
    except (KfixError, KeyboardInterrupt) as error:
        if not changed or isinstance(error, NotProvedError | StoppedError | RolledBackError | RollbackFailedError):
            raise
        done = "; ".join(changed)
        said = lines(str(error) or "interrupted")
        raise StoppedError(said + f" (here; the findings before it were healed: {done})") from error
