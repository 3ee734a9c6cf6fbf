"""The parts of an open run, wired together."""

from __future__ import annotations

from kfix.heal.execution.apply import Apply
from kfix.heal.execution.asking import Asking
from kfix.heal.execution.change import Change
from kfix.heal.execution.context import OpenRun
from kfix.heal.execution.guards import Guards
from kfix.heal.execution.rethrottle import Rethrottle
from kfix.heal.execution.settle import Settle
from kfix.heal.execution.waiting import Meter, Waits
from kfix.heal.execution.watch import Watch
from kfix.heal.gate.gates import AnswerReader, Gatekeeper, lowest_gate


class Components:
    def __init__(self, run: OpenRun) -> None:
        context = run.context

        def early(took: float, least: float) -> None:
            run.journal.write("gate.early", seconds=round(took, 3), least=round(least, 3))

        self.run = run
        self.guards = Guards(run)
        self.change = Change(run, self.guards)
        self.watch = Watch(run, self.guards, Rethrottle(run, self.change), Meter(run, Waits(run)))
        self.person = AnswerReader(context.human, run.clock, early)
        lowest = lowest_gate(apart=context.step_by_step or run.lock is None)
        asking = Asking(run, Gatekeeper(run.plan, self.person, context.given, lowest), self.guards)
        self.apply = Apply(run, self.guards, asking, self.change, self.watch, Settle(run, self.watch))
