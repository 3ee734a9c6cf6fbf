"""The JSON Schema of runbook files, for editors: that of their declaration, and what the registries know.

It covers what a single place shows: names, types, arguments of actions and checks, gates below a floor. Only
`kfix runbook validate` reports mistakes that involve several places (an unknown parameter, a throttle that stays).
"""

from collections.abc import Collection, Mapping
from typing import Any

from kfix.core.args import ArgKind
from kfix.heal.actions.base import Action
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import Gate
from kfix.heal.model.runbook import OPERATORS, PLAIN, TOGETHER, RunbookFile
from kfix.heal.probes.registry import ALL as PROBES
from kfix.heal.runbook.placements import KINDS
from kfix.heal.runbook.references import ITEMS

Json = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ID = "urn:kfix:runbook:v1"
# A value that holds a reference is checked when it is resolved, not before.
_REFERENCE: Json = {"type": "string", "pattern": r"\$\{[a-z_][a-z_0-9.]*\}"}
_SIZE = r"\d+(\.\d+)?(B|[KMGT]B|[KMG]iB)"
_KINDS: Mapping[ArgKind, tuple[Json, ...]] = {
    ArgKind.PARTITION: ({"type": "string", "pattern": r"^.+-[0-9]+$"},),
    ArgKind.BROKERS: ({"type": "array", "items": {"type": "integer"}}, {"type": "array", "contains": _REFERENCE}),
    ArgKind.INT: ({"type": "integer"},),
    ArgKind.BROKER: ({"type": "integer", "minimum": 0},),
    ArgKind.BOOL: ({"type": "boolean"},),
    ArgKind.TEXT: ({"type": "string"},),
    ArgKind.TOPIC: ({"type": "string", "pattern": r"^(?!\.\.?$)[A-Za-z0-9._-]{1,249}$"},),
    ArgKind.RATE: ({"type": "integer"}, {"type": "string", "pattern": rf"^{_SIZE}/s$"}),
    ArgKind.BYTES: ({"type": "integer"}, {"type": "string", "pattern": rf"^{_SIZE}$"}),
    ArgKind.DURATION: ({"type": "string", "pattern": r"^\d+(\.\d+)?(ms|s|m|h)$"},),
}


def json_schema(codes: Collection[str] = ()) -> Json:
    """Returns the JSON Schema. `codes` are the known finding codes; if empty, any code of the right form is valid."""
    schema = _references(RunbookFile.model_json_schema(by_alias=True, mode="validation"))
    defs: Json = schema["$defs"]
    defs["PlainValue"] = _plain_value()
    _steps(defs["StepTemplate"])
    for name in ("CheckTemplate", "InvariantTemplate"):
        _checks(defs[name])
    _placement(defs["Placement"])
    _when(defs["Condition"])
    for name in ("ForEach", "StepForEach"):
        sources = [text for source in ITEMS for text in (f"${{{source}}}", source)]
        defs[name]["properties"]["items"] |= {"enum": sources}
    if codes:
        defs["On"]["properties"]["finding"]["items"] = {"enum": sorted(codes)}
    defs["On"]["anyOf"] = [
        {"required": ["finding"], "properties": {"finding": {"minItems": 1}}},
        {"required": ["request"], "properties": {"request": {"type": "string"}}},
    ]
    head = {"$schema": DIALECT, "$id": _ID, "title": "A runbook of kfix"}
    return {**head, **{k: v for k, v in schema.items() if k not in head}}


def _references(value: Any) -> Any:
    """Removes pydantic's titles, which repeat field names, and writes out the marks for plain values."""
    if isinstance(value, list):
        return [_references(v) for v in value]
    if not isinstance(value, dict):
        return value
    kept = {k: _references(v) for k, v in value.items() if not (k == "title" and isinstance(v, str))}
    if kept.pop(PLAIN, False):
        kept["$ref"] = "#/$defs/PlainValue"
        # A missing value is the default, but it cannot be written.
        kept.pop("default", None)
    return kept


