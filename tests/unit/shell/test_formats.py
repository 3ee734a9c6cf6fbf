"""`kfix diagnose --format` and `--output`: one document, in one place, also where the command fails."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.core.saved import files
from kfix.diagnose.report.formats import Format
from kfix.front.failure import Machine
from kfix.shell.app import app
from tests.unit.diagnose.report.machine import valid_junit, valid_sarif
from tests.unit.diagnostics.clusters import coordinator_stuck, healthy

runner = CliRunner()


@pytest.fixture
def sick(tmp_path: Path) -> Path:
    path = tmp_path / "sick.json"
    files.save(coordinator_stuck().snapshot(), path)
    return path


@pytest.fixture
def well(tmp_path: Path) -> Path:
    path = tmp_path / "well.json"
    files.save(healthy(), path)
    return path


def run(*words: str | Path) -> tuple[int, str, str]:
    done = runner.invoke(app, ["diagnose", *map(str, words)])
    return done.exit_code, done.stdout, done.stderr


def test_the_formats_of_a_program_are_those_of_the_boundary() -> None:
    assert {m.value for m in Machine if m is not Machine.NONE} == {*Format} - {Format.TEXT}


@pytest.mark.parametrize(("short", "name"), [("--json", "json"), ("--nagios", "nagios")])
def test_the_short_forms_print_the_same(sick: Path, short: str, name: str) -> None:
    assert (
        run("--from", sick, short) == run("--from", sick, "--format", name) == run("--from", sick, f"--format={name}")
    )


@pytest.mark.parametrize("name", Format)
def test_a_file_has_what_standard_output_has(sick: Path, tmp_path: Path, name: Format) -> None:
    code, out, _ = run("--from", sick, "--format", name)
    target = tmp_path / "out"
    target.write_text("yesterday")
    assert run("--from", sick, "--format", name, "--output-file", target) == (code, "", "")
    assert target.read_text().split() == out.split()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    assert code == (2 if name is Format.NAGIOS else 21)


def test_a_dash_is_standard_output(sick: Path) -> None:
    assert run("--from", sick, "--json", "--output-file", "-") == run("--from", sick, "--json")


def test_formats_that_differ_exclude_each_other_and_equal_ones_do_not(sick: Path) -> None:
    assert run("--from", sick, "--json", "--format", "json")[0] == 21
    code, _, err = run("--from", sick, "--json", "--format", "sarif")
    assert (code, err.splitlines()[0]) == (2, "kfix: --format, --json and --nagios name different formats")
    assert run("--from", sick, "--format", "xml")[0] == 2


@pytest.mark.parametrize("name", ["json", "sarif", "junit", "prometheus", "nagios"])
def test_a_failure_replaces_the_result_of_yesterday(well: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / "out"
    assert run("--from", well, "--format", name, "--output-file", target)[0] == 0
    good = target.read_text()
    code, out, err = run(
        "--bootstrap-server", "127.0.0.1:1", "--timeout", "1", "--format", name, "--output-file", target
    )
    assert code == (3 if name == "nagios" else 22)
    assert out == ""
    assert err.startswith("kfix: ")
    assert target.read_text() != good
    if name == "sarif":
        assert valid_sarif(target.read_text())["invocations"][0]["executionSuccessful"] is False
    if name == "junit":
        assert valid_junit(target.read_text()).get("errors") == "1"
    if name == "prometheus":
        assert target.read_text().endswith('kfix_diagnosis_success{cluster="127.0.0.1:1"} 0\n')
    if name == "json":
        assert json.loads(target.read_text())["exit_code"] == 22


@pytest.mark.parametrize("name", ["sarif", "junit"])
def test_a_failure_is_a_whole_document_on_standard_output(name: str) -> None:
    code, out, _ = run("--bootstrap-server", "127.0.0.1:1", "--timeout", "1", "--format", name)
    assert code == 22
    valid_sarif(out) if name == "sarif" else valid_junit(out)


def test_only_a_plain_file_is_replaced(sick: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target, why in ((pipe, "is not a plain file"), (tmp_path, "is a folder"), (tmp_path / "no" / "x", "no such")):
        code, out, err = run("--from", sick, "--json", "--output-file", target)
        assert (code, json.loads(out)["exit_code"]) == (2, 2)
        assert why in err


def test_a_full_disk_is_one_line_and_keeps_the_old_file(sick: Path, tmp_path: Path, monkeypatch) -> None:
    target = tmp_path / "out"
    target.write_text("yesterday")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, _, err = run("--from", sick, "--json", "--output-file", target)
    assert code == 2
    assert f"{target}: cannot be written: No space left on device; the old file is unchanged" in err
    assert target.read_text() == "yesterday"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "sick.json"]


def test_a_group_is_reported_as_text_and_json_only(sick: Path, tmp_path: Path) -> None:
    assert run("--from", sick, "--group", "g", "--format", "sarif")[0] == 2
    target = tmp_path / "out"
    code, out, _ = run("--from", sick, "--group", "g")
    assert run("--from", sick, "--group", "g", "--output-file", target)[0] == code
    assert target.read_text().split() == out.split()
