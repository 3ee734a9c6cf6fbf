"""Output shared by the commands of `kfix runbook`: text for people, plans, and the progress and end of runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.errors import KfixError, NotProvedError, RollbackFailedError, RolledBackError, StoppedError
from kfix.core.harmless import lines
from kfix.core.ports import Human
from kfix.core.snapshot.snapshot import Mode
from kfix.core.wording import several, some
from kfix.front.console import HarmlessConsole, console_on, styled
from kfix.heal.execution.context import RunResult
from kfix.heal.gate.gates import opens_with_the_plan
from kfix.heal.gate.prompt import plan_page
from kfix.heal.model.plan import Plan
from kfix.heal.plan.steps import explain
from kfix.heal.report.keyboard import Terminal
from kfix.heal.report.plan import print_plan
from kfix.heal.report.run import NdjsonReporter, RunReporter, closing
from kfix.heal.session.request import Nothing
from kfix.heal.session.session import Attendance, left_by


@dataclass(frozen=True)
class Out:
    """The console for people. With `json` it is standard error, and records go to standard output."""

    people: HarmlessConsole
    json: bool

    @classmethod
    def of(cls, json_output: bool) -> Out:
        return cls(console_on(sys.stderr if json_output else sys.stdout), json_output)

    def attendance(self, plan: Plan, human: Human | None) -> Attendance:
        """Returns who is asked and who gets the records. `human` None is the person at this terminal."""
        listener = NdjsonReporter(sys.stdout) if self.json else RunReporter(plan, self.people)
        return Attendance(human or Terminal(self.people), listener)

    def warn(self, text: str) -> None:
        self.people.print(styled(f"warning: {text}", "yellow"), soft_wrap=True)

    def nothing(self, reasons: Nothing) -> None:
        for line in reasons.lines:
            self.people.print(line)

    def show(self, plan: Plan) -> None:
        print_plan(plan, explain(plan), self.people)

    def show_before_gates(self, plan: Plan, person: Human, *, apart: bool) -> None:
        """Shows a plan that is about to be carried out: as one page to a person, unless the first gate shows that."""
        if not person.interactive:
            self.show(plan)
        elif not opens_with_the_plan(plan, apart=apart):
            person.show(plan_page(plan, apart=apart or plan.cluster.mode is Mode.KRAFT))

    def close(self, plan: Plan, result: RunResult, access: Access) -> None:
        words = closing(
            plan,
            result.changed,
            result.seconds,
            result.run,
            standing=result.standing,
            left=result.left,
            at=access.at,
        )
        self.people.print()
        self.people.print(words, soft_wrap=True)

    def left(self, app: App, plan: Plan, result: RunResult, access: Access) -> None:
        """Prints what is left to heal after a plan of one finding that changed something."""
        if not result.changed or plan.undoes:
            return
        found = left_by(app, access, plan)
        if found is None:
            self.people.print(
                styled("whether more findings of this kind are left was not read: kfix diagnose", "yellow")
            )
        elif found:
            more = f"not healed by this plan: {several(len(found), 'more finding')}, {some([*found])}"
            commands = [command for command in dict.fromkeys(found.values()) if command]
            rest = f". To heal {'the rest' if len(commands) == 1 else 'the next'}: {commands[0]}" if commands else ""
            self.people.print(styled(f"{more}{rest}", "yellow"), soft_wrap=True)

    def waiting(self, seconds: float) -> None:
        self.people.print(f"some of this may resolve itself: taking a second snapshot in {seconds:.0f} s (--debounce)")


@contextmanager
def after(changed: list[str]) -> Iterator[None]:
    """Corrects the error of a run that changed nothing if an earlier run of the same command changed something."""
    try:
        yield
    except (KfixError, KeyboardInterrupt) as error:
        if not changed or isinstance(error, NotProvedError | StoppedError | RolledBackError | RollbackFailedError):
            raise
        done = "; ".join(changed)
        text = lines(str(error) or "interrupted")
        raise StoppedError(text + f" (for this finding; earlier findings were healed: {done})") from error
