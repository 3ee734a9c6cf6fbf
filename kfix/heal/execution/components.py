"""The components of one run, wired together: they share its journal, its facts and its progress."""

from __future__ import annotations

from kfix.core.clock import RunTime
from kfix.heal.execution.apply import Apply
from kfix.heal.execution.asking import Asking
from kfix.heal.execution.change import Change
from kfix.heal.execution.context import Context, RunProgress
from kfix.heal.execution.copying import Meter
from kfix.heal.execution.guards import Guards
from kfix.heal.execution.locks import Locked
from kfix.heal.execution.rethrottle import Rethrottle
from kfix.heal.execution.settle import Settle
from kfix.heal.execution.waiting import Waits
from kfix.heal.execution.watch import Watch
from kfix.heal.gate.gates import AnswerReader, Gatekeeper, lowest_gate
from kfix.heal.journal.journal import Journal, Samples
from kfix.heal.journal.runs import RunDir
from kfix.heal.model.plan import Plan
from kfix.heal.safety.door import Passage
from kfix.heal.safety.drift import PlannedFacts


class Components:
    def __init__(
        self,
        plan: Plan,
        context: Context,
        run: RunDir,
        locked: Locked,
        journal: Journal,
        baseline: PlannedFacts,
        progress: RunProgress,
        passage: Passage,
        spent: float = 0.0,
    ) -> None:
        """`spent` is the time in seconds that earlier processes spent on this run."""
        reader, clock = context.reader, context.clock
        lowest = lowest_gate(apart=context.step_by_step or locked.cluster is None)
        self.journal = journal
        self.samples = Samples(journal)
        self.guards = Guards(reader, journal, self.samples, baseline)
        self.change = Change(reader, passage, clock, journal, self.guards, progress)
        rethrottle = Rethrottle(run.path, plan, context.reader, passage, context.clock, journal, progress, self.change)
        waits = Waits(clock, journal)
        meter = Meter(reader, clock, journal, waits)
        began, run_time = clock.monotonic() - spent, RunTime.begins(clock)
        lock = locked.cluster
        self.watch = Watch(
            plan,
            reader,
            clock,
            journal,
            self.samples,
            lock,
            rethrottle,
            meter,
            passage,
            began,
            run_time,
            self.guards,
            progress,
        )
        settle = Settle(reader, clock, journal, self.samples, self.watch, plan.goal.interval)

        def early(took: float, least: float) -> None:
            journal.write("gate.early", seconds=round(took, 3), least=round(least, 3))

        self.person = AnswerReader(context.human, clock, early)
        keeper = Gatekeeper(plan, self.person, context.given, lowest)
        asking = Asking(plan, clock, run_time, journal, keeper, run, self.guards, progress, context.at)
        self.apply = Apply(
            plan, reader, clock, journal, self.samples, progress, self.guards, asking, self.change, self.watch, settle
        )
