"""A snapshot with a wrong value is one line with the path of it, whatever the value is."""

import gzip
import json
from dataclasses import replace

import pytest

from kfix.adapters.saved import files
from kfix.adapters.saved.encode import encode
from kfix.adapters.saved.store import SnapshotStore
from kfix.documents import opening
from kfix.errors import UsageError
from kfix.model.cluster.snapshot import CoordinatorProbe, Group
from tests.each import for_each
from tests.unit.adapters.saved.test_store import whole
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.group_readings import reading, reconciling


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
ROWS = ("views", "1", "partitions", T, 0)
ROW = f"views.1.partitions.{T}[0]"


@for_each(
    ("path", "value", "words"),
    [
        (
            (*ROWS, 1),
            [],
            f"{ROW}.leader: wanted a whole number, not a list",
        ),
        ((*ROWS, 3), 7, f"{ROW}.replicas: wanted a list, not 7"),
        (
            (*ROWS, 4, 0),
            "1",
            f"{ROW}.isr[0]: wanted a whole number, not '1'",
        ),
        (("views", "1", "racks", "1"), {}, "views.1.racks.1: wanted text, not an object"),
        (("zookeeper", "states", T, 0, 2), 2**31, f"zookeeper.states.{T}[0].leader_epoch: 2147483648 is out of range"),
        (("zookeeper", "registrations", 0, "rack"), {}, "zookeeper.registrations[0].rack: wanted text, not an object"),
        (("zookeeper", "isr_notifications"), True, "zookeeper.isr_notifications: wanted a whole number, not true"),
        (("cluster", "mode"), "x", "cluster.mode: wanted 'zk', 'kraft' or 'unknown', not 'x'"),
        (("taken_at",), 10**30, "taken_at: 1000000000000000000000000000000 is out of range"),
        (("taken_at",), None, "taken_at: wanted a number, not null"),
        (("groups",), {}, "groups: wanted a list, not an object"),
        (("log_ends", T, 0, 1, 2), 2**63, f"log_ends.{T}[0][1][2]: 9223372036854775808 is out of range"),
        (("addresses", "1", "port"), 70_000, "addresses.1.port: 70000 is out of range"),
        (("sources", 0, "surplus"), 1, "sources[0]: has the unknown field 'surplus'"),
        (("topic_configs", "t"), [], "topic_configs.t: wanted an object, not a list"),
    ],
)
def test_the_value_is_named_by_its_path(tmp_path, path, value, words):
    assert told(lambda raw: at(*path)(raw, value=value), tmp_path) == words


def test_what_is_missing_is_named(tmp_path):
    assert told(lambda raw: raw.pop("sources"), tmp_path) == "the whole: lacks sources"
    assert told(lambda raw: raw["views"]["1"]["partitions"][T][0].pop(), tmp_path) == (
        f"views.1.partitions.{T}[0]: lacks error"
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


def test_equal_views_are_stored_once_and_share_their_partitions_again(tmp_path):
    snapshot = base().snapshot()
    shared = next(iter(snapshot.views.values())).partitions
    snapshot = replace(snapshot, views={b: replace(v, partitions=shared) for b, v in snapshot.views.items()})
    raw = encode(snapshot)["views"]
    assert [bool(view["partitions"]) for view in raw.values()] == [True, False, False]
    assert [view["same_as"] for view in raw.values()] == [None, 1, 1]
    files.save(snapshot, tmp_path / "s.json")
    found = files.parse(files.read_text(tmp_path / "s.json"), tmp_path / "s.json")
    assert found.views == snapshot.views
    assert len({id(view.partitions) for view in found.views.values()}) == 1


@pytest.mark.parametrize("broker", [1, 9])
def test_a_view_that_is_said_to_equal_none_is_an_error(tmp_path, broker):
    def change(raw):
        raw["views"]["1"]["same_as"] = broker

    assert told(change, tmp_path) == f"views.1.same_as: there is no view of broker {broker} with partitions"


def test_groups_of_every_type_and_made_up_probes_are_stored_and_older_files_are_read():
    probes = (CoordinatorProbe("kfix-no-such-group-1", 1, 0, 1, 0), CoordinatorProbe("x", 2, 0, 1, 0, made_up=True))
    groups = (Group("s", (1,), "Stable", (), "share"),)
    snapshot = replace(base().snapshot(), probes=probes, groups=groups, group_readings=(reconciling(), reading()))
    raw = json.loads(json.dumps(encode(snapshot)))
    assert files.parse(json.dumps(raw), "s.json") == replace(snapshot, origin="s.json")
    for probe in raw["probes"]:
        del probe["made_up"]
    del raw["groups"][0]["group_type"]
    for each in raw["group_readings"]:
        del each["group_type"], each["epoch"]
        each["members"] = [member[:5] for member in each["members"]]
    older = files.parse(json.dumps(raw), "s.json")
    assert [probe.made_up for probe in older.probes] == [True, False], "only the name shows it there"
    assert (older.groups[0].group_type, older.group_readings[0].epoch) == ("", None)
    assert older.group_readings[0].members[0].target is None
