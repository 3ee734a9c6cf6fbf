"""The JSON Schema of a runbook file, for editors: the models' own, and what the registries know beside it.

It tells what one place can tell: names, kinds, arguments of actions and checks, gates below a floor. What several
places mean together (a reference to no parameter, a throttle that stays) only `kfix runbook validate` tells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kfix.actions.base import Action
from kfix.actions.registry import ALL as ACTIONS
from kfix.model.diagnosis.finding import REQUEST
from kfix.model.plan.args import ArgKind
from kfix.model.plan.plan import Gate
from kfix.probes.registry import ALL as PROBES
from kfix.runbook.file.lint import OPERATORS
from kfix.runbook.file.placements import KINDS
from kfix.runbook.file.schema import PLAIN, RunbookModel
from kfix.runbook.file.sources import ITEMS

Json = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ID = "urn:kfix:runbook:v1"
_TOGETHER = ("all", "any", "not")
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
    """`codes` are the findings that exist; none given: any of their form will do."""
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
    """Without pydantic's titles, which only say a field's name again; a plain value's mark as what it stands for."""
    if isinstance(value, list):
        return [_references(v) for v in value]
    if not isinstance(value, dict):
        return value
    kept = {k: _references(v) for k, v in value.items() if not (k == "title" and isinstance(v, str))}
    if kept.pop(PLAIN, False):
        kept["$ref"] = "#/$defs/PlainValue"
        # No value at all is the default, and nothing that could be written.
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
    placement["properties"]["kind"] = {"enum": list(KINDS), "description": "How the new places are found."}
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
    """One comparison of a fact, or one of all, any, not; `required` alone cannot say "and nothing else"."""
    every = (*OPERATORS, *_TOGETHER)

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
    "apiVersion": "The form of the file.",
    "kind": "What the file is.",
    "metadata": "Name, version, who answers for it.",
    "id": "Lower case with dashes.",
    "Metadata.id": "The file's name without .yaml.",
    "version": "Raised with every change.",
    "owner": "Who answers for it.",
    "modes": "Clusters it is for: zk, kraft.",
    "title": "One line at the head of the plan; may refer to ${finding.NAME} and ${params.NAME}.",
    "about": "What it is for. The first sentence is what kfix runbook list shows.",
    "on": "Findings it is for, or what a person may ask for without one.",
    "On.finding": "Codes of kfix explain.",
    "request": "Planned without a finding: for a topic (parameter topic), or for the cluster.",
    "RunbookModel.params": "What may be given with -p NAME=VALUE.",
    "limits": "The most a plan may do; above it the planner refuses.",
    "max_partitions": "Partitions that a plan may touch.",
    "max_brokers": "Brokers that may get replicas.",
    "max_bytes_moved": "Bytes that may be copied, such as 200GB.",
    "max_duration": "How long a run may take.",
    "max_concurrent_moves": "Partitions that may be on the move at once.",
    "max_unclean": "Unclean elections; 0 unless loss is meant.",
    "cooldown": "Least time between two runs for one finding.",
    "placement": "Where replicas should lie, computed while planning.",
    "preconditions": "Must hold when planning, when applying and when resuming.",
    "invariants": "Must hold before every change and while waiting.",
    "on_breach": "What a broken invariant does.",
    "goal": "What healed means; its proof ends the run.",
    "GoalModel.all": "All of these checks.",
    "timeout": "How long the proof may take.",
    "interval": "Time between two looks.",
    "consecutive": "Good looks in a row that are a proof.",
    "standing": "Told after the run and by verify until it holds; not part of the proof.",
    "RunbookModel.steps": "In the order of least harm.",
    "with": "Arguments of the action.",
    "why": "What people read at the gate: the reason, as to a person on call.",
    "gate": "Raises the action's floor, never lowers it.",
    "when": "Decided when planned, from facts of the finding and parameters.",
    "for_each": "A literal copy for each item.",
    "from_step": "Puts back what that step found.",
    "require": "Asked in the same second before the change.",
    "unless": "Where all of these pass the step is not needed.",
    "verify": "What the step is to bring about.",
    "verify_timeout": "How long that may take.",
    "on_failure": "What follows where it did not take.",
    "always": "Has its turn in every ending.",
    "after_goal": "Has its turn only once the goal is proved.",
    "items": "What the loop goes over.",
    "as": "What an item is called.",
    "batch": "How many are issued together.",
    "canary": "How many go alone first.",
    "pause": "Time between two batches.",
    "fact": "finding.NAME or params.NAME.",
    "eq": "Equal.",
    "ne": "Not equal.",
    "lt": "Less.",
    "le": "At most.",
    "gt": "More.",
    "ge": "At least.",
    "in": "One of these.",
    "contains": "Holds this.",
    "any": "One of these conditions.",
    "not": "Not this condition.",
    "WhenModel.all": "All of these conditions.",
    "type": "What the value is.",
    "default": "Without it the parameter must be given.",
    "min": "The least it may be.",
    "max": "The most it may be.",
    "choices": "All it may be.",
    "help": "One line for people.",
    "RunbookModel.tests": "At least one; kfix runbook test runs them.",
    "name": "What the test shows.",
    "cluster": "An incident on the in-memory cluster (kfix/adapters/memory/incidents/).",
    "TestModel.finding": f"Its code ({REQUEST}: asked for without one), and facts that differ from the incident's.",
    "TestModel.params": "Parameters of the test.",
    "expect": "What the plan and the run must give.",
    "ExpectModel.steps": "The ids of the plan's steps, exactly.",
    "max_gate": "The highest gate of the plan, at most.",
    "refused_by": "Words of the refusal.",
    "healed": "Carried out on the in-memory cluster, and proved.",
    "check": "The question.",
    "action": "The change.",
}