def _plain_value() -> Json:
    return {
        "description": "A plain value or a list of them.",
        "anyOf": [
            {"type": ["string", "number", "boolean"]},
            {"type": "array", "items": {"$ref": "#/$defs/PlainValue"}},
        ],
    }


def _steps(step: Json) -> None:
    step["properties"]["action"] = {
        "enum": list(ACTIONS),
        "description": "; ".join(f"{name}: {action.summary}" for name, action in ACTIONS.items()),
    }
    # `from_step: null` means none.
    from_step = {"required": ["from_step"], "properties": {"from_step": {"type": "string"}}}
    rules: list[Json] = [
        {
            "if": from_step,
            "then": {"properties": {"with": {"maxProperties": 0}, "for_each": {"type": "null"}}},
        },
        {"not": {"required": ["always", "after_goal"], "properties": {n: {"const": True} for n in _BOTH}}},
    ]
    rules += [_action(action, from_step) for action in ACTIONS.values()]
    step["allOf"] = rules


_BOTH = ("always", "after_goal")


def _action(action: Action, from_step: Json) -> Json:
    gates = [gate.word for gate in Gate if gate >= action.gate_floor]
    then: Json = {"properties": {"gate": {"enum": [*gates, None]}}}
    if action.gate_floor is not Gate.AUTO:
        then["properties"]["always"] = {"const": False}
    if not action.proves_itself:
        then |= {"required": ["verify"]}
        then["properties"]["verify"] = {"minItems": 1}
    arguments: Json = {"properties": {"with": _arguments(action.params, action.optional)}}
    if action.params:
        arguments["required"] = ["with"]
    then["anyOf"] = [from_step, arguments]
    return {"if": {"required": ["action"], "properties": {"action": {"const": action.name}}}, "then": then}


def _checks(check: Json) -> None:
    own: Json = {name: {} for name in check["properties"]}
    check["properties"]["check"] = {
        "enum": list(PROBES),
        "description": "; ".join(f"{name}: {probe.summary}" for name, probe in PROBES.items()),
    }
    check["allOf"] = [
        {
            "if": {"required": ["check"], "properties": {"check": {"const": name}}},
            "then": _arguments(probe.params, probe.optional, own),
        }
        for name, probe in PROBES.items()
    ]


def _placement(placement: Json) -> None:
    placement["properties"]["kind"] = {"enum": list(KINDS), "description": "How the new replicas are chosen."}
    placement["allOf"] = [
        {
            "if": {"required": ["kind"], "properties": {"kind": {"const": name}}},
            "then": _arguments(kind.params, kind.optional, {"kind": {}}),
        }
        for name, kind in KINDS.items()
    ]


def _arguments(required: Mapping[str, ArgKind], optional: Mapping[str, ArgKind], own: Json | None = None) -> Json:
    kinds = {**required, **optional}
    properties = {name: _kind(kind) for name, kind in kinds.items()}
    return {
        "properties": {**(own or {}), **properties},
        "required": list(required),
        "additionalProperties": False,
    }


def _kind(kind: ArgKind) -> Json:
    return {"description": kind.value, "anyOf": [_REFERENCE, *_KINDS[kind]]}


def _when(when: Json) -> None:
    """Restricts a condition to one comparison of a fact, or to one of all, any, not."""
    every = (*OPERATORS, *TOGETHER)

    def only(name: str, *, fact: bool) -> Json:
        others = [{"required": [other]} for other in every if other != name]
        others += [] if fact else [{"required": ["fact"]}]
        wanted: Json = {"required": ["fact", name] if fact else [name], "not": {"anyOf": others}}
        if name in {"all", "any"}:
            wanted["properties"] = {name: {"type": "array", "minItems": 1}}
        return wanted

    when["anyOf"] = [only(name, fact=name in OPERATORS) for name in every]
