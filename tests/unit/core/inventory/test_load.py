"""`fleet.yaml`: what is read, all mistakes at once with their places, windows and mutes."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from kfix.core.criteria import Expected
from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.inventory.load import load_inventory, parse_inventory
from kfix.core.inventory.model import ClusterEntry, Criticality, Inventory
from kfix.core.inventory.recorded import record_entry, recorded_inventory
from kfix.fleet.inventory import chosen
from tests.each import for_each
from tests.places import ROOT

EXAMPLE = ROOT / "examples" / "fleet" / "fleet.yaml"
HEAD = "apiVersion: kfix/v1\nkind: Fleet\n"
BAD = """\
apiVersion: kfix/v1
kind: Fleet
defaults:
  ownr: x
  expected: {rf: 2, min_isr: 3}
clusters:
  a:
    bootstrap: a
    zookeeper: zk:2181/x,zk2:2181/x
    criticality: critcal
    expected: {min_isr: 4}
    timeout: 5
    windows:
      - {weekdays: [tues], at: 22:00, for: 90s}
      - {start: 2026-01-01T10:00, end: 2026-02-30T10:00Z}
      - {start: 2026-01-02T10:00Z, end: 2026-01-01T10:00Z}
      - {at: "10:00", start: 2026-01-02T10:00Z}
      - {weekdays: [], at: "25:00", for: 25h}
  b:
  c: {owner: me}
  d: {command_config: nowhere.properties}
  a: {bootstrap: "x:1"}
  "e*": {bootstrap: [x:1, "PLAINTEXT://y:2", "h:99999"]}
mutes:
  - {clusters: a, findings: kfx601, reason: "", until: 2026-13-01}
  - {clusters: [], until: 20260101}
