"""A site's policy: it raises gates and lowers limits, never the reverse. `policyfile` reads it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kfix.core.errors import RefusedError
from kfix.core.harmless import lines
from kfix.heal.hints import plan_again
from kfix.heal.model.plan import Caps, Gate, Plan, PlannedStep
from kfix.heal.plan.planfile import longest_life, seal


@dataclass(frozen=True, slots=True)
class Policy:
    """The lowest gate per action, and limits that hold for every runbook. `origin` is the file it was read from."""

    gates: Mapping[str, Gate] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    origin: str = ""

    def gate(self, action: str) -> Gate:
        return self.gates.get(action, Gate.AUTO)

    def caps(self, caps: Caps) -> Caps:
        """Returns the stricter limits: the smaller number, but the longer cooldown."""
        changed: dict[str, float] = {}
        for name, limit in self.limits.items():
            own = getattr(caps, name)
            keep = max if name == "cooldown" else min
            changed[name] = limit if own is None else keep(own, limit)
        return replace(caps, **changed)  # type: ignore[arg-type]

    def raised(self, plan: Plan) -> Plan:
        """Returns a rollback plan with its gates raised to the policy. Its limits do not change."""
        steps = tuple(s if self._fits(s) else replace(s, gate=self.gate(s.action)) for s in plan.steps)
        if steps == plan.steps:
            return plan
        latest = plan.created.at + longest_life(steps)
        return seal(replace(plan, steps=steps, expires_at=min(plan.expires_at, latest)))

    def refuse(self, plan: Plan) -> None:
        """Raises RefusedError, naming each violation: a plan may be older than the policy or made without one."""
        problems = list(self._short(plan))
        if problems:
            text = lines(f"plan {plan.short_id} violates the policy {self.origin}:", *problems)
            raise RefusedError(lines(text, "nothing was changed"), hint=plan_again(plan))

    def _short(self, plan: Plan) -> Iterator[str]:
        for step in plan.steps:
            if not self._fits(step):
                required = self.gate(step.action).word
                yield f"  step {step.id}: gate {step.gate.word}; the policy requires {required} for {step.action}"
        if plan.undoes:
            return
        allowed = self.caps(plan.caps)
        for name in self.limits:
            had, limit = getattr(plan.caps, name), getattr(allowed, name)
            if had != limit:
                yield f"  limits.{name}: {'none' if had is None else f'{had:g}'}; the policy requires {limit:g}"

    def _fits(self, step: PlannedStep) -> bool:
        """Returns whether the step's gate is high enough. A policy cannot raise the gate `auto` of restoring steps."""
        return step.gate is Gate.AUTO or step.gate >= self.gate(step.action)


NO_POLICY = Policy()
