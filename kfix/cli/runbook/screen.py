"""What the commands of `kfix runbook` share: where people's text goes, a plan shown, a run told to its end."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kfix.app import Human, RunResult
from kfix.app.healing.plans import steps_of
from kfix.app.healing.session import Attendance
from kfix.errors import KfixError, NotProvedError, RollbackFailedError, RolledBackError, StoppedError
from kfix.harmless import lines
from kfix.model.plan.plan import Plan
from kfix.report.console import HarmlessConsole, console_on, styled
from kfix.report.runbook.plan import print_plan
from kfix.report.runbook.run import NdjsonTeller, Teller, Terminal, closing


@dataclass(frozen=True)
class Out:
    """People's text, and whether the journal's records go to standard output instead of it."""

    people: HarmlessConsole
    json: bool

    @classmethod
    def of(cls, json_output: bool) -> Out:
        return cls(console_on(sys.stderr if json_output else sys.stdout), json_output)

    def attendance(self, plan: Plan, human: Human | None) -> Attendance:
        """Who is asked (None: the person at this terminal), and who sees the run as it goes on."""
        listener = NdjsonTeller(sys.stdout) if self.json else Teller(plan, self.people)
        return Attendance(human or Terminal(self.people), listener)

    def warn(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.people.print(styled(f"warning: {line}", "yellow"), soft_wrap=True)

    def show(self, plan: Plan) -> None:
        print_plan(plan, steps_of(plan), self.people)

    def close(self, plan: Plan, healed: RunResult) -> None:
        words = closing(plan, healed.changed, healed.seconds, healed.run, standing=healed.standing, left=healed.left)
        self.people.print()
        self.people.print(words, soft_wrap=True)

    def waiting(self, seconds: float) -> None:
        self.people.print(f"looking again in {seconds:.0f} s, to tell a fault from an ordinary election (--debounce)")


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
