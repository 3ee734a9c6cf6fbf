"""The published JSON Schema: every shipped runbook passes it, and where it says no the models say no too."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import jsonschema
import yaml

from kfix.core.documents.nodes import parse
from kfix.core.errors import InvalidFileError
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.probes.registry import ALL as PROBES
from kfix.heal.runbook.catalogue import shipped_dir
from kfix.heal.runbook.load import load_text
from kfix.heal.runbook.published import json_schema
from kfix.heal.session.site import known_codes as codes
from tests.each import for_each

SCHEMA = json_schema(codes())
CHECKER = jsonschema.Draft202012Validator(SCHEMA)
SHIPPED = sorted(shipped_dir().glob("*.yaml"))
Data = dict[str, Any]


def _loads(data: Data) -> bool:
    # Through JSON, so that no value is written as an alias of another.
    text = yaml.safe_dump(json.loads(json.dumps(data)), sort_keys=False, allow_unicode=True, width=1000)
    try:
        load_text(text, origin="x", stem=str(data.get("metadata", {}).get("id", "x")), codes=codes())
    except InvalidFileError:
        return False
    return True


def _data(name: str = "raise-topic-rf") -> Data:
    found: Data = parse((shipped_dir() / f"{name}.yaml").read_text()).data
    return found


def test_the_schema_is_one_and_names_no_host() -> None:
    CHECKER.check_schema(SCHEMA)
    assert SCHEMA["$schema"].endswith("2020-12/schema")
    assert SCHEMA["$id"] == "urn:kfix:runbook:v1"
    text = json.dumps({k: v for k, v in SCHEMA.items() if k != "$schema"})
    assert "http" not in text
    assert "x-plain-value" not in text


@for_each("path", SHIPPED, ids=lambda p: p.stem)
def test_every_shipped_runbook_passes(path: Any) -> None:
    assert [e.message for e in CHECKER.iter_errors(parse(path.read_text()).data)] == []


def test_every_field_is_described_and_every_name_of_the_registries_is_there() -> None:
    def fields(name: str, model: Data) -> None:
        for field, about in model.get("properties", {}).items():
            assert about.get("description"), f"{name}.{field}"

    fields("RunbookFile", SCHEMA)
    for name, model in SCHEMA["$defs"].items():
        fields(name, model)
    assert SCHEMA["$defs"]["StepTemplate"]["properties"]["action"]["enum"] == list(ACTIONS)
    assert SCHEMA["$defs"]["CheckTemplate"]["properties"]["check"]["enum"] == list(PROBES)


def _set(path: str, value: Any) -> Callable[[Data], None]:
    """`steps.0.with.x` set to a value; None takes it away."""

    def change(data: Data) -> None:
        *way, last = [int(p) if p.isdecimal() else p for p in path.split("/")]
        at: Any = data
        for part in way:
            at = at[part]
        if value is None:
            del at[last]
        else:
            at[last] = value

    return change


WHEN = {"fact": "params.rf", "eq": 3}
BAD = {
    "version of the form": _set("apiVersion", "kfix/v2"),
    "kind": _set("kind", "Policy"),
    "no kind": _set("kind", None),
    "unknown field": _set("invariant", []),
    "python's name of a field": _set("api_version", "kfix/v1"),
    "id": _set("metadata/id", "Raise_RF"),
    "no owner": _set("metadata/owner", None),
    "owner without a letter": _set("metadata/owner", ""),
    "mode": _set("metadata/modes", ["zookeeper"]),
    "no mode": _set("metadata/modes", []),
    "version zero": _set("metadata/version", 0),
    "version as text": _set("metadata/version", "1"),
    "on nothing": _set("on", {}),
    "on an empty list": _set("on", {"finding": []}),
    "unknown finding": _set("on/finding", ["KFX999"]),
    "request": _set("on/request", "broker"),
    "no limits": _set("limits", None),
    "limit without a unit": _set("limits/max_bytes_moved", 5),
    "duration without a unit": _set("limits/cooldown", 60),
    "duration in words": _set("limits/max_duration", "soon"),
    "negative limit": _set("limits/max_partitions", -1),
    "param of no kind": _set("params/rf/type", "number"),
    "param without help": _set("params/rf/help", None),
    "param with a mapping": _set("params/rf/default", {"a": 1}),
    "no goal": _set("goal", None),
    "goal of nothing": _set("goal/all", []),
    "goal without patience": _set("goal/timeout", 30),
    "goal too often": _set("goal/consecutive", 101),
    "unknown check": _set("goal/all/0/check", "rf_was"),
    "check lacks an argument": _set("goal/all/0/rf", None),
    "check with a surplus argument": _set("goal/all/0/broker", 1),
    "check with an argument of another kind": _set("goal/all/0/rf", "three"),
    "on_breach": _set("invariants/0/on_breach", "warn"),
    "on_breach at a goal": _set("goal/all/0/on_breach", "stop"),
    "placement": _set("placement/kind", "random"),
    "placement lacks an argument": _set("placement/rf", None),
    "placement with a surplus argument": _set("placement/racks", 2),
    "no steps": _set("steps", []),
    "unknown action": _set("steps/0/action", "throttle.rates"),
    "no why": _set("steps/0/why", None),
    "action lacks an argument": _set("steps/0/with/rate", None),
    "no arguments at all": _set("steps/0/with", None),
    "surplus argument": _set("steps/0/with/rates", 1),
    "argument of another kind": _set("steps/0/with/broker", "one"),
    "negative broker": _set("steps/0/with/broker", -1),
    "rate in words": _set("steps/0/with/rate", "fast"),
    "gate below the floor": _set("steps/0/gate", "auto"),
    "unknown gate": _set("steps/0/gate", "yes"),
    "loop over nothing known": _set("steps/0/for_each/items", "${finding.brokers}"),
    "loop without a name": _set("steps/0/for_each/as", None),
    "batch of none": _set("steps/2/for_each/batch", 0),
    "verify_timeout without a unit": _set("steps/2/verify_timeout", 10),
    "on_failure": _set("steps/2/on_failure", "retry"),
    "asks, and always runs": _set("steps/2/always", True),
    "always and after the goal": _set("steps/3/after_goal", True),
    "from_step and arguments": _set("steps/3/with", {"kind": "topic"}),
    "from_step and a loop": _set("steps/3/for_each", {"items": "${placement.topics}", "as": "it"}),
    "when of nothing": _set("steps/0/when", {}),
    "when with two": _set("steps/0/when", {**WHEN, "ne": 2}),
    "when without a fact": _set("steps/0/when", {"eq": 3}),
    "when with a fact and all": _set("steps/0/when", {"fact": "params.rf", "all": [WHEN]}),
    "when all of nothing": _set("steps/0/when", {"all": []}),
    "when in no list": _set("steps/0/when", {"fact": "params.rf", "in": 3}),
    "when with a mapping": _set("steps/0/when", {"fact": "params.rf", "eq": {"a": 1}}),
    "no tests": _set("tests", []),
    "test of nothing": _set("tests/0/expect", None),
    "test with an unknown wish": _set("tests/0/expect/exit_code", 0),
    "test on no cluster": _set("tests/0/cluster", "Weak Topic"),
}
GOOD = {
    "nothing changed": lambda _data: None,
    "gate raised": _set("steps/0/gate", "typed"),
    "when": _set("steps/0/when", WHEN),
    "when all": _set("steps/0/when", {"all": [WHEN, {"not": WHEN}, {"any": [WHEN, {"fact": "params.rf", "gt": 1}]}]}),
    "when in": _set("steps/0/when", {"fact": "params.rf", "in": [2, 3]}),
    "literal arguments": _set("steps/0/with", {"broker": 1, "rate": "5MB/s"}),
    "literal rate": _set("steps/0/with/rate", 5_000_000),
    "optional argument left out": _set("steps/2/with/rate", None),
    "reference within text": _set("about", "for ${finding.topic}"),
    "standing": _set("standing", [{"check": "cluster_reachable"}]),
    "no preconditions": _set("preconditions", None),
    "a finding beside the request": _set("on/finding", ["KFX303"]),
    "timeout of a parameter": _set("goal/timeout", "${params.within}"),
    "duration with a fraction": _set("goal/timeout", "1.5m"),
    "choices": _set("params/rf/choices", [2, 3]),
    "batch of a number": _set("steps/2/for_each/batch", 5),
    "test that wants steps": _set("tests/0/expect", {"steps": ["a"], "refused_by": "x"}),
}


@for_each("name", BAD)
def test_what_is_broken_neither_passes_nor_loads(name: str) -> None:
    data = copy.deepcopy(_data())
    BAD[name](data)
    assert not _loads(data), "the models take it"
    assert not CHECKER.is_valid(data), "the schema takes it"


@for_each("name", GOOD)
def test_what_is_good_passes_and_loads(name: str) -> None:
    data = copy.deepcopy(_data())
    GOOD[name](data)
    assert _loads(data), "the models refuse it"
    assert [e.message for e in CHECKER.iter_errors(data)] == []


def test_a_step_that_nothing_proves_is_broken() -> None:
    data = _data("coordinator-stuck")
    bare = [s for s in data["steps"] if not ACTIONS[s["action"]].proves(_example(s["action"]))]
    for step in bare:
        step["verify"] = []
    assert _loads(data) == CHECKER.is_valid(data)


def _example(action: str) -> Any:
    from kfix.heal.actions.registry import example

    return example(ACTIONS[action])
