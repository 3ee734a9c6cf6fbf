"""`kfix watch` as a terminal, a pipe and a script see it; the cluster is on paper, and no test waits."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sys
import tempfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
from typer.testing import CliRunner, Result

from kfix.core.application import App
from kfix.core.diagnosis.finding import Cause, Finding, Severity
from kfix.core.errors import UnreachableError, UsageError
from kfix.core.recorder.folder import SegmentFiles
from kfix.core.recorder.reading import Recording
from kfix.front.plain import PlainConsole
from kfix.shell.app import app
from kfix.shell.schemas import schema_of
from kfix.watch.cli import size_of
from kfix.watch.model import Turn, TurnKind, WatchState
from kfix.watch.report.json_turn import turn_json
from kfix.watch.report.view import WatchScreen
from tests.each import for_each
from tests.unit.diagnose.report.test_machine_formats import strict
from tests.unit.watch.test_watching import Clock, Story, healthy, run, stuck


def watch(*args: str, story: Story | None = None, clock: Clock | None = None) -> Result:
    clock = clock or Clock()
    clusters = story or Story(clock, lambda at: stuck() if 30 <= at < 60 else healthy())
    return CliRunner().invoke(app, ["watch", *args], obj=App(clusters, clock, {}))


def test_a_pipe_gets_one_line_for_each_change_and_nothing_while_nothing_changes() -> None:
    done = watch("--bootstrap-server", "localhost:1", "--snapshots", "40")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0].endswith("watching paper every 15 s")
    assert [line[10:] for line in lines[1:] if line[:2].isdecimal()] == [
        "paper: healthy",
        "new critical KFX102 orders-3: orders-3 has had no leader for at least 5 min, although in-sync replicas 1, 2"
        if "for at least 5 min" in done.output
        else lines[2][10:],
        "paper: 1 critical",
        "fixed KFX102 orders-3, after 30 s",
        "paper: healthy",
    ]
    assert sum(line.strip().startswith("next: ") for line in lines) == 1


def test_a_lost_cluster_is_reported_once() -> None:
    clock = Clock()
    gone = UnreachableError("the cluster cannot be reached: refused")
    story = Story(clock, lambda at: gone if at >= 30 else healthy())
    done = watch("--bootstrap-server", "localhost:1", "--snapshots", "30", story=story, clock=clock)
    assert done.exit_code == 22
    assert done.output.count("lost the cluster: the cluster cannot be reached: refused") == 1
    assert done.output.count("unknown, the cluster has not answered") == 1


def test_a_recording_is_shown_without_a_cluster(tmp_path: Path) -> None:
    ring = str(tmp_path / "ring")
    live = watch("--bootstrap-server", "localhost:1", "--snapshots", "8", "--recorder", ring)
    assert live.exit_code == 0
    again = watch("--from-recorder", ring)
    assert again.exit_code == 0
    changes = [line for line in live.output.splitlines() if " new " in line or " fixed " in line]
    assert changes == [line for line in again.output.splitlines() if " new " in line or " fixed " in line]
    assert len(changes) == 2


class Unread(io.StringIO):
    """A pipe whose reader leaves after the first lines."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def fileno(self) -> int:
        return self.number

    def write(self, text: str) -> int:
        if "new critical" in self.getvalue():
            raise BrokenPipeError
        return super().write(text)


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("recorded", [False, True])
def test_a_watch_whose_output_has_no_reader_ends_unless_it_does_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: list[str], recorded: bool
) -> None:
    clock = Clock()
    began, clusters = clock.now(), Story(clock, lambda at: stuck() if 30 <= at < 60 or at > 90 else healthy())
    words = ["watch", "--bootstrap-server", "localhost:1", "--snapshots", "40", *form]
    words += ["--recorder", str(tmp_path / "ring")] if recorded else []
    command = typer.main.get_command(app)
    with tempfile.TemporaryFile() as file:
        monkeypatch.setattr(sys, "stdout", Unread(file.fileno()))
        with pytest.raises(SystemExit) as ended:
            command.main(words, prog_name="kfix", obj=App(clusters, clock, {}))
    if recorded:
        assert (ended.value.code, clock.now() - began > 500) == (21, True)
    else:  # at the first change that it cannot print: the fault begins, or ends
        assert (ended.value.code, clock.now() - began <= 75) in {(21, True), (0, True)}


