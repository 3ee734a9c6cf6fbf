"""Who does what in one run: the parts that share its journal, its facts and its progress, put together once."""

from __future__ import annotations

from kfix.model.plan import Gate, Plan
from kfix.runbook.apply import Apply
from kfix.runbook.asking import Asking
from kfix.runbook.change import Change
from kfix.runbook.copying import Meter
from kfix.runbook.door import Passage
from kfix.runbook.gates import Gatekeeper, Reader
from kfix.runbook.guards import Guards
from kfix.runbook.journal import Journal, Samples
from kfix.runbook.locks import Locked
from kfix.runbook.rethrottle import Rethrottle
from kfix.runbook.scene import Progressed, Scene
from kfix.runbook.settle import Settle
from kfix.runbook.stale import Baseline
from kfix.runbook.store import RunDir
from kfix.runbook.waiting import Waits
from kfix.runbook.watch import Watch


class Crew:
    def __init__(
        self,
        plan: Plan,
        scene: Scene,
        run: RunDir,
        locked: Locked,
        journal: Journal,
        baseline: Baseline,
        progress: Progressed,
        passage: Passage,
        spent: float = 0.0,
    ) -> None:
        """`spent`: seconds that the run took before this process took over."""
        reader, clock = scene.reader, scene.clock
        lowest = Gate.STEP if scene.step_by_step or locked.cluster is None else Gate.AUTO
        self.journal = journal
        self.samples = Samples(journal)
        self.guards = Guards(reader, journal, self.samples, baseline)
        self.change = Change(reader, passage, clock, journal, self.guards, progress)
        rethrottle = Rethrottle(run.path, plan, scene.reader, passage, scene.clock, journal, progress, self.change)
        waits = Waits(clock, journal)
        meter = Meter(reader, clock, journal, waits)
        began = clock.monotonic() - spent
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
            self.guards,
            progress,
        )
        settle = Settle(reader, clock, journal, self.samples, self.watch, plan.goal.interval)

        def early(took: float, least: float) -> None:
            journal.write("gate.early", seconds=round(took, 3), least=round(least, 3))

        self.person = Reader(scene.human, clock, early)
        keeper = Gatekeeper(plan, self.person, scene.given, lowest)
        asking = Asking(plan, clock, journal, keeper, run, self.guards, progress)
        self.apply = Apply(
            plan, reader, clock, journal, self.samples, progress, self.guards, asking, self.change, self.watch, settle
        )
