"""Puts journal records into words, each with the style of its line; None for records that are not shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kfix.core.wording import rate_text, several
from kfix.heal.report.progress import clock_words, time_words

Record = Mapping[str, Any]
Words = tuple[str, str]

_SKIPPED = {
    "goal_met": "skipped: the goal is met",
    "not_needed": "skipped: not needed, its effect is already there",
    "left_out": "skipped by the operator",
}
_CHOSEN = {
    "leave": "the copies continue unchanged",
    "cancel": "the moves are cancelled",
    "unthrottled": "the throttles are removed, the copies continue",
}


def run_words(record: Record) -> Words | None:  # noqa: C901, PLR0911, PLR0912 - one return a kind
    match record["type"]:
        case "run.start":
            rollback = f", rolls back {record['undoes']}" if record.get("undoes") else ""
            return f"run {record['run']}{rollback}", "bold"
        case "run.resumed":
            return f"run {record['run']} resumed; {_done(record)}", "bold"
        case "facts.recheck":
            return f"{record['key']} was {record['was']}, is now {record['is_']}", "red"
        case "gate.early":
            return f"an answer after {record['seconds']:.2f} s was rejected: too fast to have been read", "yellow"
        case "lock.lost":
            return f"the lock was lost: {record['scope']}", "red"
        case "invariant":
            return f"invariant broken: {record['check']}: {record['observed']}", "red"
        case "pause":
            until = f"until {clock_words(record['until'])} at the latest ({time_words(record['seconds_left'])})"
            return f"paused {until}: {record['why']}; Ctrl-C stops the run", "yellow"
        case "pause.batch":
            return f"pause after this batch until {clock_words(record['until'])} ({record['seconds_left']} s)", "dim"
        case "resume":
            return f"the invariant holds again; the run continues after {record['seconds']:g} s", "green"
        case "interrupted":
            return (
                f"interrupted while replicas were being copied: {_CHOSEN.get(record['choice'], '')} ({record['why']})",
                "yellow",
            )
        case "limit.hit":
            return f"limit {record['limit']} reached: {_numbers(record)}", "red"
        case "note":
            return f"note: {record['text']}", "yellow"
        case "run.end" if record.get("left"):
            return f"NOT RESTORED: {'; '.join(record['left'])}", "bold red"
    return None


def step_words(record: Record, what: str) -> Words | None:  # noqa: C901, PLR0911, PLR0912 - one return a kind
    match record["type"]:
        case "gate.answered" if record["passed"]:
            return f"approved ({record['answer']})", "green"
        case "step.intent":
            return what, "bold"
        case "step.result":
            return _result(record)
        case "step.probe":
            return f"read from the cluster, not sent again: {record['progress'].replace('_', ' ')}", "yellow"
        case "step.verified":
            return "verified", "green"
        case "step.not_verified":
            return f"not verified ({record['verdict']}): {record['text']}", "yellow"
        case "step.refused":
            return f"skipped, the others continue: {record['text']}", "yellow"
        case "step.skipped":
            return _SKIPPED.get(record["why"], str(record["why"])), "dim"
        case "step.waiting":
            until = f"until {clock_words(record['until'])} at the latest ({time_words(record['seconds_left'])})"
            return f"waiting {until} for: {what}", "bold"
        case "step.done_by_hand":
            return "done by hand and verified", "green"
        case "throttle.intent":
            return f"throttle {rate_text(record['args']['rate'])}, requested by {record['by']}", "bold"
        case "throttle.result":
            return (
                ("throttle changed", "green") if record["ok"] else (f"throttle not changed: {record['error']}", "red")
            )
        case "note":
            return f"note: {record['text']}", "yellow"
    return None


def _result(record: Record) -> Words:
    if record.get("adopted"):
        return "the change was made, although its answer was lost", "green"
    if record["ok"]:
        return "accepted", ""
    if record["changed"] is None:
        return f"no answer ({record['error']}); it may or may not have happened", "red"
    return f"not changed: {record['error']}", "yellow"


def _done(record: Record) -> str:
    done, unclear = record.get("done") or [], record.get("open") or []
    text = f"{several(len(done), 'step')} done before"
    return text + (f", unknown: {', '.join(unclear)}" if unclear else "")


def _numbers(record: Record) -> str:
    seen = next((f"{name} {record[name]}" for name in ("seconds", "moving") if name in record), "")
    return f"{seen}, the limit is {record['cap']:g}"