@for_each(
    ("args", "error"),
    [
        (["--every", "0.5"], "--every must be 1 to 3600 seconds"),
        (["--until", "better"], "--until: 'better' is not known"),
        (["--within", "0"], "--within and --snapshots must be greater than 0"),
        (["--snapshots", "0"], "--within and --snapshots must be greater than 0"),
        (["--keep-hours", "0"], "--keep-hours must be greater than 0"),
        (["--keep-size", "5"], "--keep-size: '5' is not a size"),
        (["--keep-size", "0MB"], "--keep-size must be at least 1MB"),
        (["--since", "2026-11-21T10:00"], "--since is for --from-recorder"),
        (["--from-recorder", "x", "--recorder", "y"], "leave out the options for a live cluster"),
        (["--exporter", "nowhere"], "'nowhere' is not an address to listen on"),
        (["--notify", "/nowhere.yaml"], "/nowhere.yaml: there is no such file of receivers"),
    ],
)
def test_a_wrong_option_is_one_clear_line(args: list[str], error: str) -> None:
    address = [] if "--from-recorder" in args else ["--bootstrap-server", "localhost:1"]
    done = watch(*address, *args)
    assert done.exit_code == 2
    assert error in " ".join(done.output.split())


def test_no_cluster_and_no_recording_are_refused(tmp_path: Path) -> None:
    assert "no cluster given" in watch().output
    (tmp_path / "empty").mkdir()
    for folder, error in (("empty", "holds no recording"), ("missing", "no such file or directory")):
        done = watch("--from-recorder", str(tmp_path / folder))
        assert done.exit_code == 2
        assert error in done.output


def test_sizes_are_decimal() -> None:
    assert [size_of(t) for t in ("256MB", "2 GB", "1.5GB")] == [256_000_000, 2_000_000_000, 1_500_000_000]
    for wrong in ("", "MB", "-1MB", "1TB", "1e3MB"):
        with pytest.raises(UsageError):
            size_of(wrong)


def test_a_terminal_is_drawn_anew_and_names_changes_recorder_and_cost(tmp_path: Path) -> None:
    _, states, _ = run(lambda at: stuck() if at >= 15 else healthy(), 3, recorder=tmp_path / "ring")
    screen = io.StringIO()
    view = WatchScreen(PlainConsole(screen))
    for state in states:
        view.show(replace(state, exporter="http://127.0.0.1:9308/metrics"))
    frames = screen.getvalue().split("\x1b[H\x1b[2J\x1b[3J")[1:]
    assert len(frames) == 3
    assert "no change in" in frames[0]
    for part in ("blocked", "KFX102", "changes:", "new critical", "recorder ", "of 48 h", "metrics: http://", "cost: "):
        assert part in frames[2], frames[2]


def rows_of(done: Result) -> list[dict[str, Any]]:
    """Returns the objects of the lines, each checked against the published schema without room for more fields."""
    schema = schema_of("watch")
    jsonschema.Draft202012Validator.check_schema(schema)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        jsonschema.Draft202012Validator(strict(schema)).validate(row)
    return rows


