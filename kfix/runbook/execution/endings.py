"""How a run leaves the cluster: what is put back, what stays on, and what Kafka goes on copying."""

from __future__ import annotations

from contextlib import suppress

from kfix.errors import KfixError, UnreachableError
from kfix.model.plan.plan import Phase, Plan, PlannedStep
from kfix.model.run import Aborted
from kfix.ports import ClusterReader
from kfix.runbook.execution.components import Components
from kfix.runbook.execution.context import RunProgress
from kfix.runbook.execution.interrupted_moves import Way, cancel, choose, moves_of
from kfix.runbook.execution.restore import copying, put_back, still_moving, way_back
from kfix.runbook.hints import plan_again
from kfix.runbook.journal.journal import Journal, JournalError
from kfix.runbook.safety.outcomes import ANOTHER_PLAN, Outcome, Stop, to_error


class Endings:
    """`left_on` are throttles that are still on, in words; `on_purpose`: a person wants that, or nobody was asked.

    `moving` are moves of the run with which Kafka goes on.
    """

    def __init__(self, plan: Plan, reader: ClusterReader, run: str, progress: RunProgress) -> None:
        self.plan = plan
        self.reader = reader
        self.run = run
        self.progress = progress
        self.left_on: list[str] = []
        self.on_purpose = False
        self.under_way = ""
        self.moving: tuple[PlannedStep, ...] = ()

    def aborted(self) -> Aborted:
        progress = self.progress
        rollback = way_back(self.plan, self.run, progress, self.moving)
        return Aborted(self.run, progress.standing, progress.put_back, self.under_way, rollback)

    def error(self, stop: Stop) -> KfixError:
        progress = self.progress
        if stop.hint == ANOTHER_PLAN:
            stop = Stop(stop.outcome, str(stop), plan_again(self.plan))
        return to_error(
            stop,
            changed=progress.standing,
            run=self.run,
            left=() if self.on_purpose else tuple(self.left_on),
            put_back=progress.put_back,
            under_way=self.under_way,
            rollback=way_back(self.plan, self.run, progress, self.moving),
        )

    def write(self, journal: Journal, outcome: Outcome, exit_code: int) -> None:
        """The reason for the end is told whether or not it can still be recorded."""
        with suppress(JournalError, KeyboardInterrupt):
            journal.write(
                "run.end",
                outcome=outcome.value,
                exit=exit_code,
                changed=list(self.progress.standing),
                put_back=list(self.progress.put_back),
                left=self.left_on,
                under_way=sorted({s.args.text("partition") for s in self.moving}),
            )

    def always(self, crew: Components, *, patient: bool = True) -> None:
        """In every ending. What cannot be put back is told by name, and does not hide why the run ended."""
        put_back(self.plan, crew, self.progress, self.left_on, patient=patient)

    def interrupted(self, crew: Components, end: KeyboardInterrupt) -> None:
        """Copies under way keep their throttle unless a person says otherwise."""
        throttles = [s for s in self.plan.steps if s.phase is Phase.ALWAYS] if self.progress.issued else []
        # A second Ctrl-C may come at any time from here on: then the throttles are still on.
        self.left_on = [s.what for s in throttles]
        moves = moves_of(self.progress, crew)
        if not moves.steps:
            self.left_on = []
            self.always(crew, patient=False)
            return
        self.on_purpose, self.moving = True, moves.steps
        self.under_way = copying(moves.steps, throttled=bool(throttles), run=self.run)
        way = choose(crew, moves, end, throttled=bool(throttles))
        # A person takes their time, and the copies may have arrived meanwhile.
        moves = moves_of(self.progress, crew)
        failed = cancel(self.plan, crew, self.progress, moves.steps) if way is Way.CANCEL else []
        if way is Way.UNTHROTTLED or not moves_of(self.progress, crew).steps:
            self.left_on, self.on_purpose = [], False
            self.always(crew, patient=False)
        self.look_at_moves()
        if failed:
            self.under_way = "; ".join(filter(None, (self.under_way, f"not cancelled: {'; '.join(failed)}")))

    def look_at_moves(self, *, over: bool = False) -> None:
        """What Kafka goes on copying after the run, and whether that is throttled. `over`: the run was aborted."""
        try:
            self.moving = still_moving(self.progress, self.reader)
        except UnreachableError as error:
            on = ", so that the throttles stay on" if self.on_purpose and self.left_on else ""
            self.under_way = f"whether replicas are still being copied could not be read ({error}){on}"
            return
        words = copying(self.moving, throttled=bool(self.left_on), run=self.run, over=over)
        self.under_way = words if self.moving else ""
