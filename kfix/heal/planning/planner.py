"""Makes a plan from a runbook and a finding: resolves references, decides conditions, reads facts, lists steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kfix.core.args import Args
from kfix.core.derive.quorum import why_unchanged
from kfix.core.diagnosis.finding import REQUEST, Finding
from kfix.core.errors import RefusedError
from kfix.core.harmless import lines
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import ClusterIdentity, Mode
from kfix.core.timing import DiagnosisTimes
from kfix.core.wording import several
from kfix.heal.actions.base import NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.answer import Answer
from kfix.heal.model.facts import about, brokers
from kfix.heal.model.plan import (
    CheckCall,
    Created,
    Gate,
    Goal,
    Invariant,
    OnFailure,
    Phase,
    Plan,
    PlannedStep,
    Risk,
    RunbookRef,
    Skipped,
    skipped_lines,
)
from kfix.heal.placement.world import Move
from kfix.heal.plan.fidelity import refuse_over_limits
from kfix.heal.plan.planfile import longest_life, seal
from kfix.heal.plan.steps import build_step, joined
from kfix.heal.planning.loops import Items
from kfix.heal.planning.values import Expander, Names, complete, decide, known_of, planned_for
from kfix.heal.policy import NO_POLICY, Policy
from kfix.heal.probes.facts import FactReader
from kfix.heal.probes.registry import ask
from kfix.heal.runbook.placements import KINDS, PlacementInput, PlacementRequest, place
from kfix.heal.runbook.references import source_of

if TYPE_CHECKING:
    from kfix.heal.model.runbook import ForEach, Runbook, StepTemplate

#: Why: docs/adr/023.
ALONE = (
    "on KRaft the lock covers this host only, so every change is approved separately: make sure that no other kfix "
    "changes this cluster"
)


def warnings(finding: Finding, goal: Goal, steps: tuple[PlannedStep, ...], mode: Mode) -> Iterator[str]:
    """Warnings that an operator should read before approving a plan."""
    if mode is Mode.KRAFT:
        yield ALONE
    if finding.unsettled:
        yield "the finding was seen in one snapshot only; it may be an ordinary election in progress"
    group = finding.facts.get("group")
    made_up = sorted(
        {
            str(c.args["group"])
            for c in goal.checks
            if c.check == "coordinator_answers" and c.args.get("group", group) != group
        }
    )
    if made_up:
        noun, whose = ("group", "its") if len(made_up) == 1 else ("groups", "their")
        names = ", ".join(made_up)
        yield f"the proof uses the unused {noun} {names}: {whose} coordinator is that of the groups there"
    unknown = [s.id for s in steps if s.args.get("bytes") == -1 and s.estimate.replicas_moved]
    if unknown:
        yield f"the size of {several(len(unknown), 'partition')} to copy is unknown: no broker reported it"
    copying = [s for s in steps if s.estimate.replicas_moved]
    if copying:
        yield "check the free disk space of the destination brokers: Kafka reports it only from version 3.3 on"
    lost = [s.id for s in steps if s.risk is Risk.DATA_LOSS]
    if lost:
        yield f"{', '.join(lost)} CANNOT BE UNDONE and may lose records"


# Everything in a plan is literal; only this module knows templates. It refuses what it cannot decide or read, and a
# plan above a limit; it never guesses and never shortens a plan.

#: Actions that the coordinator of a group or of a producer carries out, and not the controller.
_USUAL: Final = DiagnosisTimes()
_BY_COORDINATORS = frozenset({"group.evict", "offsets.commit", "offsets.skip", "transaction.abort"})


@dataclass(frozen=True, slots=True)
class AlreadyMet:
    """The goal is met already, so there is nothing to plan. `why` states the reason if no check was needed."""

    answers: tuple[tuple[CheckCall, Answer], ...]
    why: str = ""


def make_plan(
    runbook: Runbook,
    finding: Finding,
    reader: ClusterReader,
    *,
    created: Created,
    params: Args | None = None,
    placement_input: PlacementInput | None = None,
    policy: Policy = NO_POLICY,
    judged: DiagnosisTimes = _USUAL,
) -> Plan | AlreadyMet:
    """Returns the plan of a runbook for a finding, or `AlreadyMet`. It changes nothing.

    Runbooks that place replicas or loop over the whole cluster need `placement_input`. `judged` holds the times of the
    diagnosis that made the finding. Raises RefusedError if a precondition does not pass, no step applies, or the plan
    exceeds a limit; UnreachableError if a source it needs does not answer.
    """
    return _Planner(runbook, finding, reader, complete(runbook, params), placement_input, policy).plan(created, judged)


class _Planner:
    """Makes one plan. It reads all facts once, close together."""

    def __init__(
        self,
        runbook: Runbook,
        finding: Finding,
        reader: ClusterReader,
        params: Args,
        placement_input: PlacementInput | None,
        policy: Policy,
    ) -> None:
        self.runbook = runbook
        self.finding = finding
        self.reader = reader
        self.params = params
        self.policy = policy
        self.read = FactReader(reader, None if placement_input is None else placement_input.snapshot)
        self.skipped: list[Skipped] = []
        self.items = Items(finding.partitions, reader, placement_input)
        self.placement_input = placement_input
        self.names = Names(runbook.id, finding.key, known_of(finding, params))
        self.expand = Expander(self.items, self.read, self.skipped, finding.key)
        self.batches = 0

    def plan(self, created: Created, judged: DiagnosisTimes) -> Plan | AlreadyMet:
        identity = self.reader.identity()
        self._fits(identity)
        if self.runbook.placement is not None:
            self.items.moves = self._placed(self.placement_input)
        if why := self.items.nothing(source_of(loop.items) for loop in self._goal_loops()):
            return AlreadyMet((), why)
        goal = self._goal()
        answers = tuple((call, ask(call, self.reader)) for call in goal.checks)
        if all(answer.passed for _, answer in answers):
            return AlreadyMet(answers)
        preconditions = self.expand.checks(self.runbook.preconditions, "preconditions", self.names)
        self._may_change(identity)
        self._must_pass(preconditions)
        steps: list[PlannedStep] = []
        for template in self.runbook.steps:
            steps += joined(self._steps(template, identity, steps))
        if not any(step.phase is Phase.MAIN for step in steps):
            raise RefusedError(lines(f"{self.runbook.id}: no step applies to {self.finding.key}", *self._reasons()))
        return self._sealed(created, identity, judged, (preconditions, goal, tuple(steps)))

    def _goal_loops(self) -> Iterator[ForEach]:
        return (c.for_each for c in self.runbook.goal.all if c.for_each is not None)

    def _placed(self, placement_input: PlacementInput | None) -> tuple[Move, ...]:
        placement = self.runbook.placement
        assert placement is not None
        kind = KINDS[placement.kind]
        args = self.names.args(placement.args, {**kind.params, **kind.optional}, "placement")
        request = PlacementRequest(
            self.items.world, self.finding.partitions, args, () if placement_input is None else placement_input.moves
        )
        moves = place(placement.kind, request)
        for move in moves:
            (key,) = about(move.tp, "assignment")
            if brokers(self.read(key)) != move.before:
                text = f"{self.runbook.id}: the replicas of {move.tp} changed while the plan was made"
                raise RefusedError(text, hint="run the command again")
        return moves

    def _sealed(
        self,
        created: Created,
        identity: ClusterIdentity,
        judged: DiagnosisTimes,
        parts: tuple[tuple[CheckCall, ...], Goal, tuple[PlannedStep, ...]],
    ) -> Plan:
        preconditions, goal, steps = parts
        keys = dict.fromkeys(key for step in steps for key in step.pre)
        plan = Plan(
            cluster=identity,
            created=created,
            expires_at=created.at + longest_life(steps),
            runbook=RunbookRef(self.runbook.id, self.runbook.metadata.version, self.runbook.sha256),
            title=self.names.text(self.runbook.title, "title"),
            finding=planned_for(self.finding),
            params=self.params,
            caps=self.policy.caps(self.runbook.caps),
            facts=tuple(self.read(key) for key in keys),
            preconditions=preconditions,
            goal=goal,
            steps=steps,
            invariants=self._invariants(),
            standing=self.expand.checks(self.runbook.standing, "standing", self.names),
            skipped_at_plan=tuple(self.skipped),
            warnings=tuple(warnings(self.finding, goal, steps, identity.mode)),
            judged=judged,
        )
        refuse_over_limits(plan)
        return seal(plan)

    def _fits(self, identity: ClusterIdentity) -> None:
        if self.finding.code not in self.runbook.codes and not (self.runbook.request and self.finding.code == REQUEST):
            text = f"{self.runbook.id} is for {', '.join(self.runbook.codes)}, not for {self.finding.code}"
            raise RefusedError(text)
        if identity.mode not in self.runbook.metadata.modes:
            modes = ", ".join(sorted(self.runbook.metadata.modes))
            raise RefusedError(
                f"{self.runbook.id} is for clusters of mode {modes}; {identity.name} has mode {identity.mode}"
            )

    def _may_change(self, identity: ClusterIdentity) -> None:
        """Raises RefusedError if KRaft controllers own the cluster, although ZooKeeper's records chose the change."""
        actions = [ACTIONS[template.action] for template in self.runbook.steps]
        through = any(action.changes and action.name not in _BY_COORDINATORS for action in actions)
        if identity.mode is Mode.ZOOKEEPER and through and (why := why_unchanged(self.reader.controller())):
            raise RefusedError(f"{self.runbook.id}: {why}")

    def _must_pass(self, checks: tuple[CheckCall, ...]) -> None:
        for call in checks:
            answer = ask(call, self.reader)
            if not answer.passed:
                text = f"precondition {call}: {answer.words}"
                raise RefusedError(text)

    def _reasons(self) -> Iterator[str]:
        return (f"  {line}" for line in skipped_lines(self.skipped))

    def _steps(
        self, template: StepTemplate, identity: ClusterIdentity, before: list[PlannedStep]
    ) -> Iterator[PlannedStep]:
        if template.when is not None and not decide(template.when, self.names.known, template.id):
            self.skipped.append(Skipped(template.id, f"only when {template.when.words}"))
            return
        if template.from_step:
            yield from self._from_step(template, identity, before)
            return
        for portion, canary in self._portions(template):
            numbered, self.batches = (self.batches + 1,) * 2 if len(portion) > 1 else (0, self.batches)
            for n, (name, names) in enumerate(portion, 1):
                pause = template.for_each.pause if template.for_each is not None and n == len(portion) else 0.0
                try:
                    yield self._step(name, template, names, (identity, numbered, pause, canary))
                except NotApplicable as reason:
                    self.skipped.append(Skipped(name, str(reason)))

    def _portions(self, template: StepTemplate) -> Iterator[tuple[list[tuple[str, Names]], bool]]:
        """Yields (steps that are issued together, whether they are the canary)."""
        loop = template.for_each
        if loop is None or loop.batch is None:
            yield from (([one], False) for one in self.expand.each(template.id, loop, self.names))
            return
        source, size = source_of(loop.items), self.names.number(loop.batch, f"{template.id} for_each batch")
        portions = tuple(self.items.portions(source, loop.as_, size, loop.canary))
        if not portions:
            raise RefusedError(f"{template.id}: {self.finding.key} gives no {source} to loop over")
        for n, portion in enumerate(portions):
            named = [(f"{template.id}:{item.suffix}", self.names.inside(item.values)) for item in portion]
            yield named, n == 0 and loop.canary > 0

    def _step(
        self, name: str, template: StepTemplate, names: Names, shape: tuple[ClusterIdentity, int, float, bool]
    ) -> PlannedStep:
        identity, batch, pause, canary = shape
        action = ACTIONS[template.action]
        args = action.freeze(names.args(template.with_, {**action.params, **action.optional}, name), self.read)
        gate = max(template.gate or Gate.AUTO, self.policy.gate(action.name), Gate.STEP if canary else Gate.AUTO)
        verify = self.expand.checks(template.verify, f"{name} verify", names)
        if template.verify and not verify:
            raise RefusedError(f"{self.runbook.id}: {name} verify: no check applies, so the step cannot be verified")
        return build_step(
            name,
            action.name,
            args,
            identity.name,
            why=names.text(template.why, name),
            gate=gate,
            require=self.expand.checks(template.require, f"{name} require", names),
            unless=self.expand.checks(template.unless, f"{name} unless", names),
            verify=verify,
            verify_timeout=names.seconds(template.verify_timeout, f"{name} verify_timeout"),
            phase=template.phase,
            # A canary that fails, is refused or skipped stops the run: that is its purpose.
            on_failure=OnFailure.STOP if canary else template.on_failure,
            batch=batch,
            pause=pause,
        )

    def _from_step(
        self, template: StepTemplate, identity: ClusterIdentity, before: list[PlannedStep]
    ) -> Iterator[PlannedStep]:
        """Yields the inverse of every step that `from_step` made, last first: it restores the previous values."""
        made = [s for s in before if s.id.partition(":")[0] == template.from_step and s.inverse is not None]
        if not made:
            self.skipped.append(Skipped(template.id, f"{template.from_step} is not in the plan"))
        for source in reversed(made):
            assert source.inverse is not None
            suffix = source.id.partition(":")[2]
            yield build_step(
                f"{template.id}:{suffix}" if suffix else template.id,
                source.inverse.action,
                source.inverse.args,
                identity.name,
                why=self.names.text(template.why, template.id),
                gate=max(template.gate or Gate.AUTO, self.policy.gate(source.inverse.action)),
                verify=self.expand.checks(template.verify, f"{template.id} verify", self.names),
                verify_timeout=self.names.seconds(template.verify_timeout, template.id),
                phase=template.phase,
                on_failure=OnFailure.CONTINUE,
            )

    def _goal(self) -> Goal:
        template = self.runbook.goal
        checks = self.expand.checks(template.all, "goal", self.names)
        if not checks:
            raise RefusedError(
                f"{self.runbook.id}: goal: no check applies to {self.finding.key}, so nothing could be proved"
            )
        return Goal(
            checks=checks,
            timeout=self.names.seconds(template.timeout, "goal.timeout"),
            interval=self.names.seconds(template.interval, "goal.interval"),
            consecutive=template.consecutive,
        )

    def _invariants(self) -> tuple[Invariant, ...]:
        return tuple(
            Invariant(call, one.on_breach)
            for one in self.runbook.invariants
            for call in self.expand.checks((one,), "invariants", self.names)
        )
