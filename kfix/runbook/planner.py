"""A runbook and a finding into a plan: references resolved, branches decided, facts read, everything literal.

The only place that knows templates. What it cannot decide or read it refuses; it never guesses and never cuts a plan to
the size of a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kfix.actions.base import NotApplicable
from kfix.actions.registry import ALL as ACTIONS
from kfix.errors import RefusedError
from kfix.model.args import Args, ArgValue, Kind, coerce
from kfix.model.facts import Fact
from kfix.model.finding import Finding
from kfix.model.plan import (
    CheckCall,
    Created,
    Gate,
    Goal,
    Plan,
    PlannedFor,
    PlannedStep,
    Risk,
    RunbookRef,
    Skipped,
)
from kfix.model.runbook import CheckTemplate, ForEach, RawValue, Runbook, StepTemplate
from kfix.model.snapshot import ClusterIdentity, TopicPartition
from kfix.model.verdict import Answer
from kfix.ports import ClusterReader
from kfix.probes.facts import FactReader
from kfix.probes.registry import ALL as PROBES
from kfix.probes.registry import ask
from kfix.runbook.decide import decide, words
from kfix.runbook.planfile import seal
from kfix.runbook.refs import UnknownReference, Value, resolve

PLAN_SECONDS = 30 * 60.0
# Who types a phrase must have looked at the cluster just now.
TYPED_PLAN_SECONDS = 5 * 60.0


@dataclass(frozen=True, slots=True)
class AlreadyMet:
    """The goal is met before anything was done: there is nothing to plan."""

    answers: tuple[tuple[CheckCall, Answer], ...]


def make_plan(
    runbook: Runbook, finding: Finding, reader: ClusterReader, *, created: Created, params: Args | None = None
) -> Plan | AlreadyMet:
    return _Planner(runbook, finding, reader, params or _defaults(runbook)).plan(created)


def _defaults(runbook: Runbook) -> Args:
    return Args({name: p.default for name, p in runbook.params.items()})


class _Planner:
    """One look at the cluster: all facts of a plan are read once, close together."""

    def __init__(self, runbook: Runbook, finding: Finding, reader: ClusterReader, params: Args) -> None:
        self.runbook = runbook
        self.finding = finding
        self.reader = reader
        self.params = params
        self.read = FactReader(reader)
        self.skipped: list[Skipped] = []
        self.known = _known(finding, params)

    def plan(self, created: Created) -> Plan | AlreadyMet:
        identity = self.reader.identity()
        self._fits(identity)
        goal = self._goal()
        answers = tuple((call, ask(call, self.reader)) for call in goal.checks)
        if all(answer.passed for _, answer in answers):
            return AlreadyMet(answers)
        preconditions = self._checks(self.runbook.preconditions, "preconditions", self.known)
        self._must_pass(preconditions)
        steps = tuple(step for template in self.runbook.steps for step in self._steps(template, identity))
        if not steps:
            raise RefusedError(
                "\n".join((f"{self.runbook.id}: no step applies to {self.finding.key}", *self._reasons()))
            )
        return self._sealed(created, identity, (preconditions, goal, steps))

    def _sealed(
        self,
        created: Created,
        identity: ClusterIdentity,
        parts: tuple[tuple[CheckCall, ...], Goal, tuple[PlannedStep, ...]],
    ) -> Plan:
        preconditions, goal, steps = parts
        typed = any(step.gate is Gate.TYPED for step in steps)
        plan = Plan(
            cluster=identity,
            created=created,
            expires_at=created.at + (TYPED_PLAN_SECONDS if typed else PLAN_SECONDS),
            runbook=RunbookRef(self.runbook.id, self.runbook.version, self.runbook.sha256),
            title=str(self._resolve(self.runbook.title, self.known, "title")),
            finding=_planned_for(self.finding),
            params=self.params,
            caps=self.runbook.caps,
            facts=self._facts(steps),
            preconditions=preconditions,
            goal=goal,
            steps=steps,
            skipped_at_plan=tuple(self.skipped),
            warnings=tuple(self._warnings(goal, steps)),
        )
        return seal(plan)

    # -- refusals

    def _fits(self, identity: ClusterIdentity) -> None:
        if self.finding.code not in self.runbook.codes:
            text = f"{self.runbook.id} is for {', '.join(self.runbook.codes)}, not for {self.finding.code}"
            raise RefusedError(text)
        if identity.mode not in self.runbook.modes:
            modes = ", ".join(sorted(self.runbook.modes))
            raise RefusedError(f"{self.runbook.id} is for {modes}; {identity.name} is of mode {identity.mode}")
        count, cap = len(self.finding.partitions), self.runbook.caps.max_partitions
        if count > cap:
            text = (
                f"{self.finding.key} covers {count} partitions; {self.runbook.id} allows {cap} (limits.max_partitions)"
            )
            raise RefusedError(text, hint="raise the limit in a copy of the runbook and give it with --runbooks DIR")

    def _must_pass(self, checks: tuple[CheckCall, ...]) -> None:
        for call in checks:
            answer = ask(call, self.reader)
            if not answer.passed:
                text = f"precondition {call}: {answer.verdict}: {answer.observed}; wanted: {answer.wanted}"
                raise RefusedError(text)

    def _reasons(self) -> Iterator[str]:
        return (f"  {s.step}: {s.reason}" for s in self.skipped)

    # -- steps

    def _steps(self, template: StepTemplate, identity: ClusterIdentity) -> Iterator[PlannedStep]:
        if template.when is not None and not decide(template.when, self.known, template.id):
            self.skipped.append(Skipped(template.id, f"only when {words(template.when)}"))
            return
        for name, known in self._each(template.id, template.for_each, self.known):
            try:
                yield self._step(name, template, known, identity)
            except NotApplicable as reason:
                self.skipped.append(Skipped(name, str(reason)))

    def _step(
        self, name: str, template: StepTemplate, known: Mapping[str, Value], identity: ClusterIdentity
    ) -> PlannedStep:
        action = ACTIONS[template.action]
        args = action.freeze(self._args(template.with_, action.params, known, name), self.read)
        own = self._checks(template.require, f"{name} require", known)
        require = tuple(dict.fromkeys((*action.guards(args), *own)))
        preview, inverse = action.preview(args), action.inverse(args)
        verify = self._proving(template.verify, f"{name} verify", known)
        reads = (key for call in require for key in PROBES[call.check].reads(call.args))
        return PlannedStep(
            id=name,
            action=action.name,
            args=args,
            gate=template.gate or action.gate_floor,
            risk=action.risk,
            why=str(self._resolve(template.why, known, name)),
            what=preview.what,
            target=preview.target,
            phrase=f"{identity.name}/{preview.target}/{preview.live}",
            reversible=inverse.reversible,
            undo=inverse.text,
            command=preview.command,
            pre=tuple(dict.fromkeys((*action.reads(args), *reads))),
            require=require,
            unless=self._checks(template.unless, f"{name} unless", known) or verify,
            verify=verify,
            verify_timeout=template.verify_timeout,
            estimate=preview.estimate,
        )

    def _each(
        self, name: str, loop: ForEach | None, known: Mapping[str, Value]
    ) -> Iterator[tuple[str, Mapping[str, Value]]]:
        """Literal copies, one an item. One item keeps the plain name; no item at all is an error, never "nothing"."""
        if loop is None:
            yield name, known
            return
        items = self.finding.partitions
        if not items:
            raise RefusedError(f"{name}: {self.finding.key} names no partition to go over")
        for item in items:
            yield (f"{name}:{item}" if len(items) > 1 else name), {**known, loop.name: item}

    # -- checks

    def _goal(self) -> Goal:
        template = self.runbook.goal
        return Goal(
            checks=self._proving(template.checks, "goal", self.known),
            timeout=self._seconds(template.timeout, "goal.timeout"),
            interval=self._seconds(template.interval, "goal.interval"),
            consecutive=template.consecutive,
        )

    def _checks(
        self, templates: tuple[CheckTemplate, ...], where: str, known: Mapping[str, Value]
    ) -> tuple[CheckCall, ...]:
        return tuple(call for t in templates for call in self._check(t, f"{where} {t.check}", known))

    def _proving(
        self, templates: tuple[CheckTemplate, ...], where: str, known: Mapping[str, Value]
    ) -> tuple[CheckCall, ...]:
        """Where no check is left nothing could be proved, and nothing left to prove must not look like proved."""
        checks = self._checks(templates, where, known)
        if not checks:
            raise RefusedError(f"{self.runbook.id}: {where}: no check applies to {self.finding.key}: it proves nothing")
        return checks

    def _check(self, template: CheckTemplate, where: str, known: Mapping[str, Value]) -> Iterator[CheckCall]:
        if template.when is not None and not decide(template.when, known, where):
            self.skipped.append(Skipped(where, f"only when {words(template.when)}"))
            return
        probe = PROBES[template.check]
        for _, one in self._each(where, template.for_each, known):
            args = self._args(template.args, {**probe.params, **probe.optional}, one, where)
            yield CheckCall(template.check, probe.freeze(args, self.read))

    # -- values

    def _args(
        self, raw: Mapping[str, RawValue], kinds: Mapping[str, Kind], known: Mapping[str, Value], where: str
    ) -> Args:
        found: dict[str, ArgValue] = {}
        for name, value in raw.items():
            resolved = self._resolve(value, known, where)
            try:
                found[name] = coerce(kinds[name], resolved)
            except ValueError as error:
                raise RefusedError(f"{self.runbook.id}: {where}: {name}: {error}") from error
        return Args(found)

    def _resolve(self, value: RawValue, known: Mapping[str, Value], where: str) -> Any:
        try:
            return resolve(value, known)
        except UnknownReference as error:
            text = f"{self.runbook.id}: {where}: {self.finding.key} says nothing about {error.args[0]}"
            raise RefusedError(text) from error

    def _seconds(self, value: RawValue, where: str) -> float:
        resolved = self._resolve(value, self.known, where)
        if not isinstance(resolved, float):
            raise RefusedError(f"{self.runbook.id}: {where}: {resolved!r} is not a duration")
        return resolved

    def _facts(self, steps: tuple[PlannedStep, ...]) -> tuple[Fact, ...]:
        keys = dict.fromkeys(key for step in steps for key in step.pre)
        return tuple(self.read(key) for key in keys)

    def _warnings(self, goal: Goal, steps: tuple[PlannedStep, ...]) -> Iterator[str]:
        if self.finding.unsettled:
            yield "the finding was seen once only: it may be an ordinary election that is still going on"
        wide = [step.id for step in steps if step.risk is Risk.WHOLE_CLUSTER]
        if wide:
            yield f"{', '.join(wide)} touches the whole cluster; it comes last and asks by itself"
        group = self.known.get("finding.group")
        made_up = sorted({str(c.args["group"]) for c in goal.checks if c.args.get("group", group) != group})
        if made_up:
            yield f"no group is known to live there; the proof asks for {', '.join(made_up)}, which nobody uses"


def _known(finding: Finding, params: Args) -> dict[str, Value]:
    known: dict[str, Value] = {f"finding.{name}": value for name, value in finding.facts.items()}
    known["finding.partitions"] = finding.partitions
    known |= {"finding.code": finding.code, "finding.obj": finding.obj, "finding.summary": finding.summary}
    return known | {f"params.{name}": value for name, value in params.items()}


def _planned_for(finding: Finding) -> PlannedFor:
    partitions: tuple[TopicPartition, ...] = finding.partitions
    cause = f"{finding.cause.text} ({finding.cause.confidence})"
    return PlannedFor(finding.code, finding.obj, finding.summary, cause, partitions, dict(finding.facts))
