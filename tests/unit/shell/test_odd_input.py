"""Odd options, unexpected files, odd terminals: one clear line each, and never "healthy" for what nobody read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner, Result

from kfix.core.collect import probes
from kfix.core.collect.tasks import Brokers, Questions
from kfix.core.saved import files
from kfix.core.snapshot.snapshot import CoordinatorProbe
from kfix.core.timing import Deadline
from kfix.shell.app import app
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.ladder.ladder import explain_group
from tests.unit.diagnostics.clusters import base


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "look.json"
    files.save(base().snapshot(), path)
    return path


def kfix(*args: object) -> Result:
    return CliRunner().invoke(app, list(map(str, args)))


def test_a_topic_that_no_source_names_is_an_error_and_not_healthy(saved: Path) -> None:
    said = kfix("diagnose", "--from", saved, "--topic", "ordres")
    assert said.exit_code == 2
    assert said.stdout == ""
    assert "no source names a topic 'ordres', did you mean 'orders'?" in said.stderr
    assert kfix("diagnose", "--from", saved, "--topic", "orders").exit_code == 0


def test_a_group_that_no_source_names_exits_as_unknown(saved: Path) -> None:
    said = kfix("diagnose", "--from", saved, "--group", "shp")
    assert said.exit_code == 22
    assert "healthy" not in said.stdout.splitlines()[0]


@pytest.mark.parametrize("command", [["diagnose"], ["watch", "--snapshots", "1"], ["snapshot", "save", "OUT"]])
def test_a_group_of_bytes_that_are_no_text_is_refused_before_anything_is_asked(
    tmp_path: Path, command: list[str]
) -> None:
    words = [str(tmp_path / word) if word == "OUT" else word for word in command]
    said = kfix(*words, "--bootstrap-server", "127.0.0.1:1", "--group", "a\udcff")
    assert (said.exit_code, "--group 'a\\udcff' is not UTF-8 text" in said.stderr) == (2, True), said.stderr


def changed(saved: Path, **changes: object) -> Path:
    saved.write_text(json.dumps(json.loads(saved.read_text()) | changes))
    return saved


@pytest.mark.parametrize(
    "options",
    [
        ["--debounce", "nan"],
        ["--restart-grace", "nan"],
        ["--debounce", "-1"],
        ["--restart-grace", "inf"],
        ["--group", ""],
        ["--group", "g", "--only", "KFX101"],
    ],
)
def test_options_that_mean_nothing_are_usage_errors(saved: Path, options: list[str]) -> None:
    result = kfix("diagnose", "--from", saved, *options)
    assert (result.exit_code, result.stderr.count("kfix: ")) == (2, 1)


@pytest.mark.parametrize("moment", [1e300, -1e300, float("nan"), float("inf")])
def test_a_snapshot_of_no_moment_is_damaged(saved: Path, moment: float) -> None:
    result = kfix("diagnose", "--from", changed(saved, taken_at=moment))
    assert result.exit_code == 2
    assert "is damaged" in result.stderr


def test_a_snapshot_nested_without_end_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text('{"format":"kfix.snapshot","version":1,"a":' + "[" * 100_000)
    result = kfix("diagnose", "--from", path)
    assert result.exit_code == 2
    assert "is damaged" in result.stderr


def test_a_snapshot_in_which_nothing_was_read_is_not_healthy(saved: Path) -> None:
    result = kfix("diagnose", "--from", changed(saved, views={}, zookeeper=None, sources=[]))
    assert result.exit_code == 22
    assert "healthy" not in result.stdout


def test_brokers_whose_answers_were_taken_out_of_a_file_were_not_read(saved: Path) -> None:
    result = kfix("diagnose", "--from", changed(saved, views={}))
    assert result.exit_code == 22
    assert "healthy" not in result.stdout
    assert "does not hold their answers" in " ".join(result.stdout.split())


def test_a_full_disk_behind_the_output_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        told = [sys.executable, "-m", "kfix", "explain"]
        said = subprocess.run(told, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert said.returncode == 1
    assert "kfix: cannot write: no space left on device" in said.stderr
    assert "internal error" not in said.stderr


def test_a_terminal_of_no_width_still_gets_its_text(saved: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "kfix", "diagnose", "--from", str(saved)],
        env=os.environ | {"COLUMNS": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "healthy" in said.stdout


@pytest.mark.parametrize(("find_error", "fetch_error"), [(-1, None), (30, None), (0, 30)])
def test_a_question_without_an_answer_or_a_right_blocks_no_group(find_error: int, fetch_error: int | None) -> None:
    from dataclasses import replace

    snapshot = base().snapshot()
    [old] = [p for p in snapshot.probes if p.group == "g2"]
    probe = CoordinatorProbe("g2", old.partition, find_error, None, fetch_error, error="no answer in time")
    snapshot = replace(snapshot, probes=(probe,))
    assert [f.code for f in diagnose(snapshot).walk()] == []
    assert explain_group(snapshot, diagnose(snapshot), "g2").blocked is None


def test_coordinators_that_no_broker_could_be_asked_for_are_a_source_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    unheard = {"g": CoordinatorProbe("g", 0, -1, None, None, error="b:1: no answer in time")}
    monkeypatch.setattr(probes, "find_coordinators", lambda *_: unheard)
    look = Questions()
    line = SimpleNamespace()
    probes.read_probes(Brokers(look, {1: line}, Deadline.after(2)), {"g": 0})  # type: ignore[dict-item]
    [source] = [s for s in look.sources() if s.name == "coordinator probe"]
    assert not source.ok
    assert "no answer in time" in source.error


def test_a_narrow_encoding_shows_escapes(saved: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "kfix", "diagnose", "--from", str(saved), "--group", "gr\u00fcn"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "gr\\xfcn" in said.stdout
    assert said.stderr == ""
