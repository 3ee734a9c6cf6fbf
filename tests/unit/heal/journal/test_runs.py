"""Which runs of this host were begun and not finished, by their journals alone; and what a diagnosis makes of it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kfix import __version__
from kfix.core.clock import SystemClock
from kfix.core.diagnosis.finding import Cause, Diagnosis, Finding, Remedy
from kfix.core.snapshot.snapshot import ReachedBy
from kfix.diagnose.report.json_findings import as_dict
from kfix.diagnose.report.table import findings_text
from kfix.diagnose.report.verdict import exit_code, nagios_exit_code, nagios_line
from kfix.heal.journal.journal import Journal
from kfix.heal.journal.runs import unfinished
from kfix.heal.unfinished import with_unfinished


def intent(step: str, action: str, **args: object) -> dict[str, Any]:
    return {"type_": "step.intent", "step": step, "action": action, "args": args, "pre_image": {}}


RATE = intent("throttle:1", "throttle.rate", broker=1, rate=1000)
BACK = intent("back:1", "throttle.restore", kind="broker", name="1")
MOVE = intent("move", "reassign.move")
NOT_A_RECORD = "a record that no kfix wrote\n"


def done(step: str) -> dict[str, Any]:
    return {"type_": "step.result", "step": step, "ok": True, "changed": True, "error": ""}


def end(outcome: str) -> dict[str, Any]:
    return {"type_": "run.end", "outcome": outcome, "exit": 0, "changed": [], "left": []}


@pytest.fixture(scope="module")
def dead() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def write(home: Path, name: str, *records: dict[str, Any], pid: int, **start: Any) -> Path:
    folder = home / "runs" / name
    folder.mkdir(parents=True)
    who = {"user": "anna", "uid": 1, "host": socket.gethostname(), "pid": pid, "tty": False}
    begin = {
        "cluster": "prod",
        "runbook": "raise-topic-rf",
        "finding": "REQUEST:orders",
        "partitions": [],
        "undoes": "",
    }
    begin |= {"title": "x", "kfix": __version__, **start}
    with (folder / "journal.ndjson").open("wb") as file:
        clock = SystemClock()
        journal = Journal(file, {"run": name, "plan": "0" * 64, "who": who}, clock, lambda _record: None)
        for record in ({"type_": "run.start", **begin}, *records):
            journal.write(**record)
    return folder / "journal.ndjson"


def test_a_run_that_was_killed_after_a_change_is_unfinished_and_shows_what_it_did(tmp_path: Path, dead: int) -> None:
    write(tmp_path, "r1", RATE, done("throttle:1"), MOVE, pid=dead)
    (run,) = unfinished(tmp_path / "runs", "prod")
    assert (run.id, run.user, run.outcome, run.alive) == ("r1", "anna", "", False)
    assert (run.changed, run.doubtful, run.throttles, run.broken) == (("throttle:1",), ("move",), True, False)


@pytest.mark.parametrize("outcome", ["proved", "already_healthy", "aborted"])
def test_a_run_that_ended_is_not_reported(tmp_path: Path, dead: int, outcome: str) -> None:
    write(tmp_path, "r1", MOVE, done("move"), end(outcome), pid=dead)
    assert unfinished(tmp_path / "runs", "prod") == ()


@pytest.mark.parametrize("outcome", ["declined", "refused", "interrupted", ""])
def test_a_run_that_changed_nothing_is_not_reported(tmp_path: Path, dead: int, outcome: str) -> None:
    write(tmp_path, "r1", *([end(outcome)] if outcome else []), pid=dead)
    assert unfinished(tmp_path / "runs", "prod") == ()


def test_a_run_that_stopped_half_way_is_reported_with_its_outcome(tmp_path: Path, dead: int) -> None:
    write(tmp_path, "r1", MOVE, done("move"), end("step_failed"), pid=dead)
    (run,) = unfinished(tmp_path / "runs", "prod")
    assert run.outcome == "step_failed"


def test_a_run_of_another_cluster_is_not_reported(tmp_path: Path, dead: int) -> None:
    write(tmp_path, "r1", MOVE, done("move"), pid=dead, cluster="test")
    assert unfinished(tmp_path / "runs", "prod") == ()
    assert len(unfinished(tmp_path / "runs", "test")) == 1


def test_a_run_that_another_rolled_back_is_not_reported(tmp_path: Path, dead: int) -> None:
    write(tmp_path, "r1", MOVE, done("move"), end("step_failed"), pid=dead)
    write(tmp_path, "r2", end("declined"), pid=dead, undoes="r1")
    assert len(unfinished(tmp_path / "runs", "prod")) == 1
    write(tmp_path, "r3", MOVE, done("move"), end("proved"), pid=dead, undoes="r1")
    assert unfinished(tmp_path / "runs", "prod") == ()


def test_throttles_that_were_removed_are_not_reported_as_set(tmp_path: Path, dead: int) -> None:
    write(tmp_path, "r1", RATE, done("throttle:1"), BACK, done("back:1"), end("interrupted"), pid=dead)
    (run,) = unfinished(tmp_path / "runs", "prod")
    assert not run.throttles


def test_a_run_that_restored_all_its_changes_is_not_reported(tmp_path: Path, dead: int) -> None:
    last = {**end("declined"), "changed": [], "left": [], "under_way": []}
    write(tmp_path, "r1", RATE, done("throttle:1"), BACK, done("back:1"), last, pid=dead)
    assert unfinished(tmp_path / "runs", "prod") == ()
    write(tmp_path, "r2", RATE, done("throttle:1"), {**last, "left": ["the throttle"]}, pid=dead)
    assert len(unfinished(tmp_path / "runs", "prod")) == 1


def test_a_run_whose_process_is_alive_is_not_cut_short(tmp_path: Path) -> None:
    write(tmp_path, "r1", MOVE, done("move"), pid=os.getpid())
    (run,) = unfinished(tmp_path / "runs", "prod")
    assert run.alive


def test_a_damaged_journal_is_reported_as_far_as_it_can_be_trusted(tmp_path: Path, dead: int) -> None:
    path = write(tmp_path, "r1", MOVE, done("move"), pid=dead)
    path.write_text(path.read_text() + NOT_A_RECORD)
    (run,) = unfinished(tmp_path / "runs", "prod")
    assert (run.broken, run.changed) == (True, ("move",))


@pytest.mark.parametrize("junk", [b"", b"\n", b"[1]\n", b'{"cluster": 1}\n', b"\xff\xfe\n", b"[" * 100_000])
def test_a_folder_that_is_no_run_is_passed_over(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "runs" / "odd").mkdir(parents=True)
    (tmp_path / "runs" / "odd" / "journal.ndjson").write_bytes(junk)
    assert unfinished(tmp_path / "runs", "prod") == ()
    assert unfinished(tmp_path / "absent", "prod") == ()


def sick(*findings: Finding) -> Diagnosis:
    return Diagnosis("prod", 1.0, findings)


LEFT_OVER = Finding(
    "replication throttles",
    "replication is throttled",
    Cause("?"),
    code="KFX503",
    remedies=(Remedy("remove the throttles", "kfix runbook apply sweep-throttles", "sweep-throttles"), Remedy("other")),
)


def test_an_unfinished_run_is_a_warning_with_its_next_command_on_every_output(tmp_path: Path, dead: int) -> None:
    write(tmp_path, "r1", RATE, done("throttle:1"), MOVE, pid=dead)
    diagnosis = with_unfinished(sick(), "prod", tmp_path)
    text = findings_text(diagnosis, 200)
    assert "nothing found, but a run is unfinished" in text
    assert f"r1: raise-topic-rf for REQUEST:orders, by anna on {socket.gethostname()}" in text
    assert "was killed after" in text
    assert "changed throttle:1; the result of move is unknown; its throttles are still set" in text
    assert "kfix runbook resume r1   or   kfix runbook abort r1 --reason TEXT" in text
    assert (exit_code(diagnosis), nagios_exit_code(diagnosis)) == (20, 1)
    assert "run r1 of anna is unfinished" in nagios_line(diagnosis)
    (said,) = json.loads(json.dumps(as_dict(diagnosis)))["unfinished_runs"]
    assert (said["id"], said["changed"], said["throttles"]) == ("r1", ["throttle:1"], True)


def test_a_run_that_is_being_carried_out_does_not_make_a_healthy_cluster_sick(tmp_path: Path) -> None:
    write(tmp_path, "r1", MOVE, done("move"), pid=os.getpid())
    diagnosis = with_unfinished(sick(), "prod", tmp_path)
    assert exit_code(diagnosis) == 0
    assert "its process is still carrying it out" in findings_text(diagnosis, 200)
    assert "resume" not in findings_text(diagnosis, 200)


def test_throttles_of_an_unfinished_run_are_removed_by_that_run_and_not_swept(tmp_path: Path, dead: int) -> None:
    write(tmp_path, "r1", RATE, done("throttle:1"), pid=dead)
    diagnosis = with_unfinished(sick(LEFT_OVER), "prod", tmp_path)
    text = findings_text(diagnosis, 200)
    assert "sweep-throttles" not in text
    commands = [remedy.command for remedy in diagnosis.findings[0].remedies]
    assert commands == ["kfix runbook resume r1", "kfix runbook abort r1 --reason TEXT", ""]


def test_throttles_that_no_unfinished_run_set_are_swept(tmp_path: Path, dead: int) -> None:
    write(tmp_path, "r1", MOVE, done("move"), pid=dead)
    diagnosis = with_unfinished(sick(LEFT_OVER), "prod", tmp_path)
    assert diagnosis.findings == (LEFT_OVER,)


def test_a_run_of_another_kfix_can_only_be_shown(tmp_path: Path, dead: int) -> None:
    write(tmp_path, "r1", MOVE, done("move"), pid=dead, kfix="9.9")
    text = findings_text(with_unfinished(sick(), "prod", tmp_path), 200)
    assert "kfix runbook history r1" in text
    assert "resume" not in text


@pytest.mark.parametrize(
    ("reached", "options"),
    [
        (ReachedBy(), ""),
        (ReachedBy(profile="orders eu", command_config="its own"), " -c 'orders eu'"),
        (ReachedBy(command_config="my client.properties"), " --command-config 'my client.properties'"),
    ],
)
def test_the_commands_reach_the_cluster_as_the_diagnosis_did(
    tmp_path: Path, dead: int, reached: ReachedBy, options: str
) -> None:
    write(tmp_path, "r1", RATE, done("throttle:1"), pid=dead)
    [run] = with_unfinished(sick(), "prod", tmp_path, reached).unfinished
    said = findings_text(with_unfinished(sick(), "prod", tmp_path, reached), 300)
    assert f"kfix runbook resume {run.id}{options}   or   kfix runbook abort {run.id} --reason TEXT{options}\n" in said
