"""A run as it is told: every kind of record in words, progress on one line, what is still to come at the end."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from kfix.core.args import Args
from kfix.core.diagnosis.finding import REQUEST
from kfix.front.console import console_on
from kfix.heal.model.answer import Answer, Verdict
from kfix.heal.model.plan import CheckCall
from kfix.heal.report.run import RunReporter, closing
from kfix.heal.report.words import progress_words, time_words
from tests.each import for_each
from tests.unit.heal.stage import Stage, reseal


def _told(stage: Stage, *records: dict[str, Any], tty: bool = False) -> str:
    out = io.StringIO()
    if tty:
        out.isatty = lambda: True  # type: ignore[method-assign]
    console = (
        Console(file=out, width=80, force_terminal=False, markup=False, highlight=False) if tty else console_on(out)
    )
    teller = RunReporter(stage.plan(), console)
    for at, record in enumerate(records):
        teller({"mono": float(at), "run": "R", **record})
    return out.getvalue()


@for_each(
    ("record", "says"),
    [
        ({"type": "run.start"}, "run R"),
        ({"type": "run.start", "undoes": "Q"}, "run R, rolls back Q"),
        ({"type": "run.resumed", "done": ["a"], "open": []}, "run R resumed; 1 step done before"),
        ({"type": "run.resumed", "done": [], "open": ["b"]}, "run R resumed; 0 steps done before, unknown: b"),
        ({"type": "lock.lost", "scope": "ZooKeeper"}, "the lock was lost: ZooKeeper"),
        (
            {"type": "invariant", "check": "c()", "observed": "2", "action": "pause"},
            "invariant broken: c(): 2",
        ),
        (
            {"type": "pause", "why": "x", "until": "2026-09-21T14:13:20.000Z", "seconds_left": 600},
            "paused until 14:13:20 UTC at the latest (10 min 00 s): x; Ctrl-C stops the run",
        ),
        (
            {"type": "pause.batch", "until": "2026-09-21T14:13:20.000Z", "seconds_left": 10},
            "pause after this batch until 14:13:20 UTC (10 s)",
        ),
        (
            {"type": "gate.early", "seconds": 0.02, "least": 0.5},
            "an answer after 0.02 s was rejected: too fast to have been read",
        ),
        (
            {"type": "interrupted", "choice": "leave", "why": "no answer"},
            "interrupted while replicas were being copied: the copies continue unchanged (no answer)",
        ),
        ({"type": "resume", "seconds": 4.5}, "the invariant holds again; the run continues after 4.5 s"),
        ({"type": "limit.hit", "limit": "max_duration", "seconds": 61.0, "cap": 60.0}, "seconds 61.0, the limit is 60"),
        ({"type": "limit.hit", "limit": "max_concurrent_moves", "moving": 7, "cap": 5}, "moving 7, the limit is 5"),
        ({"type": "note", "text": "hello"}, "note: hello"),
        ({"type": "note", "step": "nudge", "text": "hello"}, "nudge: note: hello"),
        ({"type": "run.end", "left": ["throttle of 1"]}, "NOT RESTORED: throttle of 1"),
        ({"type": "facts.recheck", "step": "nudge", "key": "k", "was": 1, "is_": 2}, "k was 1, is now 2"),
        ({"type": "step.refused", "step": "nudge", "text": "no"}, "nudge: skipped, the others continue: no"),
        (
            {
                "type": "step.waiting",
                "step": "nudge",
                "what": "x",
                "until": "2026-09-21T14:13:20.000Z",
                "seconds_left": 90,
            },
            "nudge: waiting until 14:13:20 UTC at the latest (1 min 30 s) for: reassign",
        ),
        ({"type": "step.skipped", "step": "nudge", "why": "left_out"}, "nudge: skipped by the operator"),
        ({"type": "step.skipped", "step": "nudge", "why": "new_reason"}, "nudge: new_reason"),
        ({"type": "step.done_by_hand", "step": "nudge", "text": "x"}, "nudge: done by hand and verified"),
        (
            {"type": "step.result", "step": "nudge", "ok": True, "changed": True, "adopted": True},
            "the change was made, although its answer was lost",
        ),
        ({"type": "step.intent", "step": "undo-nudge"}, "undo-nudge: reverts: reassign"),
        (
            {"type": "throttle.intent", "step": "nudge", "args": {"rate": 5_000_000}, "by": "al"},
            "throttle 5 MB/s, requested by al",
        ),
        ({"type": "throttle.result", "step": "nudge", "ok": True, "error": ""}, "throttle changed"),
        ({"type": "throttle.result", "step": "nudge", "ok": False, "error": "X"}, "throttle not changed: X"),
    ],
)
def test_each_record_in_words(stage: Stage, record: dict[str, Any], says: str) -> None:
    assert says in _told(stage, record)


@pytest.mark.parametrize("kind", ["lock.taken", "gate.asked", "facts.updated", "run.end", "of.a.later.kfix"])
def test_what_only_the_journal_needs_is_not_printed(stage: Stage, kind: str) -> None:
    assert _told(stage, {"type": kind, "left": []}) == ""
    assert _told(stage, {"type": kind, "step": "nudge", "left": []}) == ""


PROGRESS: dict[str, Any] = {
    "type": "progress",
    "steps": ["a", "b"],
    "bytes_done": 250_000_000,
    "bytes_total": 1_000_000_000,
    "bytes_per_second": 50_000_000,
    "seconds_left": 15,
}


def test_progress_is_one_line_with_rate_and_time_left() -> None:
    assert progress_words(PROGRESS) == "2 steps: 250 MB of 1 GB copied (25 %), 50 MB/s, 15 s left"
    unknown = {**PROGRESS, "steps": ["a"], "bytes_total": None, "bytes_per_second": None, "seconds_left": None}
    assert progress_words(unknown) == "a: 250 MB copied of an unknown size"
    assert "%" not in progress_words({**PROGRESS, "bytes_total": 0})
    assert [time_words(s) for s in (59, 61, 3600, 7325)] == ["59 s", "1 min 01 s", "1 h 00 min", "2 h 02 min"]


def test_on_a_terminal_progress_is_written_over_itself_and_cleared(stage: Stage) -> None:
    shorter = {**PROGRESS, "bytes_per_second": None, "seconds_left": None}
    text = _told(stage, PROGRESS, shorter, {"type": "note", "text": "done"}, tty=True)
    first, second, cleared, rest = text.split("\r")[1:]
    assert first.endswith("15 s left")
    assert len(second) == len(first)
    assert cleared.strip() == ""
    assert rest.endswith("note: done\n")
    assert "\n" not in first + second


def test_in_a_pipe_progress_is_reported_once_a_minute(stage: Stage) -> None:
    lines = _told(stage, {"type": "run.start"}, *[PROGRESS] * 130).splitlines()
    assert sum("copied" in line for line in lines) == 3


def test_a_long_progress_line_never_wraps(stage: Stage) -> None:
    text = _told(stage, {**PROGRESS, "steps": ["x" * 300]}, tty=True)
    assert len(text.strip("\r")) < 80


def test_the_end_shows_what_was_left_and_what_is_still_to_come(stage: Stage) -> None:
    call = CheckCall("isr_full", Args({"partition": "t-0"}))
    answer = Answer(Verdict.FAIL, "isr [2]", "all replicas")
    text = closing(
        stage.plan(), ("nudge: x",), 1.0, "R", standing=((call, answer),), left=("grow:t-1 was refused",)
    ).plain
    assert "PROVED HEALED" in text
    assert "skipped:  grow:t-1 was refused" in text
    assert "still pending:  isr_full(partition=t-0): isr [2]; expected: all replicas" in text


def test_the_end_of_a_run_on_request_names_the_runbook_and_no_finding(stage: Stage) -> None:
    plan = stage.plan()
    asked = reseal(plan, finding=replace(plan.finding, code=REQUEST, obj="cluster"))
    assert closing(asked, ("nudge: x",), 1.0, "R").plain.startswith("DONE AND PROVED  coordinator-stuck  by nudge")
    assert closing(asked, (), 1.0, "R").plain.startswith("NOTHING TO DO  coordinator-stuck")


def test_the_end_of_an_upgrade_names_its_last_step(stage: Stage) -> None:
    plan = stage.plan()
    params = Args({"version": "4.4.0", "clients": "unknown"})
    asked = reseal(plan, runbook=replace(plan.runbook, id="rolling-upgrade"), params=params)
    said = closing(asked, ("upgrade: x",), 1.0, "R", at=" -c orders").plain
    assert "kfix runbook plan raise-metadata-version -c orders -p version=4.4.0" in said
    assert "raise-metadata-version" not in closing(asked, (), 1.0, "R").plain
    assert "raise-metadata-version" not in closing(plan, ("nudge: x",), 1.0, "R").plain


def test_the_end_of_a_run_that_takes_back(stage: Stage) -> None:
    undo = reseal(stage.plan(), undoes="Q")
    assert closing(undo, ("undo-nudge: x",), 1.0, "R").plain.startswith("ROLLED BACK  run Q: nudge, 1.0 s")
    assert closing(undo, (), 1.0, "R").plain.startswith("NOTHING TO ROLL BACK  of run Q")
