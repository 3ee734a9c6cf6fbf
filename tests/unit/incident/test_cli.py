"""`kfix report incident` at the command line: files in, files out, one clear line for what cannot be read."""

import hashlib
import json

import pytest
from typer.testing import CliRunner

from kfix.core.saved import files
from kfix.shell.app import app
from tests.each import for_each
from tests.unit.incident.timeline.stories import RUN, founding, records


def kfix(*args, code=0):
    result = CliRunner().invoke(app, ["report", "incident", *map(str, args)])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def snapshots(tmp_path):
    folder = tmp_path / "snapshots"
    folder.mkdir()
    for snapshot in founding():
        files.save(snapshot, folder / f"{snapshot.origin.split('/')[-1]}.gz")
    return folder


@pytest.fixture
def journal(tmp_path):
    """Chained as a run chains it."""
    lines, prev = [], "0" * 64
    for number, record in enumerate(records()):
        line = json.dumps({"seq": number, "prev": prev, **record})
        lines.append(line)
        prev = hashlib.sha256(line.encode()).hexdigest()
    path = tmp_path / RUN / "journal.ndjson"
    path.parent.mkdir()
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_folder_a_pattern_and_files_in_any_order_give_the_same_report(snapshots):
    every = sorted(snapshots.iterdir(), reverse=True)
    by_folder = kfix("--from", snapshots, "--json").stdout
    assert kfix("--from", snapshots / "*.json.gz", "--json").stdout == by_folder
    assert kfix(*[word for path in every for word in ("--from", path)], "--json").stdout == by_folder
    report = json.loads(by_folder)
    assert (report["format"], report["version"]) == ("kfix.incident", 1)
    assert [snapshot["at"] for snapshot in report["snapshots"]] == sorted(
        snapshot["at"] for snapshot in report["snapshots"]
    )


def test_journal_file_and_run_folder_are_the_same(snapshots, journal):
    one = kfix("--from", snapshots, "--journal", journal, "--json").stdout
    assert kfix("--from", snapshots, "--journal", journal.parent, "--json").stdout == one
    assert json.loads(one)["runs"][0]["who"] == "ann@ops1"


def test_an_edited_or_torn_journal_is_reported_and_read_up_to_there(snapshots, journal):
    text = journal.read_text()
    journal.write_text(text + '{"torn')
    assert "incomplete" in kfix("--from", snapshots, "--journal", journal, "--markdown", "-").stdout
    journal.write_text(text.replace("reassign.noop", "reassign.move"))
    assert "edited or damaged" in kfix("--from", snapshots, "--journal", journal, "--markdown", "-").stdout


def test_html_and_markdown_are_written_whole_and_the_summary_is_printed(snapshots, tmp_path):
    page, text = tmp_path / "i.html", tmp_path / "i.md"
    result = kfix("--from", snapshots, "--html", page, "--markdown", text, "--title", "A bad day").stdout
    assert "Time to detect" in result
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert text.read_text().startswith("# A bad day\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["i.html", "i.md", "snapshots"]


def test_logs_are_read_in_their_zone_and_garbage_is_reported(snapshots, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(
        "[2027-01-15 08:55:00,500] INFO [Controller id=1] Resigned (kafka.controller.KafkaController)\n"
        "[2027-01-15 08:5\n"
    )
    result = kfix("--from", snapshots, "--broker-log", log, "--log-timezone", "Europe/Berlin", "--markdown", "-").stdout
    assert "broker 1 resigned as controller" in result
    assert "Europe/Berlin" in result
    assert "1 line could not be read" in result
    assert "check --log-timezone" in kfix("--from", snapshots, "--broker-log", log, "--log-timezone", "Asia/Tokyo",
                                              "--markdown", "-").stdout  # fmt: skip


def test_since_and_until_bound_the_report(snapshots):
    result = kfix("--from", snapshots, "--until", "2027-01-15T07:53:00", "--json")
    assert len(json.loads(result.stdout)["snapshots"]) == 2
    assert "left out: 4 of 6 snapshots" in result.stderr


def test_what_lies_in_a_folder_and_is_no_snapshot_is_left_out_and_reported(snapshots):
    (snapshots / "plan.json").write_text('{"format": "kfix.plan"}')
    (snapshots / "torn.json").write_text('{"format": "kfix.snapshot", "vers')
    (snapshots / "half.json").write_text('{"format": "kfix.snapshot", "version": 1, "taken_at": 1800000000.0, ')
    result = kfix("--from", snapshots, "--json")
    assert len(json.loads(result.stdout)["snapshots"]) == 6
    assert result.stderr.count("left out:") == 3


@for_each(
    ("args", "words"),
    [
        ((), "there is nothing to report on"),
        (("--from", "{tmp}/gone.json"), "gone.json: cannot be read: no such file"),
        (("--from", "{tmp}/torn.json"), "torn.json"),
        (("--from", "{tmp}/*.nothing"), "no file matches this pattern"),
        (("--from", "{snapshots}", "--journal", "{tmp}/gone"), "no such journal"),
        (("--from", "{snapshots}", "--journal", "{tmp}/torn.json"), "contains no record of a run"),
        (("--from", "{snapshots}", "--broker-log", "{tmp}/gone"), "no such file or folder"),
        (("--from", "{snapshots}", "--log-timezone", "Mars/Base"), "there is no time zone 'Mars/Base'"),
        (("--from", "{snapshots}", "--log-timezone", "../../etc/passwd"), "there is no time zone"),
        (("--from", "{snapshots}", "--since", "yesterday"), "--since: 'yesterday' is not a time"),
        (("--from", "{snapshots}", "--since", "2027-01-15", "--until", "2027-01-14"), "--since is not before --until"),
        (("--from", "{snapshots}", "--since", "2030-01-01"), "there is no snapshot to report on"),
        (("--from", "{snapshots}", "--html", "{tmp}/none/x.html"), "no such folder"),
        (("--from", "{snapshots}", "--html", "-", "--json"), "standard output takes only one"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(snapshots, tmp_path, args, words):
    (tmp_path / "torn.json").write_text('{"format": "kfix.snapshot", "version": 1, "taken_at": 1800000000.0, ')
    result = kfix(*(a.format(tmp=tmp_path, snapshots=snapshots) for a in args), code=2)
    assert words in result.stderr
    assert "Traceback" not in result.output
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize("taken_at", ["-62135596800", "253402300799", "1e3", "0", "--", "1.8e9.1", "1e999"])
def test_no_time_of_a_snapshot_is_a_crash(snapshots, tmp_path, taken_at):
    import gzip
    import re

    text = gzip.decompress((snapshots / "02-coordinator-stuck.json.gz").read_bytes()).decode()
    strange = tmp_path / "strange.json"
    strange.write_text(re.sub(r'"taken_at":[0-9.]+', f'"taken_at":{taken_at}', text, count=1))
    for more in ((), ("--from", str(snapshots))):
        args = ["report", "incident", "--from", str(strange), *more, "--html", str(tmp_path / "x.html")]
        result = CliRunner().invoke(app, args)
        assert result.exit_code in {0, 2}, result.output


def test_snapshots_of_two_clusters_are_refused_by_name(snapshots):
    from dataclasses import replace

    from kfix.core.snapshot.snapshot import ClusterIdentity, Mode

    strange = replace(founding()[0], cluster=ClusterIdentity("strange", Mode.ZOOKEEPER))
    files.save(strange, snapshots / "zz.json")
    result = kfix("--from", snapshots, code=2)
    assert "is of cluster" in result.stderr
    assert "strange" in result.stderr
