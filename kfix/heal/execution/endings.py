"""How a run leaves the cluster: what is restored, what could not be restored, and what Kafka is still copying."""

from __future__ import annotations

from contextlib import suppress

from kfix.core.errors import KfixError, UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.run import Aborted
from kfix.heal.execution.components import Components
from kfix.heal.execution.context import RunProgress
from kfix.heal.execution.restore import Way, cancel, choose, copying, moves_of, put_back, rollback_command, still_moving
from kfix.heal.hints import plan_again
from kfix.heal.journal.journal import Journal, JournalError
from kfix.heal.model.plan import Plan, PlannedStep
from kfix.heal.safety.outcomes import Outcome, StalePlan, Stop, to_error


class Endings:
    """The end of one run.

    `left_on` describes the throttles that are still set. `on_purpose` means that the operator chose to leave them, or
    could not be asked. `at` is that of the `Context`; `approving` are the flags with which `resume` needs no terminal.
    `moving` holds the run's moves that Kafka is still carrying out.
    """

    def __init__(
        self, plan: Plan, reader: ClusterReader, run: str, progress: RunProgress, at: str = "", approving: str = ""
    ) -> None:
        self.plan = plan
        self.reader = reader
        self.run = run
        self.progress = progress
        self.at = at
        self.resume = f"kfix runbook resume {run}{at} {approving}".rstrip()
        self.left_on: list[str] = []
        self.on_purpose = False
        self.under_way = ""
        self.moving: tuple[PlannedStep, ...] = ()

    def aborted(self) -> Aborted:
        progress = self.progress
        rollback = rollback_command(self.plan, self.run + self.at, progress, self.moving)
        return Aborted(self.run, progress.standing, progress.put_back, self.under_way, rollback)

    def error(self, stop: Stop) -> KfixError:
        progress = self.progress
        if isinstance(stop, StalePlan):
            stop = Stop(stop.outcome, str(stop), plan_again(self.plan, self.at))
        return to_error(
            stop,
            changed=progress.standing,
            run=self.run,
            at=self.at,
            resume=self.resume,
            left=() if self.on_purpose else tuple(self.left_on),
            put_back=progress.put_back,
            under_way=self.under_way,
            rollback=rollback_command(self.plan, self.run + self.at, progress, self.moving),
        )

    def write(self, journal: Journal, outcome: Outcome, exit_code: int, why: str) -> None:
        """Journals the end of the run and why. An end that cannot be recorded is still reported to the caller."""
        with suppress(JournalError, KeyboardInterrupt):
            journal.write(
                "run.end",
                outcome=outcome.value,
                exit=exit_code,
                why=why,
                changed=list(self.progress.standing),
                put_back=list(self.progress.put_back),
                left=self.left_on,
                under_way=sorted({s.args.text("partition") for s in self.moving}),
            )

    def always(self, components: Components, *, patient: bool = True) -> None:
        """Restores what the run set for its own duration. A failure is added to `left_on` and raises nothing."""
        put_back(components, self.left_on, patient=patient)

    def interrupted(self, components: Components, end: KeyboardInterrupt) -> None:
        """Ends an interrupted run. Copies in progress keep their throttle unless the operator decides otherwise."""
        throttles = self.plan.restoring if self.progress.issued else ()
        # A second Ctrl-C may come at any time from here on, while the throttles are still set.
        self.left_on = [s.what for s in throttles]
        moves = moves_of(components.run)
        if not moves.steps:
            self.left_on = []
            self.always(components, patient=False)
            return
        self.on_purpose, self.moving = True, moves.steps
        self.under_way = copying(moves.steps, self.resume, throttled=bool(throttles), run=self.run + self.at)
        way = choose(components, moves, end, throttled=bool(throttles))
        # The copies may have finished while the operator was deciding.
        moves = moves_of(components.run)
        failed = cancel(components, moves.steps) if way is Way.CANCEL else []
        if way is Way.UNTHROTTLED or not moves_of(components.run).steps:
            self.left_on, self.on_purpose = [], False
            self.always(components, patient=False)
        self.find_moves()
        if failed:
            self.under_way = "; ".join(filter(None, (self.under_way, f"not cancelled: {'; '.join(failed)}")))

    def find_moves(self, *, over: bool = False) -> None:
        """Finds out what Kafka is still copying after the run, and if it is throttled. `over`: the run was aborted."""
        try:
            self.moving = still_moving(self.progress, self.reader)
        except UnreachableError as error:
            on = ", so the throttles stay set" if self.on_purpose and self.left_on else ""
            self.under_way = f"it is unknown whether replicas are still being copied ({error}){on}"
            return
        words = copying(self.moving, self.resume, throttled=bool(self.left_on), run=self.run + self.at, over=over)
        self.under_way = words if self.moving else ""
