"""The JSON Schema of runbook files, for editors: the models' own schema plus what the registries know.

It covers what a single place shows: names, types, arguments of actions and checks, gates below a floor. Only
`kfix runbook validate` reports mistakes that involve several places (an unknown parameter, a throttle that stays).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kfix.core.args import ArgKind
from kfix.core.diagnosis.finding import REQUEST
from kfix.heal.actions.base import Action
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import Gate
from kfix.heal.probes.registry import ALL as PROBES
from kfix.heal.runbook.placements import KINDS
from kfix.heal.runbook.references import ITEMS
from kfix.heal.runbook.schema import OPERATORS, PLAIN, TOGETHER, RunbookModel

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
    schema = _references(RunbookModel.model_json_schema(by_alias=True, mode="validation"))
    defs: Json = schema["$defs"]
    defs["PlainValue"] = _plain_value()
    _described(schema, defs)
    _steps(defs["StepModel"])
    for name in ("CheckModel", "InvariantModel"):
        _checks(defs[name])
    _placement(defs["PlacementModel"])
    _when(defs["WhenModel"])
    for name in ("ForEachModel", "StepForEachModel"):
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


def _described(schema: Json, defs: Json) -> None:
    for name, model in (("RunbookModel", schema), *defs.items()):
        for field, about in model.get("properties", {}).items():
            text = _WORDS.get(f"{name}.{field}") or _WORDS.get(field)
            if text:
                about["description"] = text


_WORDS: Mapping[str, str] = {
    "apiVersion": "The version of the file format.",
    "kind": "The kind of file.",
    "metadata": "Name, version and owner.",
    "id": "Lower case with dashes.",
    "Metadata.id": "The file's name without .yaml.",
    "version": "Incremented with every change.",
    "owner": "The person or team responsible.",
    "modes": "The cluster modes it is for: zk, kraft.",
    "title": "One line at the top of the plan; may refer to ${finding.NAME} and ${params.NAME}.",
    "about": "What it is for. kfix runbook list shows the first sentence.",
    "on": "The findings it is for, or what may be requested without a finding.",
    "On.finding": "Finding codes, as kfix explain lists them.",
    "together": "One plan heals all its findings, because they have one cause.",
    "request": "Planned without a finding: for a topic (parameter topic), or for the cluster.",
    "RunbookModel.params": "Parameters, given with -p NAME=VALUE.",
    "limits": "Limits of a plan; a plan above one is refused.",
    "max_partitions": "The most partitions a plan may touch.",
    "max_brokers": "The most brokers that may receive replicas.",
    "max_bytes_moved": "The most bytes that may be copied, such as 200GB.",
    "max_duration": "The longest a run may take.",
    "max_concurrent_moves": "The most partitions that may be moved at once.",
    "max_unclean": "The most unclean elections; 0 unless data loss is intended.",
    "cooldown": "The minimum time between two runs for one finding.",
    "placement": "Where replicas should be placed, computed while planning.",
    "preconditions": "Checks that must pass when planning, applying and resuming.",
    "invariants": "Checks that must pass before every change and while waiting.",
    "on_breach": "What happens if the invariant no longer holds.",
    "goal": "The healthy state; its proof ends the run.",
    "GoalModel.all": "All of these checks.",
    "timeout": "The longest the proof may take.",
    "interval": "Time between two rounds of checks.",
    "consecutive": "How many times in a row all checks must pass.",
    "standing": "Reported after the run and by verify until it passes; not part of the proof.",
    "RunbookModel.steps": "The steps, safest first.",
    "with": "Arguments of the action.",
    "why": "The reason, shown at the gate to the person on call.",
    "gate": "Raises the gate above the action's floor, never lowers it.",
    "when": "Decided while planning, from facts of the finding and parameters.",
    "for_each": "Makes a literal copy for each item.",
    "from_step": "Restores what that step found.",
    "require": "Checks that must pass right before the change.",
    "unless": "If all of these checks pass, the step is skipped.",
    "verify": "Checks that verify the effect of the step.",
    "verify_timeout": "The longest the verification may take.",
    "on_failure": "What happens if the step fails.",
    "always": "The step runs at every end of the run.",
    "after_goal": "The step runs only after the goal is proved.",
    "items": "What the loop iterates over.",
    "as": "The name of an item.",
    "batch": "How many items are issued together.",
    "canary": "How many items run alone first.",
    "pause": "Time between two batches.",
    "fact": "finding.NAME or params.NAME.",
    "eq": "Equal.",
    "ne": "Not equal.",
    "lt": "Less.",
    "le": "At most.",
    "gt": "More.",
    "ge": "At least.",
    "in": "One of these.",
    "contains": "Contains this.",
    "any": "One of these conditions.",
    "not": "Not this condition.",
    "WhenModel.all": "All of these conditions.",
    "type": "The type of the value.",
    "default": "Without a default the parameter must be given.",
    "min": "The least value.",
    "max": "The greatest value.",
    "choices": "The values allowed.",
    "help": "One line of help.",
    "RunbookModel.tests": "At least one; kfix runbook test runs them.",
    "name": "What the test shows.",
    "cluster": "An incident on the in-memory cluster (kfix/heal/memory/incidents/).",
    "TestModel.finding": f"The code ({REQUEST}: requested without one), and facts that differ from the incident's.",
    "TestModel.params": "Parameters of the test.",
    "expect": "The expected plan and result.",
    "ExpectModel.steps": "The ids of the plan's steps, exactly.",
    "max_gate": "The highest gate of the plan, at most.",
    "refused_by": "Text that the refusal must contain.",
    "healed": "Carried out on the in-memory cluster, and proved.",
    "check": "The check's name.",
    "action": "The action's name.",
}