def test_json_is_one_object_a_line_for_each_change_and_nothing_else(tmp_path: Path) -> None:
    ring = str(tmp_path / "ring")
    done = watch("--bootstrap-server", "localhost:1", "--snapshots", "8", "--recorder", ring, "--json")
    assert done.exit_code == 0
    new, fixed = rows_of(done)
    assert (new["kind"], new["severity"], new["key"]) == ("new", "critical", "KFX102:orders-3")
    assert new["text"].startswith("new critical KFX102 orders-3: orders-3 has")
    assert new["finding"]["key"] == new["key"]
    assert any(remedy["command"] for remedy in new["finding"]["remedies"])
    lasted = datetime.fromisoformat(fixed["at"]) - datetime.fromisoformat(fixed["since"])
    assert (fixed["kind"], fixed["key"], lasted.total_seconds()) == ("fixed", "KFX102:orders-3", 30.0)
    assert (new["cluster"], new["name"]) == ("paper", "paper")
    again = rows_of(watch("--from-recorder", ring, "--json"))
    assert [(row["kind"], row["key"], row["text"]) for row in again] == [
        (row["kind"], row["key"], row["text"]) for row in (new, fixed)
    ]


def test_json_reports_a_recording_that_is_paused_on_standard_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    intact = SegmentFiles.write

    def write(self: SegmentFiles, handle: int, data: bytes, offset: int) -> None:
        if 30 <= clock.monotonic() < 75:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        intact(self, handle, data, offset)

    monkeypatch.setattr(SegmentFiles, "write", write)
    story = Story(clock, lambda _: healthy())
    ring = str(tmp_path / "ring")
    words = ("--bootstrap-server", "localhost:1", "--snapshots", "8", "--recorder", ring, "--json")
    done = watch(*words, story=story, clock=clock)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        f"kfix: recording is paused: {ring}: no space left on device",
        f"kfix: resolved: recording is paused: {ring}: no space left on device",
    ]
    [paused] = [r for r in Recording(tmp_path / "ring").records() if r.what == "paused"]
    assert paused.text == f"no snapshot was recorded for 45 s: {ring}: no space left on device"


def test_json_shows_that_the_cluster_is_lost_and_back() -> None:
    clock = Clock()
    gone = UnreachableError("the cluster cannot be reached: refused")
    story = Story(clock, lambda at: gone if 30 <= at < 60 else healthy())
    lost, back = rows_of(
        watch("--bootstrap-server", "localhost:1", "--snapshots", "8", "--json", story=story, clock=clock)
    )
    assert (lost["kind"], lost["error"], lost["finding"]) == ("lost", "the cluster cannot be reached: refused", None)
    assert (back["kind"], back["key"], back["error"]) == ("back", "unreachable", "")
    assert back["since"] == lost["at"]


def test_an_explained_finding_names_the_one_that_explains_it() -> None:
    finding = Finding("orders-3", "x", Cause("y"), code="KFX302")
    turn = Turn(
        TurnKind.EXPLAINED, finding.key, 2.0, 1.0, Severity.WARNING, Severity.WARNING, finding, "KFX401:broker 1"
    )
    row = turn_json(turn, WatchState("paper", 2.0, 15.0))
    jsonschema.Draft202012Validator(strict(schema_of("watch"))).validate(json.loads(json.dumps(row)))
    assert (row["kind"], row["explained_by"], row["error"]) == ("explained", "KFX401:broker 1", "")


def test_json_of_a_watch_that_cannot_begin_is_an_error_and_excludes_lines() -> None:
    done = watch("--bootstrap-server", "localhost:1", "--json", "--lines")
    assert done.exit_code == 2
    assert "--lines is for people, and --json for programs" in done.output


def test_a_number_that_is_none_ends_no_watch() -> None:
    done = watch("--bootstrap-server", "localhost:1", "--within", "nan", "--snapshots", "1")
    assert done.exit_code == 2
    assert "--within and --snapshots must be greater than 0" in done.output


@pytest.mark.parametrize(("more", "code"), [((), 0), (("--until", "healthy"), 22)])
def test_sigterm_is_no_failure_but_no_healthy_cluster_either(more: tuple[str, ...], code: int) -> None:
    def sick(at: float) -> Any:
        if at >= 30:
            os.kill(os.getpid(), signal.SIGTERM)
        return stuck()

    before = signal.getsignal(signal.SIGTERM)
    try:
        clock = Clock()
        done = watch("--bootstrap-server", "localhost:1", *more, story=Story(clock, sick), clock=clock)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert done.exit_code == code
