"""A site's policy: it raises gates and lowers limits, never the reverse. Its file is read as strictly as a runbook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Annotated, Literal

from pydantic import Field

from kfix.core.documents.problems import Path, Problem, unknown
from kfix.core.documents.reading import read_model, read_text
from kfix.core.documents.shapes import StrictModel
from kfix.core.errors import RefusedError
from kfix.core.harmless import lines
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.hints import plan_again
from kfix.heal.model.plan import Caps, Gate, Plan, PlannedStep
from kfix.heal.plan.planfile import longest_life, seal
from kfix.heal.runbook.schema import Bytes, Duration

# A site's policy: it raises gates and lowers limits, never the reverse. `policyfile` reads it.


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


# Reads the policy file: YAML as strict as a runbook's; all mistakes are reported at once as `file:line:col: text`.


class PolicyLimits(StrictModel):
    max_partitions: Annotated[int, Field(ge=0)] | None = None
    max_brokers: Annotated[int, Field(ge=1)] | None = None
    max_bytes_moved: Bytes | None = None
    max_duration: Duration | None = None
    max_concurrent_moves: Annotated[int, Field(ge=1)] | None = None
    max_unclean: Annotated[int, Field(ge=0)] | None = None
    cooldown: Duration | None = None


class PolicyModel(StrictModel):
    """A policy file. Gates are never below the action's floor, limits never above the runbook's."""

    api_version: Annotated[Literal["kfix/v1"], Field(alias="apiVersion")]
    kind: Literal["Policy"]
    gates: dict[str, Literal["step", "typed", "two_person"]] = Field(default_factory=dict)
    limits: PolicyLimits = PolicyLimits()


def load_policy(path: FilePath) -> Policy:
    return parse_policy(read_text(path, "policy"), str(path))


def parse_policy(text: str, origin: str) -> Policy:
    model = read_model(text, PolicyModel, origin=origin, what="policy", more=_floors)
    gates = {action: Gate[word.upper()] for action, word in model.gates.items()}
    return Policy(gates, model.limits.model_dump(exclude_none=True), origin)


def _floors(data: object) -> Iterator[Problem]:
    """Checks the plain data, so that a mistake in the structure does not hide others."""
    gates = data.get("gates") if isinstance(data, dict) else None
    for name, word in gates.items() if isinstance(gates, dict) else ():
        path: Path = ("gates", name)
        if name not in ACTIONS:
            yield Problem(path, unknown("action", name, ACTIONS), at_key=True)
            continue
        floor = ACTIONS[name].gate_floor
        if floor is Gate.AUTO:
            yield Problem(
                path, f"{name} has no gate to raise: it changes nothing, or restores earlier settings", at_key=True
            )
        elif isinstance(word, str) and word.upper() in Gate.__members__ and Gate[word.upper()] < floor:
            yield Problem(path, f"gate {word!r} is below the floor {floor.word!r} of action {name}")
