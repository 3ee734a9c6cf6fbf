"""An object, and its JSON Schema, made of a declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Literal

import jsonschema
import pytest

from kfix.core.declared import FieldMark, OrNull, Pattern, Range, Unstored
from kfix.core.documents.outputs import schema_of, written
from kfix.core.snapshot.naming import TopicPartition


class Weight(IntEnum):
    LIGHT = 0
    HEAVY = 1


class Colour(StrEnum):
    RED = "bright red"


@dataclass(frozen=True)
class Part:
    name: str
    secret: Unstored[str]
    score: Annotated[OrNull[int], "how good"]
    tp: TopicPartition


class _First:
    schema: Literal["things/v1"]


class Base:
    weight: Weight
    parts: Unstored[tuple[Part, ...]]


class NestJson:
    inner: Annotated[NestJson | None, "another one"]


class ThingJson(Base, _First):
    """A thing.

    More of it.
    """

    colour: Colour | None
    parts: tuple[Part, ...]
    from_: Annotated[int, Range(1, 9), Pattern("x")]
    more: Annotated[Mapping[str, date], FieldMark.OPTIONAL]
    nest: NestJson | None
    raw: Any


NEST = {"inner": {"inner": None}}
PART = Part("a", "hidden", -1, TopicPartition("orders", 3))


class Source:
    weight = Weight.HEAVY
    colour = Colour.RED
    parts = (PART,)
    nest = None
    raw = 1.5


def thing(**given: Any) -> dict[str, Any]:
    return written(ThingJson, Source(), from_=2, **given)


def test_the_keys_are_those_of_the_bases_and_then_its_own() -> None:
    assert thing(nest=NEST, more={"at": date(2027, 1, 2)}) == {
        "schema": "things/v1",
        "weight": "heavy",
        "colour": "bright red",
        "parts": [{"name": "a", "score": None, "tp": ["orders", 3]}],
        "from": 2,
        "more": {"at": "2027-01-02"},
        "nest": NEST,
        "raw": 1.5,
    }
    assert list(thing()) == ["schema", "weight", "colour", "parts", "from", "nest", "raw"]


def test_a_key_that_is_not_declared_is_refused() -> None:
    with pytest.raises(TypeError, match="ThingJson has no colours"):
        thing(colours=1)


def test_the_schema_accepts_what_is_written_and_nothing_else() -> None:
    schema = schema_of(ThingJson)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    assert schema["title"] == "A thing."
    found = thing(nest=NEST, more={"at": date(2027, 1, 2)})
    assert validator.is_valid(found)
    assert validator.is_valid(found | {"added": 1})
    wrongs: list[dict[str, Any]] = [{"from": 0}, {"weight": 1}, {"schema": "v2"}, {"more": {"at": 1}}, {"nest": {}}]
    for wrong in (*wrongs, {"parts": [{"name": "a"}]}):
        assert not validator.is_valid(found | wrong), wrong
    for name in found:
        rest = {key: value for key, value in found.items() if key != name}
        assert validator.is_valid(rest) == (name == "more"), name
