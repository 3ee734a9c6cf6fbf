"""The declarations of messages against Kafka's own definitions, which kafka-python ships, and the codec by itself."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol import schemas

from kfix.core.kafka import (
    access_messages,
    codec,
    group_messages,
    kraft_messages,
    new_groups,
    requests,
    sasl,
    transactions,
)
from kfix.core.kafka.api import Api
from kfix.core.kafka.codec import ByteReader, ProtocolError, decoder, encoder
from kfix.lab.clients import asking
from tests.each import for_each
from tests.unit.core.kafka.test_codec_against_kafka_python import every, names
from tests.wire import Writer

TYPES = {
    "int8": "i8",
    "int16": "i16",
    "uint16": "u16",
    "int32": "i32",
    "int64": "i64",
    "string": "str",
    "float64": "f64",
}
TYPES |= {"bytes": "blob", "records": "blob", "[]int32": "i32s", "[]string": "strs"}
LAB = [(asking.JOIN_GROUP, 2), (asking.JOIN_GROUP, 5), (asking.SYNC_GROUP, 1), (asking.SYNC_GROUP, 3)]
KRAFT = [(kraft_messages.DESCRIBE_QUORUM, v) for v in (0, 1, 2)]
KRAFT += [(kraft_messages.DESCRIBE_CLUSTER, v) for v in (0, 1, 2)]
KRAFT += [(kraft_messages.API_VERSIONS, 3), (kraft_messages.DESCRIBE_TOPIC_PARTITIONS, 0)]
REQUESTS: list[Any] = [*every]
USED = {(each.api_key, each.version) for each in REQUESTS} | {
    *LAB,
    *KRAFT,
    (kraft_messages.UPDATE_FEATURES, 1),
    (asking.PRODUCE, 3),
    (asking.ALTER_CLIENT_QUOTAS, 0),
}
#: Of these, kafka-python has no definition.
MISSING = {
    *(kraft_messages.UNREGISTER_BROKER, kraft_messages.ADD_VOTER, kraft_messages.REMOVE_VOTER),
    asking.CONSUMER_GROUP_HEARTBEAT,
}

DEFINITIONS = {}
for path in Path(schemas.__file__).parent.glob("resources/*.json"):
    text = re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    definition = json.loads(text)
    if "apiKey" in definition:
        DEFINITIONS[definition["apiKey"], definition["type"]] = definition


def in_range(versions, version):
    if versions == "none":
        return False
    first, plus, last = re.fullmatch(r"(\d+)(\+?)-?(\d*)", versions).groups()
    return int(first) <= version <= (99 if plus else int(last or first))


def theirs(definition, version):
    """Returns the types of the fields that a version has, those of a struct behind it."""
    common = {each["name"]: each["fields"] for each in definition.get("commonStructs", ())}

    def shape(fields):
        for each in fields:
            tagged = in_range(each["taggedVersions"], version) if "taggedVersions" in each else False
            if not in_range(each["versions"], version) or tagged:
                continue
            kind = each["type"]
            inner = each.get("fields") or common.get(kind.removeprefix("[]"))
            yield ("[" if kind.startswith("[]") else "{", [*shape(inner)]) if inner else TYPES.get(kind, kind)

    return [*shape(definition["fields"])]


def ours(declared, version):
    def shape(fields):
        for each in fields:
            if each.since <= version and each.tag is None:
                yield (each.type, [*shape(each.fields)]) if each.fields else each.type

    return [*shape(codec._fields(declared))]


@for_each("used", sorted(each for each in USED if each[0] not in MISSING), ids=lambda used: f"{used[0]!r} v{used[1]}")
def test_a_declaration_has_the_fields_of_kafkas_definition(used):
    api, version = used
    request, response = DEFINITIONS[api, "request"], DEFINITIONS[api, "response"]
    assert ours(api.request, version) == theirs(request, version)
    read = ours(api.response, version)
    assert read == theirs(response, version)[: len(read)], "what a response has at its end may be left out"
    assert in_range(request["flexibleVersions"], version) is (version >= api.flexible)


def test_every_declaration_is_compared():
    modules = (requests, access_messages, group_messages, kraft_messages, sasl, transactions, asking)
    declared = {each for module in modules for each in vars(module).values() if isinstance(each, Api)}
    assert {each for each in declared if (each, "request") not in DEFINITIONS} == MISSING
    assert declared - {api for api, _ in USED} <= MISSING


def test_only_these_apis_pass_a_read_only_connection():
    modules = (requests, access_messages, group_messages, kraft_messages, new_groups, sasl, transactions)
    declared = {each for module in (*modules, asking) for each in vars(module).values() if isinstance(each, Api)}
    reading = {1, 2, 3, 9, 10, 15, 16, 17, 18, 23, 29, 32, 35, 36, 46, 48, 55, 60, 61, 69, 75, 77, 89, 90}
    assert {each for each in declared if each.reads} == reading


MANY = "_throttle_ms:i32 rows:[index:i32 offset:i64]"


@pytest.mark.parametrize(
    ("declared", "flexible", "data", "why"),
    [
        (MANY, False, Writer().i32(0).i32(2**31 - 1).done(), "an impossible number of elements"),
        (MANY, False, Writer().i32(0).i32(9).raw(bytes(9)).done(), "ends too early"),
        (MANY, True, Writer().i32(0).raw(b"\xff" * 5).done(), "an invalid length"),
        (MANY, True, Writer().i32(0).raw(b"\xff").done(), "ends too early"),
        ("ids:i32s", False, Writer().i32(9).raw(bytes(9)).done(), "ends too early"),
        ("name:str", False, Writer().i16(3).raw(b"ab").done(), "ends too early"),
        ("name:str", True, Writer().uvarint(4).raw(b"ab").done(), "ends too early"),
        ("name:str#0", True, Writer().uvarint(1).uvarint(0).uvarint(9).compact_string("ab").done(), "wrong length"),
    ],
)
def test_lengths_that_a_response_does_not_have_are_errors(declared, flexible, data, why):
    with pytest.raises(ProtocolError, match=why):
        decoder(declared, flexible=flexible).read(ByteReader(data))


@given(st.booleans(), st.none() | names, st.lists(st.tuples(st.integers(-9, 9), st.lists(names))), st.none() | names)
def test_what_is_written_is_read_again(flexible, name, rows, cursor):
    declared = "name:str? _left:i8=7 rows:[id:i64 _x:u16 names:strs new:i32=-1@3] cursor:{topic:str}? plain:{x:i32s}"
    row = (name, [(number, texts, 5) for number, texts in rows], None if cursor is None else (cursor,), ((1, 2),))
    raw = encoder(declared, 2, flexible=flexible).write(row)
    expected = (name, [(number, texts, -1) for number, texts in rows], *row[2:])
    assert decoder(declared, 2, flexible=flexible).read(ByteReader(raw)) == expected
