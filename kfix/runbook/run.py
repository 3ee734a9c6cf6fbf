"""One run of one plan: refusals first, then lock and journal, the walk, the proof. Every ending is recorded."""

from __future__ import annotations

import getpass
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from kfix import __version__
from kfix.errors import HeldError, KfixError, RefusedError, UnreachableError
from kfix.model.plan import CheckCall, Plan
from kfix.model.verdict import Answer, Verdict
from kfix.ports import Clock, ClusterChanger, ClusterReader
from kfix.probes.registry import ask
from kfix.runbook.apply import Apply, Progressed
from kfix.runbook.gates import Gatekeeper, Given, Human
from kfix.runbook.journal import Journal, JournalError, Listener, utc
from kfix.runbook.lock import cluster_lock
from kfix.runbook.proof import Proof, Wanted, prove, sample
from kfix.runbook.stale import Baseline, table
from kfix.runbook.stops import Outcome, Stop, to_error
from kfix.runbook.store import RunDir, RunStore
from kfix.runbook.walk import walk


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything a run needs of the outside."""

    reader: ClusterReader
    changer: ClusterChanger
    clock: Clock
    store: RunStore
    human: Human
    given: Given = field(default_factory=Given)
    listener: Listener = lambda _record: None


@dataclass(frozen=True, slots=True)
class Healed:
    """`seconds` are those from the approval to the proof."""

    run: str
    outcome: Outcome
    proof: Proof
    changed: tuple[str, ...]
    seconds: float


def run_plan(plan: Plan, scene: Scene) -> Healed:
    """Returns proved, or raises with the exit code that says whether anything was changed."""
    _refuse_unfit(plan, scene)
    who = whoami()
    start = scene.clock.now()
    holder = {
        "user": str(who["user"]),
        "host": str(who["host"]),
        "pid": str(who["pid"]),
        "plan": plan.short_id,
        "run": f"{plan.runbook.id} for {plan.finding.key}",
        "since": utc(start),
    }
    run: _Run | None = None
    try:
        with cluster_lock(scene.store.locks_dir, plan.cluster.name, holder):
            _refuse_repeated(plan, scene)
            run = _Run(plan, scene, scene.store.create(plan, start), who)
            return run.go()
    except KeyboardInterrupt as error:
        stop = Stop(Outcome.INTERRUPTED, "interrupted")
        raise (to_error(stop, changed=(), run="") if run is None else run.error(stop)) from error


def whoami() -> Mapping[str, object]:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return {
        "user": user,
        "uid": os.getuid(),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "tty": sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty(),
    }


def _refuse_unfit(plan: Plan, scene: Scene) -> None:
    if plan.created.kfix != __version__:
        raise RefusedError(
            f"plan {plan.short_id} was made by kfix {plan.created.kfix}, this is {__version__}; nothing was changed",
            hint="make a new plan: kfix runbook plan",
        )
    now = scene.clock.now()
    if now > plan.expires_at:
        text = f"plan {plan.short_id} expired at {utc(plan.expires_at)}, it is {utc(now)}; nothing was changed"
        raise RefusedError(text, hint="make a new plan: kfix runbook plan")
    here = scene.reader.identity()
    if here.name != plan.cluster.name:
        text = f"plan {plan.short_id} is for cluster {plan.cluster.name}, this is {here.name}; nothing was changed"
        raise RefusedError(text)


def _refuse_repeated(plan: Plan, scene: Scene) -> None:
    """Asked under the lock, so that two at once cannot both pass."""
    spent = scene.store.spent_by(plan.plan_id)
    if spent is not None:
        raise RefusedError(
            f"plan {plan.short_id} was already run as {spent.id}; nothing was changed now",
            hint=f"kfix runbook history {spent.id}   or   kfix runbook verify {spent.id}",
        )
    last = scene.store.last_change(plan.cluster.name, plan.runbook.id, plan.finding.key)
    if last is None:
        return
    run, intent = last
    ago = scene.clock.now() - datetime.fromisoformat(intent["t"]).timestamp()
    if ago < plan.caps.cooldown:
        raise HeldError(
            f"{plan.runbook.id} acted on {plan.finding.key} {ago:.0f} s ago as {run.id} "
            f"({intent['who']['user']}); it waits {plan.caps.cooldown:g} s between two runs; nothing was changed",
            hint=f"kfix runbook history {run.id}; then again in {plan.caps.cooldown - ago:.0f} s",
        )


class _Run:
    def __init__(self, plan: Plan, scene: Scene, run: RunDir, who: Mapping[str, object]) -> None:
        self.plan = plan
        self.scene = scene
        self.run = run
        self.who = who
        self.progress = Progressed(approved_at=scene.clock.monotonic())

    def go(self) -> Healed:
        with self._journal() as journal:
            try:
                return self._go(journal)
            except Stop as stop:
                error = self.error(stop)
                self._end(journal, stop.outcome, error.exit_code)
                raise error from stop
            except KeyboardInterrupt as interrupt:
                error = self.error(Stop(Outcome.INTERRUPTED, "interrupted"))
                self._end(journal, Outcome.INTERRUPTED, error.exit_code)
                raise error from interrupt
            except JournalError as broken:
                raise self.error(Stop(Outcome.NO_JOURNAL, f"{self.run.path}: {broken}")) from broken

    def error(self, stop: Stop) -> KfixError:
        return to_error(stop, changed=tuple(self.progress.changed), run=self.run.id)

    @contextmanager
    def _journal(self) -> Iterator[Journal]:
        try:
            file = self.run.open_journal()
        except OSError as error:
            text = f"{self.run.journal_path}: the journal cannot be opened: {error.strerror}; nothing was changed"
            raise RefusedError(text) from error
        common = {"run": self.run.id, "plan": self.plan.plan_id, "who": self.who}
        try:
            yield Journal(file, common, self.scene.clock, self.scene.listener)
        finally:
            with suppress(OSError):
                file.close()

    def _end(self, journal: Journal, outcome: Outcome, exit_code: int) -> None:
        """The reason for the end is told whether or not it can still be recorded."""
        with suppress(JournalError, KeyboardInterrupt):
            journal.write("run.end", outcome=outcome.value, exit=exit_code, changed=list(self.progress.changed))

    def _go(self, journal: Journal) -> Healed:
        plan, scene = self.plan, self.scene
        journal.write(
            "run.start",
            cluster=plan.cluster.name,
            runbook=plan.runbook.id,
            finding=plan.finding.key,
            title=plan.title,
            kfix=__version__,
        )
        journal.write("lock.taken", scope="this host")
        if self._well_already(journal):
            return self._prove(journal, Outcome.ALREADY_WELL)
        baseline = Baseline(plan.facts)
        self._preconditions(journal)
        self._unchanged(journal, baseline)
        gatekeeper = Gatekeeper(plan, scene.human, scene.given)
        apply = Apply(
            plan, scene.reader, scene.changer, scene.clock, journal, gatekeeper, self.run, baseline, self.progress
        )
        walk(plan, apply)
        return self._prove(journal, Outcome.PROVED)

    def _well_already(self, journal: Journal) -> bool:
        for call in self.plan.goal.checks:
            answer = ask(call, self.scene.reader)
            self._sample(journal, call, answer, ("goal", 0))
            if not answer.passed:
                return False
        return bool(self.plan.goal.checks)

    def _preconditions(self, journal: Journal) -> None:
        for call, answer in sample(self.plan.preconditions, self.scene.reader):
            self._sample(journal, call, answer, ("precondition", 0))
            if not answer.passed:
                text = f"precondition {call}: {answer.verdict}: {answer.observed}; wanted: {answer.wanted}"
                raise Stop(Outcome.REFUSED, text)

    def _unchanged(self, journal: Journal, baseline: Baseline) -> None:
        """The whole read set, before anybody is asked anything."""
        keys = [fact.key for fact in self.plan.facts]
        try:
            _, drifts = baseline.compare(keys, self.scene.reader)
        except UnreachableError as error:
            raise Stop(Outcome.REFUSED, f"the facts of the plan cannot be read again: {error}") from error
        for drift in drifts:
            journal.write("facts.recheck", key=drift.key, was=drift.was, is_=drift.is_)
        if drifts:
            text = f"the world changed since plan {self.plan.short_id} was made\n{table(drifts)}\nthe plan is stale"
            raise Stop(Outcome.REFUSED, text, "make a new plan: kfix runbook plan")

    def _prove(self, journal: Journal, good: Outcome) -> Healed:
        """The goal, and what each step that was issued was to bring about, in one proof."""
        goal = self.plan.goal
        own = tuple(call for step in self.progress.issued for call in step.verify)
        checks = tuple(dict.fromkeys((*goal.checks, *own))) if self.progress.changed else goal.checks
        wanted = Wanted(checks, goal.timeout, goal.interval, goal.consecutive)
        found = prove(
            wanted, self.scene.reader, self.scene.clock, lambda c, a, n: self._sample(journal, c, a, ("proof", n))
        )
        seconds = self.scene.clock.monotonic() - self.progress.approved_at
        if found.verdict is not Verdict.PASS:
            outcome = Outcome.NOT_PROVED if found.verdict is Verdict.FAIL else Outcome.INCONCLUSIVE
            raise Stop(outcome, f"not proved ({found.verdict}):\n{found.words}", self._after_no_proof())
        journal.write(
            "run.end",
            outcome=good.value,
            exit=0,
            changed=list(self.progress.changed),
            seconds_to_proof=round(seconds, 3),
        )
        return Healed(self.run.id, good, found, tuple(self.progress.changed), seconds)

    def _after_no_proof(self) -> str:
        return f"kfix runbook verify {self.run.id} asks again; kfix diagnose looks at the whole cluster"

    def _sample(self, journal: Journal, call: CheckCall, answer: Answer, where: tuple[str, int]) -> None:
        part, in_row = where
        journal.write(
            "verify.sample",
            part=part,
            check=str(call),
            observed=answer.observed,
            wanted=answer.wanted,
            verdict=answer.verdict.value,
            in_row=in_row,
        )


def prove_again(plan: Plan, scene_reader: ClusterReader, clock: Clock) -> Proof:
    """`verify RUN`: the goal of a run's plan, any time later. It changes and records nothing."""
    here = scene_reader.identity()
    if here.name != plan.cluster.name:
        raise RefusedError(f"the run was on cluster {plan.cluster.name}, this is {here.name}")
    goal = plan.goal
    wanted = Wanted(goal.checks, goal.timeout, goal.interval, goal.consecutive)
    return prove(wanted, scene_reader, clock, lambda _c, _a, _n: None)
