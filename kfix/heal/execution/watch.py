"""What is checked before every change and while a run waits: lock, time limits, invariants, network.

A broken invariant pauses or ends the run. An invariant that cannot be read counts as broken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.wording import utc_iso
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution.context import OpenRun
from kfix.heal.execution.guards import Guards
from kfix.heal.execution.rethrottle import Rethrottle
from kfix.heal.execution.waiting import Meter, Wait
from kfix.heal.model.answer import Answer
from kfix.heal.model.plan import Gate, Invariant, OnBreach, Phase, PlannedStep
from kfix.heal.probes.registry import ask
from kfix.heal.safety.outcomes import Outcome, StalePlan, Stop

# A pause that lasts longer than this (seconds) ends the run.
PAUSE_SECONDS = 600.0
UNREADABLE_SECONDS = 60.0
_POLL_EVERY = 1.0


@dataclass(slots=True)
class Watch:
    run: OpenRun
    guards: Guards
    rethrottle: Rethrottle
    meter: Meter
    checked_at: float = field(default=float("-inf"))

    def before_change(self, step: PlannedStep) -> None:
        """Makes all checks before a change: once before the question, and again after the answer. Raises `Stop`.

        For a restoring step only the lock is checked, because it must run however the run ended.
        """
        self.right_before(step)
        if step.phase is Phase.ALWAYS:
            return
        if not self.run.progress.changed:
            self.guards.preconditions()
        self.invariants()
        self._network(step)
        self._concurrent(step)

    def right_before(self, step: PlannedStep) -> None:
        """Makes the checks that take no time. Nothing comes between them and the intent. Raises `Stop`."""
        self._lock()
        if step.phase is Phase.ALWAYS:
            return
        self._duration()
        self._expiry(step)

    def poll(self, waiting: Iterable[PlannedStep], wait: Wait | None = None) -> None:
        """Checks between two polls of a wait; the invariants at most once a second. Raises `Stop`."""
        steps = tuple(waiting)
        self._lock()
        if steps and all(step.phase is Phase.ALWAYS for step in steps):
            return
        self._duration()
        if self.run.clock.monotonic() - self.checked_at >= _POLL_EVERY:
            self.invariants()
        if steps:
            self.rethrottle.poll()
        self.meter.poll(steps, wait)

    def _lock(self) -> None:
        if self.run.lock is not None and not self.run.lock.held():
            self.run.journal.write("lock.lost", scope=self.run.lock.scope)
            raise Stop(
                Outcome.LOCK_LOST,
                f"the lock was lost ({self.run.lock.scope}): another operator may be making changes now",
            )

    def _network(self, step: PlannedStep) -> None:
        try:
            self.run.passage.before_change(step)
        except RefusedError as error:
            self.run.journal.write("invariant", check="network_is_whole", observed=str(error), action=OnBreach.STOP)
            raise Stop(Outcome.BREACH, str(error), error.hint) from error

    def _expiry(self, step: PlannedStep) -> None:
        """Stops a run whose plan expired before its first change, or before one of its typed steps."""
        now, late = self.run.run_time.now(), self.run.plan.expires_at
        if now > late and (step.gate >= Gate.TYPED or not self.run.progress.changed):
            text = f"step {step.id}: plan {self.run.plan.short_id} expired at {utc_iso(late)} (now {utc_iso(now)})"
            raise StalePlan(text)

    def _duration(self) -> None:
        cap = self.run.plan.caps.max_duration
        spent = self.run.clock.monotonic() - self.run.began
        if cap is not None and spent > cap:
            self.run.journal.write("limit.hit", limit="max_duration", seconds=round(spent, 1), cap=cap)
            raise Stop(Outcome.LIMIT, f"the run has taken {spent:.0f} s; the limit is {cap:g} s (limits.max_duration)")

    def _concurrent(self, step: PlannedStep) -> None:
        cap = self.run.plan.caps.max_concurrent_moves
        if cap is None or not step.estimate.replicas_moved:
            return
        moving = self._moving()
        if moving >= cap:
            self.run.journal.write("limit.hit", limit="max_concurrent_moves", moving=moving, cap=cap)
            text = f"partitions being moved: {moving}; the limit is {cap} at once (limits.max_concurrent_moves)"
            raise Stop(Outcome.LIMIT, text)

    def _moving(self) -> int:
        """Returns how many partitions are being moved. Waits 60 s for an answer, as during a controller election."""
        since = self.run.clock.monotonic()
        while True:
            try:
                return len(self.run.reader.reassignments())
            except UnreachableError as error:
                if self.run.clock.monotonic() - since > UNREADABLE_SECONDS:
                    text = f"the number of partitions being moved cannot be read: {error}"
                    raise Stop(Outcome.UNREACHABLE, text) from error
                seconds = self.run.clock.monotonic() - since
                left = max(0.0, UNREADABLE_SECONDS - seconds)
                wanted = "a controller that lists the reassignments"
                self.meter.waits.report(Wait("", "the controller", str(error), wanted, seconds, left))
            self._lock()
            self.run.clock.sleep(_POLL_EVERY)

    def invariants(self) -> None:
        self.checked_at = self.run.clock.monotonic()
        for invariant in self.run.plan.invariants:
            answer = self._ask(invariant)
            if answer.passed:
                continue
            self._breach(invariant, answer)

    def _ask(self, invariant: Invariant) -> Answer:
        answer = ask(invariant.call, self.run.reader)
        self.run.samples.record(invariant.call, answer, part="invariant")
        return answer

    def _breach(self, invariant: Invariant, answer: Answer) -> None:
        words = f"{invariant.call}: {answer.words}"
        self.run.journal.write(
            "invariant", check=str(invariant.call), observed=answer.observed, action=invariant.on_breach
        )
        if invariant.on_breach is OnBreach.STOP:
            raise Stop(Outcome.BREACH, f"an invariant no longer holds: {words}")
        since = self.run.clock.monotonic()
        until = utc_iso(self.run.clock.now() + PAUSE_SECONDS)
        self.run.journal.write("pause", why=words, until=until, seconds_left=round(PAUSE_SECONDS))
        while not (answer := self._ask(invariant)).passed:
            seconds = self.run.clock.monotonic() - since
            self.meter.waits.report(Wait.of(invariant.call, answer, seconds=seconds, limit=PAUSE_SECONDS))
            if seconds > PAUSE_SECONDS:
                raise Stop(Outcome.BREACH, f"an invariant has not held for {PAUSE_SECONDS:g} s: {words}")
            self._lock()
            self._duration()
            self.run.clock.sleep(_POLL_EVERY)
        self.run.journal.write("resume", seconds=round(self.run.clock.monotonic() - since, 1))


def hopeless(step: PlannedStep, reader: ClusterReader) -> str:
    """Returns why waiting for this step is pointless, or "" if it is not or that is unknown."""
    for call in ACTIONS[step.action].hopeless(step.args):
        answer = ask(call, reader)
        if answer.verdict == "fail":
            return f"{call}: {answer.observed}; expected: {answer.wanted}"
    return ""
