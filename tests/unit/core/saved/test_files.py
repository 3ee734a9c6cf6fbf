"""A snapshot file with a wrong value is one line with the path of it, whatever the value is."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import jsonschema
import pytest

from kfix.core.documents import opening
from kfix.core.errors import UsageError
from kfix.core.saved import files
from kfix.core.saved.files import encode
from kfix.core.saved.store import SnapshotStore
from kfix.shell.schemas import schema_of
from tests.each import for_each
from tests.unit.core.saved.test_store import whole
from tests.unit.diagnostics.clusters import base


def told(change, tmp_path):
    raw = json.loads(json.dumps(encode(whole())))
    change(raw)
    path = tmp_path / "s.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(UsageError) as caught:
        files.parse(files.read_text(path), path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: is damaged: ")


def at(*path):
    """Sets the value at the path."""

    def change(raw, *, value):
        for part in path[:-1]:
            raw = raw[part]
        raw[path[-1]] = value

    return change


T = "__consumer_offsets"
ROWS = ("views", "1", "partitions", T, "0")
ROW = f"views.1.partitions.{T}.0"


@for_each(
    ("path", "value", "words"),
    [
        (
            (*ROWS, 0),
            [],
            f"{ROW}.leader: wanted a whole number, not a list",
        ),
        ((*ROWS, 2), 7, f"{ROW}.replicas: wanted a list, not 7"),
        (
            (*ROWS, 3, 0),
            "1",
            f"{ROW}.isr[0]: wanted a whole number, not '1'",
        ),
        (("views", "1", "racks", "1"), {}, "views.1.racks.1: wanted text, not an object"),
        (("zookeeper", "states", T, "0", 1), 2**31, f"zookeeper.states.{T}.0.leader_epoch: 2147483648 is out of range"),
        (
            ("zookeeper", "registrations", "1", "rack"),
            {},
            "zookeeper.registrations.1.rack: wanted text or null, not an object",
        ),
        (("zookeeper", "isr_notifications"), True, "zookeeper.isr_notifications: wanted a whole number, not true"),
        (("cluster", "mode"), "x", "cluster.mode: wanted 'zk' or 'kraft' or 'unknown', not 'x'"),
        (("taken_at",), 10**30, "taken_at: 1000000000000000000000000000000 is out of range"),
        (("taken_at",), None, "taken_at: wanted a number, not null"),
        (("groups",), {}, "groups: wanted a list, not an object"),
        (("log_ends", T, "0", "1", 1), 2**63, f"log_ends.{T}.0.1.end: 9223372036854775808 is out of range"),
        (("addresses", "1", "port"), 70_000, "addresses.1.port: 70000 is out of range"),
        (("groups",), [7], "groups[0]: wanted an object, not 7"),
        (("views", "2"), 7, "views.2: wanted an object, not 7"),
        (("silent", "x y"), "t", "silent['x y'] (the key): wanted a whole number, not 'x y'"),
        (("silent", str(2**31)), "t", "silent.2147483648 (the key): '2147483648' is out of range"),
        (("views", "1", "broker"), 2, "views.1.broker: wanted 1, not 2"),
        (("zookeeper", "registrations", "2", "broker"), 1, "zookeeper.registrations.2.broker: wanted 2, not 1"),
        (("vantages", 0, "name"), " a", "vantages: ' a' is not a vantage name (1 to 40 printable characters)"),
        ((*ROWS, 5), 2**15, f"{ROW}.error: 32768 is out of range"),
        ((*ROWS[:-1], "0"), [1], f"{ROW}: wanted a list of 5 to 6 values, not of 1"),
        (("stated_partitions", "t"), "x", "stated_partitions.t: wanted a whole number, not 'x'"),
        (("topic_configs", "t"), [], "topic_configs.t: wanted an object, not a list"),
    ],
)
def test_the_value_is_named_by_its_path(tmp_path, path, value, words):
    assert told(lambda raw: at(*path)(raw, value=value), tmp_path) == words


def test_what_is_missing_is_named(tmp_path):
    assert told(lambda raw: raw.pop("sources"), tmp_path) == "the whole: lacks sources"
    assert told(lambda raw: raw["zookeeper"]["controller"].pop("czxid"), tmp_path) == (
        "zookeeper.controller: lacks czxid"
    )


@pytest.mark.parametrize(
    "inside", ["[" * 100_000, "9" * 5000, "NaN", "-Infinity", '"\\ud800"', '{"a":' * 100_000], ids=lambda t: t[:6]
)
def test_what_no_json_parser_should_take_is_one_line_with_its_place(tmp_path, inside):
    path = tmp_path / "s.json"
    text = json.dumps(encode(whole())).replace("1234.5", inside)
    with pytest.raises(UsageError, match="is damaged") as caught:
        files.parse(text, path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_bomb_is_refused_without_unpacking_it(tmp_path, monkeypatch):
    path = tmp_path / "s.json.gz"
    path.write_bytes(gzip.compress(bytes(1 << 20)) * 8)
    monkeypatch.setattr(opening.unpacked, "__defaults__", (4 << 20,))
    with pytest.raises(UsageError, match="unpacks to more than 4 MiB, and is not read"):
        files.read_text(path)


def test_gzip_files_of_several_members_and_of_none_are_read_as_gzip_reads_them():
    for raw in (b"", b"a", bytes(3 << 20), b"abc" * 1_000_000):
        assert opening.unpacked(gzip.compress(raw), "x") == raw
    assert opening.unpacked(gzip.compress(b"a") + gzip.compress(b"b") + bytes(9), "x") == b"ab"


@pytest.mark.parametrize(
    "memory",
    ["[]", "null", '{"groups": 1}', "[" * 100_000, '{"groups":[],"brokers":{"\u00b2":"h:1"},"seen":{}}', "9" * 5000],
)
def test_a_damaged_memory_is_no_memory(tmp_path, memory):
    store = SnapshotStore(tmp_path)
    store.note(whole())
    (tmp_path / "clusters" / "abc" / "memory.json").write_text(memory)
    assert store.recall("abc").groups == ()


def test_the_published_schema_describes_a_file_and_refuses_a_damaged_one():
    validator = jsonschema.Draft202012Validator(schema_of("snapshot"))
    raw = json.loads(json.dumps(encode(whole())))
    validator.validate(raw)
    validator.validate(json.loads(json.dumps(encode(base().snapshot()))))
    assert not validator.is_valid(raw | {"version": 2})
    raw["addresses"]["1"]["port"] = 70_000
    assert not validator.is_valid(raw)


def test_equal_views_are_stored_once_and_share_their_partitions_again(tmp_path):
    snapshot = base().snapshot()
    shared = next(iter(snapshot.views.values())).partitions
    snapshot = replace(snapshot, views={b: replace(v, partitions=shared) for b, v in snapshot.views.items()})
    raw = encode(snapshot)["views"]
    assert raw["1"]["partitions"]
    assert [view["partitions"] for view in raw.values()][1:] == [1, 1]
    files.save(snapshot, tmp_path / "s.json")
    found = files.parse(files.read_text(tmp_path / "s.json"), tmp_path / "s.json")
    assert found.views == snapshot.views
    assert len({id(view.partitions) for view in found.views.values()}) == 1


@pytest.mark.parametrize("broker", [1, 9])
def test_a_view_that_claims_to_equal_a_missing_one_is_an_error(tmp_path, broker):
    def change(raw):
        raw["views"]["1"]["partitions"] = broker

    assert told(change, tmp_path) == f"views.1.partitions: there is no view of broker {broker} with partitions"
