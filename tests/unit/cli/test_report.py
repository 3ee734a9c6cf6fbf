"""`kfix report incident` at the command line: files in, files out, one clear line for what cannot be read."""

import hashlib
import json

import pytest
from typer.testing import CliRunner

from kfix.adapters.saved import files
from kfix.cli.app import app
from tests.unit.timeline.stories import RUN, founding, records


def kfix(*args, code=0):
    said = CliRunner().invoke(app, ["report", "incident", *map(str, args)])
    assert said.exit_code == code, said.output
    return said


@pytest.fixture
def looks(tmp_path):
    folder = tmp_path / "looks"
    folder.mkdir()
    for look in founding():
        files.save(look, folder / f"{look.origin.split('/')[-1]}.gz")
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


def test_a_folder_a_pattern_and_files_in_any_order_give_the_same_report(looks):
    every = sorted(looks.iterdir(), reverse=True)
    by_folder = kfix("--from", looks, "--json").stdout
    assert kfix("--from", looks / "*.json.gz", "--json").stdout == by_folder
    assert kfix(*[word for path in every for word in ("--from", path)], "--json").stdout == by_folder
    told = json.loads(by_folder)
    assert (told["format"], told["version"]) == ("kfix.incident", 1)
    assert [look["at"] for look in told["looks"]] == sorted(look["at"] for look in told["looks"])


def test_journal_file_and_run_folder_are_the_same(looks, journal):
    one = kfix("--from", looks, "--journal", journal, "--json").stdout
    assert kfix("--from", looks, "--journal", journal.parent, "--json").stdout == one
    assert json.loads(one)["runs"][0]["who"] == "ann@ops1"


def test_an_edited_or_torn_journal_is_told_and_read_up_to_there(looks, journal):
    text = journal.read_text()
    journal.write_text(text + '{"torn')
    assert "torn" in kfix("--from", looks, "--journal", journal, "--markdown", "-").stdout
    journal.write_text(text.replace("reassign.noop", "reassign.move"))
    assert "edited or damaged" in kfix("--from", looks, "--journal", journal, "--markdown", "-").stdout


def test_html_and_markdown_are_written_whole_and_the_summary_is_printed(looks, tmp_path):
    page, text = tmp_path / "i.html", tmp_path / "i.md"
    said = kfix("--from", looks, "--html", page, "--markdown", text, "--title", "A bad day").stdout
    assert "Until noticed" in said
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert text.read_text().startswith("# A bad day\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["i.html", "i.md", "looks"]


def test_logs_are_read_in_their_zone_and_garbage_is_told(looks, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(
        "[2027-01-15 08:55:00,500] INFO [Controller id=1] Resigned (kafka.controller.KafkaController)\n"
        "[2027-01-15 08:5\n"
    )
    said = kfix("--from", looks, "--broker-log", log, "--log-timezone", "Europe/Berlin", "--markdown", "-").stdout
    assert "broker 1 resigned as controller" in said
    assert "Europe/Berlin" in said
    assert "1 line could not be read" in said
    assert "is --log-timezone right?" in kfix("--from", looks, "--broker-log", log, "--log-timezone", "Asia/Tokyo",
                                              "--markdown", "-").stdout  # fmt: skip


def test_since_and_until_bound_the_report(looks):
    said = kfix("--from", looks, "--until", "2027-01-15T07:53:00", "--json")
    assert len(json.loads(said.stdout)["looks"]) == 2
    assert "left out: 4 of 6 looks" in said.stderr


def test_what_lies_in_a_folder_and_is_no_look_is_left_out_and_told(looks):
    (looks / "plan.json").write_text('{"format": "kfix.plan"}')
    (looks / "torn.json").write_text('{"format": "kfix.snapshot", "vers')
    (looks / "half.json").write_text('{"format": "kfix.snapshot", "version": 1, "taken_at": 1800000000.0, ')
    said = kfix("--from", looks, "--json")
    assert len(json.loads(said.stdout)["looks"]) == 6
    assert said.stderr.count("left out:") == 3


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "there is nothing to report on"),
        (("--from", "{tmp}/gone.json"), "gone.json: cannot be read: no such file"),
        (("--from", "{tmp}/torn.json"), "torn.json"),
        (("--from", "{tmp}/*.nothing"), "no file fits this pattern"),
        (("--from", "{looks}", "--journal", "{tmp}/gone"), "there is no such journal"),
        (("--from", "{looks}", "--journal", "{tmp}/torn.json"), "holds no record of a run"),
        (("--from", "{looks}", "--broker-log", "{tmp}/gone"), "there is no such file or folder"),
        (("--from", "{looks}", "--log-timezone", "Mars/Base"), "there is no time zone 'Mars/Base'"),
        (("--from", "{looks}", "--log-timezone", "../../etc/passwd"), "there is no time zone"),
        (("--from", "{looks}", "--since", "yesterday"), "--since: 'yesterday' is no time"),
        (("--from", "{looks}", "--since", "2027-01-15", "--until", "2027-01-14"), "--since is not before --until"),
        (("--from", "{looks}", "--since", "2030-01-01"), "there is no look to report on"),
        (("--from", "{looks}", "--html", "{tmp}/none/x.html"), "there is no such folder"),
        (("--from", "{looks}", "--html", "-", "--json"), "standard output takes one"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(looks, tmp_path, args, words):
    (tmp_path / "torn.json").write_text('{"format": "kfix.snapshot", "version": 1, "taken_at": 1800000000.0, ')
    said = kfix(*(a.format(tmp=tmp_path, looks=looks) for a in args), code=2)
    assert words in said.stderr
    assert "Traceback" not in said.output
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize("taken_at", ["-62135596800", "253402300799", "1e3", "0", "--", "1.8e9.1", "1e999"])
def test_no_time_of_a_look_is_a_crash(looks, tmp_path, taken_at):
    import gzip
    import re

    text = gzip.decompress((looks / "02-coordinator-stuck.json.gz").read_bytes()).decode()
    strange = tmp_path / "strange.json"
    strange.write_text(re.sub(r'"taken_at":[0-9.]+', f'"taken_at":{taken_at}', text, count=1))
    for more in ((), ("--from", str(looks))):
        args = ["report", "incident", "--from", str(strange), *more, "--html", str(tmp_path / "x.html")]
        said = CliRunner().invoke(app, args)
        assert said.exit_code in {0, 2}, said.output


def test_looks_of_two_clusters_are_refused_by_name(looks):
    from dataclasses import replace

    from kfix.model.cluster.snapshot import ClusterIdentity, Mode

    strange = replace(founding()[0], cluster=ClusterIdentity("strange", Mode.ZOOKEEPER))
    files.save(strange, looks / "zz.json")
    said = kfix("--from", looks, code=2)
    assert "is of cluster" in said.stderr
    assert "strange" in said.stderr