"""
NOWHERE = "has no address: set bootstrap or zookeeper, or bootstrap.servers in its own command_config"
MISTAKES = f"""\
f:4:3: unknown field 'ownr', did you mean 'owner'?
f:5:30: min_isr 3 is more than rf 2: no partition could accept writes with acks=all
f:8:16: bootstrap: 'a' is not HOST:PORT: the port is missing (column 2)
f:9:16: zookeeper: the chroot is given once, after the last server: zk1:2181,zk2:2181/kafka
f:10:18: criticality is 'critcal', wanted 'low', 'normal', 'high' or 'critical', did you mean 'critical'?
f:11:25: min_isr 4 is more than rf 2: no partition could accept writes with acks=all
f:12:14: timeout: 5 is not a duration such as 200ms, 90s, 2m or 1h
f:14:21: weekdays #1 is 'tues', wanted 'mon', 'tue', 'wed', 'thu', 'fri', 'sat' or 'sun', did you mean 'tue'?
f:14:32: 22:00 is read differently by every tool: quote it, or write it plainly
f:14:44: for: 90s is not a number of whole minutes up to 24h
f:15:17: start: '2026-01-01T10:00' has no time zone: add Z for UTC, or an offset such as +02:00
f:15:40: end: '2026-02-30T10:00Z' is not a time of the calendar
f:16:41: the window ends at 2026-01-01T10:00Z, before it starts
f:17:9: a window is either a single one (start, end) or weekly (weekdays, at, for)
f:18:20: the window has no day
f:18:28: at: '25:00' is not a time of day such as "22:30"
f:18:42: for: 25h is not a number of whole minutes up to 24h
f:19:3: b: {NOWHERE}
f:20:3: c: {NOWHERE}
f:21:23: command_config: FOLDER/nowhere.properties: the file does not exist
f:22:3: the key 'a' is already on line 7
f:23:3: 'e*' is not a valid cluster name: * ? [ ] are reserved for patterns
f:23:27: bootstrap: 'PLAINTEXT://y:2' is a URL, expected HOST:PORT without a protocol
f:23:46: bootstrap: 'h:99999' is not HOST:PORT: a port is a number from 1 to 65535 (column 3)
f:25:29: 'kfx601' matches no finding: expected a code or a key, such as KFX601 or KFX601:*
f:25:45: reason: '' is not plain text on one line
f:25:56: until: '2026-13-01' is not a day of the calendar
f:26:5: mutes #2 lacks 'findings'
f:26:5: mutes #2 lacks 'reason'
f:26:16: clusters: value should have at least 1 item after validation, not 0
f:26:27: until: input should be a valid string"""


def read(body, folder=Path()):
    return parse_inventory(HEAD + body, "f", folder)


def test_the_example_is_read_as_its_comments_say():
    loaded = load_inventory(EXAMPLE, date(2026, 11, 1))
    assert loaded.warnings == ()
    assert len(loaded.sha256) == 64
    orders, payments, playground = loaded.inventory.clusters.values()
    assert orders.bootstrap.count(":9092") == 3
    assert orders.expected == Expected(4, 2)
    assert (orders.criticality, orders.owner, orders.tags) == (Criticality.CRITICAL, "orders", ("eu", "prod"))
    tuesday_late, saturday = datetime(2026, 11, 3, 23, tzinfo=UTC), datetime(2026, 12, 6, 5, 59, tzinfo=UTC)
    assert orders.in_maintenance(tuesday_late).why == "weekly patching"
    assert orders.in_maintenance(datetime(2026, 11, 4, 0, 29, tzinfo=UTC)) is not None
    assert orders.in_maintenance(datetime(2026, 11, 4, 0, 30, tzinfo=UTC)) is None
    assert orders.in_maintenance(saturday).why == "move to new racks"
    assert payments.bootstrap == "payments-eu-1.invalid:9093,payments-eu-2.invalid:9093"
    assert Path(payments.command_config) == EXAMPLE.parent / "payments-eu.properties"
    assert payments.timeout == 20.0
    assert (playground.owner, playground.expected) == ("platform", Expected(1, 1))
    assert loaded.inventory.mutes[0].matches("playground", "KFX601", "KFX601:x")


def test_all_mistakes_are_reported_with_their_positions(tmp_path):
    with pytest.raises(InvalidFileError) as caught:
        parse_inventory(BAD, "f", tmp_path)
    assert "\n".join(caught.value.problems).replace(str(tmp_path), "FOLDER") == MISTAKES


def test_missing_values_are_the_models_defaults():
    assert read("clusters: {a: {zookeeper: 'zk:2181/kafka'}}\n") == Inventory(
        {"a": ClusterEntry("a", zookeeper="zk:2181/kafka")}, (), "f"
    )


def test_defaults_hold_where_a_cluster_has_no_value_and_tags_and_windows_add_up():
    body = (
        "defaults: {owner: o, tags: [x], timeout: 3s, restart_grace: 1m, criticality: high, expected: {min_isr: 1},\n"
        "  windows: [{weekdays: [mon], at: '01:00', for: 1h}]}\n"
        "clusters:\n  a: {bootstrap: 'h:1'}\n"
        "  b: {bootstrap: 'h:1', owner: p, tags: [y, x], timeout: 200ms, restart_grace: 0s, criticality: low,\n"
        "    windows: [{weekdays: [sun], at: '23:30', for: 90m}]}\n"
    )
    a, b = read(body).clusters.values()
    assert (a.owner, a.tags, a.timeout, a.restart_grace, a.criticality.word) == ("o", ("x",), 3.0, 60.0, "high")
    assert (b.owner, b.tags, b.timeout, b.restart_grace, b.criticality.word) == ("p", ("x", "y"), 0.2, 0.0, "low")
    assert a.expected == Expected(3, 1)
    assert [w.minutes for w in b.windows] == [60, 90]


def test_the_command_that_restarts_a_node_is_that_of_the_cluster_or_of_the_defaults():
    body = (
        "defaults: {restart_command: 'restart {node}'}\n"
        "clusters: {a: {bootstrap: 'h:1'}, b: {bootstrap: 'h:1', restart_command: 'ssh k-{node} again'}}\n"
    )
    assert [each.restart_command for each in read(body).clusters.values()] == ["restart {node}", "ssh k-{node} again"]
    with pytest.raises(InvalidFileError, match=r"has no \{node\} among its arguments"):
        read("clusters: {a: {bootstrap: 'h:1', restart_command: 'restart everything'}}\n")


def test_a_time_with_an_offset_is_taken_in_utc():
    body = "clusters: {a: {bootstrap: 'h:1', windows: [{start: 2026-01-02T01:00+02:00, end: 2026-01-02T00:30Z}]}}\n"
    [window] = read(body).clusters["a"].windows
    assert window.start == datetime(2026, 1, 1, 23, tzinfo=UTC)


@for_each(
    ("body", "said"),
    [
        ("", "the inventory lacks 'clusters'"),
        ("clusters:\n", "has no cluster"),
        ("clusters: {}\n", "has no cluster"),
        ("clusters: [a]\n", "clusters: input should be a valid dictionary"),
        ("clusters: {a: {bootstrap: ''}}\n", "names no server"),
        ("clusters: {a: {bootstrap: 'h:1', timeout: 0s}}\n", "0 s is not more than 0 s"),
        ("clusters: {a: {bootstrap: 'h:1', timeout: 2h}}\n", "at most 1 h"),
        ("clusters: {a: {bootstrap: 'h:1', command_config: \"x\\0y\"}}\n", "is not a valid path"),
        ("clusters: {a: {bootstrap: 'h:1', expected: {rf: 1}}}\n", "min_isr 2 is more than rf 1"),
        ("clusters: {'a ': {bootstrap: 'h:1'}}\n", "without spaces at the ends"),
        (f"clusters: {{{'a' * 201}: {{bootstrap: 'h:1'}}}}\n", "longer than 200"),
        ("clusters: {a: {bootstrap: 'h:1'}}\nmutes: [{clusters: a, findings: K, reason: r, until: 2026-1-1}]\n",
         "not a date such as"),
        ("clusters: {a: {bootstrap: 'h:1', windows: [{start: 0001-01-01T00:00+10:00, end: 0002-01-01T00:00Z}]}}\n",
         "is not a time of the calendar"),
        ("clusters: {a: {bootstrap: 'h:1', windows: [{weekdays: [mon], at: '10:00'}]}}\n", "the window lacks 'for'"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(body, said):
    with pytest.raises(InvalidFileError) as caught:
        read(body)
    assert any(said in line for line in caught.value.problems), caught.value.problems
    assert all(line.startswith("f:") for line in caught.value.problems)


def test_a_broken_properties_file_is_reported_with_both_positions(tmp_path):
    (tmp_path / "c.properties").write_text("security.protocol=TLS\nbootstrap.servers=h:1\n")
    with pytest.raises(InvalidFileError) as caught:
        parse_inventory(f"{HEAD}clusters:\n  a: {{command_config: c.properties}}\n", "f", tmp_path)
    [line] = caught.value.problems
    assert line.startswith(f"f:4:23: command_config: {tmp_path}/c.properties:1:1: security.protocol must be one of")


def test_the_servers_of_a_properties_file_are_checked_too(tmp_path):
    (tmp_path / "c.properties").write_text("bootstrap.servers=h\n")
    with pytest.raises(InvalidFileError) as caught:
        parse_inventory(f"{HEAD}clusters:\n  a: {{command_config: c.properties}}\n", "f", tmp_path)
    [line] = caught.value.problems
    assert line.endswith("c.properties: bootstrap.servers: 'h' is not HOST:PORT: the port is missing (column 2)")


def test_an_expired_mute_is_allowed_and_reported(tmp_path):
    path = tmp_path / "fleet.yaml"
    body = (
        "clusters: {a: {bootstrap: 'h:1'}}\nmutes:\n- {clusters: [a, b-*], findings: KFX601, reason: r, "
        "until: 2026-06-30, by: me}\n"
    )
    path.write_text(HEAD + body)
    last, after = load_inventory(path, date(2026, 6, 30)), load_inventory(path, date(2026, 7, 1))
    [never] = last.warnings
    assert never == f"{path}: the mute of KFX601 on a, b-*: no cluster matches 'b-*'"
    assert after.warnings[0] == (
        f"{path}: the mute of KFX601 on a, b-* expired on 2026-06-30 and covers nothing: extend it or remove it"
    )
    assert load_inventory(tmp_path, date(2026, 6, 30)) == last


def test_what_is_not_there_is_reported_in_one_line(tmp_path):
    for said in (None, "", str(tmp_path / "none.yaml"), "x" * 5000):
        with pytest.raises(UsageError):
            chosen(said)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidFileError, match="not UTF-8"):
        load_inventory(tmp_path / "binary.yaml")


def test_racks_may_have_names():
    body = "clusters: {a: {bootstrap: 'h:1', zones: {az1: Hamburg, 2: 'Bremen, 2nd floor'}}, b: {bootstrap: 'h:1'}}\n"
    a, b = read(body).clusters.values()
    assert (a.zones, b.zones) == ({"az1": "Hamburg", "2": "Bremen, 2nd floor"}, {})
    recorded = recorded_inventory({"clusters": {"a": 1}, "failed": {}, "entries": {"a": record_entry(a)}})
    assert recorded.clusters["a"] == a


def test_a_wrong_name_of_a_rack_is_reported_with_its_position(tmp_path):
    body = (
        HEAD + "clusters:\n  a:\n    bootstrap: h:1\n    zones:\n      az1: 7\n      az2: ''\n      '': x\n"
        f"      az3: {'x' * 61}\n  b: {{bootstrap: h:1, zones: [az1]}}\n"
    )
    with pytest.raises(InvalidFileError) as caught:
        parse_inventory(body, "f", tmp_path)
    assert caught.value.problems == (
        "f:7:12: az1: input should be a valid string",
        "f:8:12: az2: '' is not plain text on one line",
        "f:9:7: zones: '' is not the rack of a broker",
        "f:10:12: az3: the name is longer than 60 characters",
        "f:11:30: zones: input should be a valid dictionary",
    )
