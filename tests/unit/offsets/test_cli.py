"""`kfix offsets`: the words on the command line, what is written and shown, and the exit codes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.core.saved.offsets import read_offsets, write_offsets
from kfix.core.saved.record import read_record
from kfix.core.snapshot.offsets import LoggedOffset, SavedGroup, SavedOffsets, SavedSource, StoredOffset
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.incidents import ALL
from kfix.shell.app import app
from tests.each import for_each
from tests.places import ROOT
from tests.unit.heal.fake_wiring import FakeWiring

DISKS = ROOT / "examples" / "log-dirs"
SERVER = ("--bootstrap-server", "b:9092")


@pytest.fixture
def wired(tmp_path):
    """A cluster in memory whose group `mail` has committed 3 of orders-0; `payments` has members."""
    incident = ALL["offsets-not-loaded"]()
    incident.cluster.members.add("payments")
    wiring = FakeWiring(incident.cluster)
    offsets = {TopicPartition("orders", number): LoggedOffset(StoredOffset(40), 0) for number in (0, 1)}
    offsets[TopicPartition("orders", 2)] = LoggedOffset(StoredOffset(4_000), 0)
    groups = (
        SavedGroup("mail", 3, offsets),
        SavedGroup("payments", 4, {TopicPartition("orders", 0): offsets[TopicPartition("orders", 0)]}),
    )
    file = tmp_path / "offsets.json"
    write_offsets(SavedOffsets(0, "0", "memory-cluster", (), groups), file)
    return wiring, wiring.app(tmp_path / "state", incident.cluster.clock), file


def kfix(*args, obj=None):
    result = CliRunner().invoke(app, ["offsets", *map(str, args)], obj=obj)
    assert "Traceback" not in result.output
    return result


def one_line(text):
    return " ".join(text.split())


def test_a_disk_gives_the_offsets_of_its_partition(tmp_path):
    file = tmp_path / "offsets.json"
    said = kfix("save", "--partition", "__consumer_offsets-3", "--log-dir", DISKS, "--output-file", file)
    assert said.exit_code == 0, said.output
    saved = read_offsets(file)
    [source] = saved.sources
    assert (source.partition, source.kind, source.complete) == (3, "log directory", True)
    assert saved.groups
    assert f"of {len(saved.groups)} group" in said.output
    assert kfix("save", "--partition", "all", "--log-dir", DISKS, "--output-file", file).exit_code == 2
    one = tmp_path / "one.json"
    name = saved.groups[0].name
    shown = kfix("save", "--partition", "all", "--group", name, "--log-dir", DISKS, "--output-file", one, "--json")
    assert json.loads(shown.stdout) == json.loads(one.read_text())
    assert [group.name for group in read_offsets(one).groups] == [name]


def test_a_group_without_an_offset_is_missing_and_not_a_success(tmp_path):
    """A misspelled name must not leave an operator with an empty file that counts as complete."""
    file = tmp_path / "offsets.json"
    said = kfix("save", "--partition", "all", "--group", "zzz", "--log-dir", DISKS, "--output-file", file)
    assert said.exit_code == 22
    assert "not saved: group zzz has no committed offset in what was read" in one_line(said.output)
    assert "contains no offset" in said.output
    assert "commit them again" not in said.output
    saved = read_offsets(file)
    assert (saved.complete, saved.groups) == (False, ())
    assert saved.not_saved == ("group zzz has no committed offset in what was read",)
    assert json.loads(file.read_text())["complete"] is False


@for_each(
    ("args", "words"),
    [
        ((), "name what to save"),
        (("--partition", "x"), "'x' is not a partition of __consumer_offsets"),
        (("--partition", "-1"), "is not a partition"),
        (("--partition", "all", "--partition", "3"), "--partition all excludes others"),
        (("--group", "g", "--log-dir", DISKS), "name the partitions too"),
        (("--partition", "4", "--log-dir", DISKS), "no replica of __consumer_offsets-4"),
        (("--partition", "3", "--log-dir", DISKS, *SERVER), "leave out --bootstrap-server"),
        (("--partition", "3"), "no cluster given"),
    ],
)
def test_a_mistake_is_one_clear_line_and_writes_nothing(args, words, tmp_path):
    file = tmp_path / "offsets.json"
    said = kfix("save", *args, "--output-file", file)
    assert (said.exit_code, file.exists()) == (2, False)
    assert words in one_line(said.output)


def test_a_file_that_exists_is_not_overwritten_and_a_folder_must_exist(tmp_path):
    file = tmp_path / "offsets.json"
    file.write_text("mine")
    assert "is not overwritten" in kfix("save", "--partition", "3", "--log-dir", DISKS, "--output-file", file).output
    assert file.read_text() == "mine"
    nowhere = Path(tmp_path / "none" / "offsets.json")
    assert "no such folder" in kfix("save", "--partition", "3", "--log-dir", DISKS, "--output-file", nowhere).output


def test_a_dry_run_shows_the_table_and_what_is_left_out(wired):
    wiring, behind, file = wired
    said = kfix("restore", file, *SERVER, "--dry-run", obj=behind)
    assert said.exit_code == 0, said.output
    text = one_line(said.output)
    assert "group topic partition from to mail orders 0 3 40 mail orders 1 none 40" in text
    assert "1 saved offset left out: outside the log: group mail orders-2 (saved 4000" in text
    assert "1 saved offset left out: the group has members: group payments orders-0" in text
    assert wiring.cluster.faults.calls == []


def test_an_incomplete_file_is_reported_before_the_gate(wired):
    _, behind, file = wired
    assert "incomplete" not in kfix("restore", file, *SERVER, "--dry-run", obj=behind).output
    source = SavedSource(3, "replica", "broker 2", 0, 4, 9, missing=("records 4 to 8 were not served",))
    write_offsets(replace(read_offsets(file), sources=(source,), not_saved=("group x has no offset",)), file)
    said = one_line(kfix("restore", file, *SERVER, "--dry-run", obj=behind).output)
    assert (
        "the file is incomplete, newer offsets may exist: group x has no offset, __consumer_offsets-3: records" in said
    )


def test_without_a_terminal_nothing_is_committed(wired):
    wiring, behind, file = wired
    assert kfix("restore", file, *SERVER, obj=behind).exit_code == 4
    assert wiring.cluster.faults.calls == []


@pytest.mark.parametrize(("options", "rows"), [(("--outside",), {0: 40, 1: 40, 2: 4_000}), ((), {0: 40, 1: 40})])
def test_a_stored_plan_holds_what_is_committed(wired, tmp_path, options, rows):
    _, behind, file = wired
    plan = tmp_path / "plan.json"
    said = kfix("restore", file, *SERVER, "--group", "mail", *options, "--output-file", plan, obj=behind)
    assert said.exit_code == 0, said.output
    [step] = json.loads(plan.read_text())["steps"]
    assert json.loads(step["args"]["offsets"]) == {str(number): str(offset) for number, offset in rows.items()}
    assert json.loads(step["args"]["offsets_before"])["0"] == "3@0"
    assert step["gate"] == "step"


def test_offsets_of_another_cluster_and_an_unknown_group_are_refused(wired, tmp_path):
    wiring, behind, file = wired
    assert kfix("restore", file, *SERVER, "--group", "none", "--dry-run", obj=behind).exit_code == 2
    other = tmp_path / "other.json"
    write_offsets(SavedOffsets(0, "0", "another", (), read_offsets(file).groups), other)
    said = kfix("restore", other, *SERVER, obj=behind)
    assert said.exit_code == 3
    assert "saved on cluster another" in one_line(said.output)
    assert wiring.cluster.faults.calls == []


def test_a_runbook_that_restores_offsets_needs_a_file_and_others_take_none(wired):
    _, behind, file = wired
    run = CliRunner()
    said = run.invoke(app, ["runbook", "plan", "restore-offsets", *SERVER], obj=behind)
    assert (said.exit_code, "--offsets FILE" in said.output) == (2, True)
    said = run.invoke(app, ["runbook", "plan", "sweep-throttles", "--offsets", str(file), *SERVER], obj=behind)
    assert (said.exit_code, "commits no saved offsets" in said.output) == (2, True)


def test_offsets_are_restored_with_the_controllers_that_are_named(wired):
    wiring, app_, file = wired
    given = (*SERVER, "--bootstrap-controller", "c1:1")
    for more in ((), ("--dry-run",)):
        kfix("restore", file, *given, *more, obj=app_)
    assert wiring.targets
    assert {(each.bootstrap_servers, each.controllers) for each in wiring.targets} == {("b:9092", "c1:1")}


def test_one_record_is_saved_once_and_skipped_for_one_group(tmp_path):
    incident = ALL["group-falls-behind"]()
    wiring = FakeWiring(incident.cluster)
    app_ = wiring.app(tmp_path / "state", incident.cluster.clock)
    file, plan = tmp_path / "record.json", tmp_path / "plan.json"
    said = kfix("record", "orders-0@33", "--output-file", file, *SERVER, obj=app_)
    assert said.exit_code == 0, said.output
    assert "key null, value 11 bytes, 0 headers" in one_line(said.output)
    assert f"kfix offsets skip {file} --group GROUP" in one_line(said.output)
    saved = read_record(file)
    assert (str(saved.tp), saved.offset, saved.value) == ("orders-0", 33, b"orders-0@33")
    assert kfix("record", "orders-0@33", "--output-file", file, *SERVER, obj=app_).exit_code == 2

    said = kfix("skip", file, "--group", "mailer", "--output-file", plan, *SERVER, obj=app_)
    assert said.exit_code == 0, said.output
    [step] = [each for each in json.loads(plan.read_text())["steps"] if each["id"] == "skip"]
    assert (step["args"]["offsets_before"], step["args"]["offsets"]) == ('{"0":"33@0 a note"}', '{"0":"34@0 a note"}')
    assert incident.cluster.faults.calls == []
    said = kfix("skip", file, "--group", "another", "--dry-run", *SERVER, obj=app_)
    assert (said.exit_code, "the committed offset is none, not 33" in one_line(said.output)) == (3, True)


@for_each("where", ["orders-0", "orders@3", "orders-0@", "orders-0@-1", "orders-0@99999999999999999999", "@3"])
def test_what_is_no_record_is_refused_in_one_line(tmp_path, where):
    said = kfix("record", where, "--output-file", tmp_path / "r.json", *SERVER)
    assert (said.exit_code, "is not TOPIC-PARTITION@OFFSET" in said.output) == (2, True)
