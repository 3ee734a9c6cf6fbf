"""Reads the policy file: YAML as strict as a runbook's; all mistakes are reported at once as `file:line:col: text`."""

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Annotated, Literal

from pydantic import Field

from kfix.core.documents.problems import Path, Problem, unknown
from kfix.core.documents.reading import StrictModel, read_model, read_text
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import Gate
from kfix.heal.model.runbook import Bytes, Duration, Natural, Positive, WordOf
from kfix.heal.policy import Policy


class PolicyLimits(StrictModel):
    max_partitions: Natural | None = None
    max_brokers: Positive | None = None
    max_bytes_moved: Bytes | None = None
    max_duration: Duration | None = None
    max_concurrent_moves: Positive | None = None
    max_unclean: Natural | None = None
    cooldown: Duration | None = None


class PolicyModel(StrictModel):
    """A policy file. Gates are never below the action's floor, limits never above the runbook's."""

    api_version: Annotated[Literal["kfix/v1"], Field(alias="apiVersion")]
    kind: Literal["Policy"]
    gates: dict[str, Annotated[Gate, WordOf((Gate.STEP, Gate.TYPED, Gate.TWO_PERSON))]] = Field(default_factory=dict)
    limits: PolicyLimits = PolicyLimits()


def load_policy(path: FilePath) -> Policy:
    return parse_policy(read_text(path, "policy"), str(path))


def parse_policy(text: str, origin: str) -> Policy:
    model = read_model(text, PolicyModel, origin=origin, what="policy", more=_floors)
    return Policy(model.gates, model.limits.model_dump(exclude_none=True), origin)


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
