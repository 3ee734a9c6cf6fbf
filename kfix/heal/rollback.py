"""Rollback planning: a plan of its own that reverts a run, made of the inverses of its changes, last change first."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from kfix.core.args import Args
from kfix.core.errors import KfixError, RefusedError
from kfix.core.harmless import lines
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.heal.actions.base import NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.journal.replay import UNDO, Replay, replay
from kfix.heal.journal.runs import RunDir, RunStore
from kfix.heal.model.plan import CheckCall, Created, Gate, Goal, OnFailure, Plan, PlannedStep, Skipped, Undo
from kfix.heal.plan.fidelity import without_estimates
from kfix.heal.plan.planfile import longest_life, seal
from kfix.heal.plan.steps import build_step
from kfix.heal.probes.facts import FactReader
from kfix.heal.probes.moves import target_of
from kfix.heal.safety.proof import lasting
from kfix.heal.safety.refusals import refuse_elsewhere

# Moves that an interrupted run cancelled itself, and the order of replicas that it did not restore.
#
# After a cancel Kafka keeps the former replicas but not their order (docs/facts/operations.md), so another replica may
# become the preferred leader. A run that dies between the cancel and the step that restores the order leaves it so.


def order_left(plan: Plan, known: Replay, reader: ClusterReader) -> Iterator[tuple[PlannedStep, tuple[int, ...]]]:
    """Yields each such move with the replicas in their present order, read from the cluster."""
    for move in plan.steps:
        if UNDO + move.id not in known.done or move.inverse is None:
            continue
        assignment = reader.partition(move.args.tp()).assignment
        if assignment is None or assignment.adding or assignment.removing:
            continue
        now, before = assignment.replicas, move.inverse.args.brokers("replicas")
        if now != before and {*now} == {*before}:
            yield move, now


# Changes that cannot be reverted are named up front. Finished copies are kept unless everything is to be reverted.

_RUN_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}(-[0-9]{1,2})?")
#: What a run takes back itself.
_RESTORE = frozenset({"compaction.restore", "retention.restore", "throttle.restore"})
_PROVE_SECONDS = 120.0
_MOVE_SECONDS = 3600.0


def make_rollback(run: RunDir, reader: ClusterReader, created: Created, *, everything: bool) -> Plan:
    """Returns the plan that rolls `run` back.

    `everything` also reverts what a rollback otherwise keeps, such as replicas that were added and are in sync. Raises
    RefusedError if the journal is broken, the run changed nothing, nothing of it can be reverted, or it was a run of
    another cluster or another version of kfix.
    """
    back = run.journal()
    if back.broken:
        raise RefusedError(f"{run.id}: {back.broken}: what the run changed after that is unknown")
    plan = run.plan()
    if plan.created.kfix != created.kfix:
        raise RefusedError(f"{run.id} was a run of kfix {plan.created.kfix}, this is kfix {created.kfix}")
    refuse_elsewhere(plan, reader.identity(), run.id)
    known = replay(back.records)
    done = [name for name in known.done if name in {s.id for s in plan.steps}]
    doubtful = tuple(
        _in_doubt(s)
        for s in plan.steps
        if s.id in known.open and ACTIONS[s.action].changes and UNDO + s.id not in known.done
    )
    reordered = tuple(order_left(plan, known, reader))
    if not done and not doubtful and not reordered:
        raise RefusedError(f"{run.id} changed nothing: there is nothing to roll back")
    maker = _Maker(plan, reader, done, everything, reordered)
    maker.skipped.extend(doubtful)
    steps = (*maker.orders(), *maker.steps())
    if not steps:
        reasons = [f"  {s.step}: {s.reason}" for s in maker.skipped]
        none_left = f"the run {run.id} reverted all of its changes itself"
        raise RefusedError(lines(f"no change of {run.id} can be reverted:", *reasons) if reasons else none_left)
    keys = dict.fromkeys(key for step in steps for key in step.pre)
    checks = lasting(steps)
    made = replace(
        plan,
        created=created,
        expires_at=created.at + longest_life(steps),
        title=f"Roll back run {run.id}",
        caps=replace(plan.caps, max_duration=None, max_bytes_moved=None, max_brokers=None),
        facts=tuple(maker.read(key) for key in keys),
        preconditions=(CheckCall("cluster_reachable", Args()),),
        goal=Goal(checks, _MOVE_SECONDS if maker.copies else _PROVE_SECONDS, plan.goal.interval, plan.goal.consecutive),
        steps=steps,
        invariants=(),
        standing=(),
        skipped_at_plan=tuple(maker.skipped),
        warnings=tuple(f"{s.step} will not be reverted: {s.reason}" for s in maker.skipped),
        undoes=run.id,
    )
    return seal(made)


def _in_doubt(step: PlannedStep) -> Skipped:
    """Names a change that was sent, or was about to be sent, and has no recorded result."""
    return Skipped(step.id, f"its answer was lost, so whether the change was made is unknown: check {step.target}")


class _Maker:
    def __init__(
        self,
        plan: Plan,
        reader: ClusterReader,
        done: list[str],
        everything: bool,
        reordered: tuple[tuple[PlannedStep, tuple[int, ...]], ...],
    ) -> None:
        self.plan = plan
        self.done = done
        self.reordered = reordered
        self.everything = everything
        self.read = FactReader(reader)
        self.reader = reader
        self.skipped: list[Skipped] = []
        self.copies = False
        # What the run restored itself, at its end.
        ended = {s.id: s for s in plan.restoring}
        self.put_back = [ended[name] for name in done if name in ended]
        self._moving: Mapping[TopicPartition, Assignment] | None = None

    def steps(self) -> Iterator[PlannedStep]:
        by_id = {step.id: step for step in self.plan.steps}
        for name in reversed(self.done):
            step = by_id[name]
            try:
                undo = self._undo(step)
            except NotApplicable as reason:
                self.skipped.append(Skipped(name, str(reason)))
                continue
            if undo is not None:
                yield self._step(step, undo)
            if undo is not None and undo.action == "reassign.cancel" and step.inverse is not None:
                # After a cancel Kafka keeps the former replicas but not their order (docs/facts/operations.md).
                order = step.inverse.args.with_(before=undo.args.brokers("original"), bytes=0)
                if order.brokers("replicas") != order.brokers("before"):
                    yield self._step(step, Undo(step.inverse.action, order), "order")

    def orders(self) -> Iterator[PlannedStep]:
        """Yields a step for each move that was cancelled without restoring the order of the replicas."""
        for step, now in self.reordered:
            if step.inverse is not None and step.id not in self.done:
                yield self._step(step, Undo(step.inverse.action, step.inverse.args.with_(before=now, bytes=0)), "order")

    def _undo(self, step: PlannedStep) -> Undo | None:
        if not ACTIONS[step.action].changes or step.action in _RESTORE:
            return None
        if any(step.undone_by(back) for back in self.put_back):
            return None
        if step.inverse is None:
            raise NotApplicable(step.undo)
        if step.action == "reassign.move" and step.args.tp() in self.moving:
            # A move in progress is cancelled; no copy is lost that anything relied on.
            self._must_be_own(step)
            cancel = ACTIONS["reassign.cancel"].freeze(Args({"partition": step.args.text("partition")}), self.read)
            return Undo("reassign.cancel", cancel)
        if step.inverse.keep and not self.everything:
            raise NotApplicable("finished, and its copies are in sync; --all reverts it as well")
        return step.inverse

    def _must_be_own(self, step: PlannedStep) -> None:
        """Raises NotApplicable if the move in progress is not this run's: it goes to other brokers."""
        target = target_of(self.moving[step.args.tp()])
        if target != step.args.brokers("replicas"):
            words = f"it is being moved to {list(target)}, not to {list(step.args.brokers('replicas'))}"
            raise NotApplicable(f"{words}: that move was started by somebody else and is left alone")

    @property
    def moving(self) -> Mapping[TopicPartition, Assignment]:
        if self._moving is None:
            self._moving = self.reader.reassignments()
        return self._moving

    def _step(self, step: PlannedStep, undo: Undo, what: str = "undo") -> PlannedStep:
        made = build_step(
            f"{what}-{step.id}",
            undo.action,
            undo.args,
            self.plan.cluster.name,
            why=f"reverts step {step.id}: {step.what}",
            gate=Gate.PLAN,
            verify_timeout=_MOVE_SECONDS if undo.action.startswith("reassign.") else _PROVE_SECONDS,
            on_failure=OnFailure.CONTINUE,
        )
        self.copies |= made.estimate.replicas_moved > 0
        return made


def refuse_altered_rollback(plan: Plan, store: RunStore, reader: ClusterReader, at: str = "") -> None:
    """Raises RefusedError if a rollback plan has a step that is no inverse of a change of that run.

    `at` ends the command that the hint names.
    """
    run = RunDir(store.runs_dir / plan.undoes)
    if not _RUN_ID.fullmatch(plan.undoes) or not run.plan_path.exists():
        raise RefusedError(
            f"plan {plan.short_id} rolls back run {plan.undoes!r}, which is not in this host's run store"
        )
    allowed: set[tuple[str, Args]] = set()
    for everything in (True, False):
        with suppress(KfixError):
            made = make_rollback(run, reader, plan.created, everything=everything)
            allowed |= {(s.action, without_estimates(s.args)) for s in made.steps}
    odd = [s.id for s in plan.steps if (s.action, without_estimates(s.args)) not in allowed]
    if odd:
        text = f"plan {plan.short_id}: step {odd[0]} does not revert run {plan.undoes} as the cluster is now"
        raise RefusedError(
            f"{text}; nothing was changed", hint=f"make a new plan: kfix runbook rollback {plan.undoes}{at}"
        )
