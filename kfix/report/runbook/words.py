"""The journal's records in words for people, each with the colour of its line. None: only the journal needs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kfix.report.runbook.progress import clock_words, rate_words, time_words

Record = Mapping[str, Any]
Told = tuple[str, str]

_SKIPPED = {
    "goal_met": "not needed, the goal is met",
    "not_needed": "not needed, what it is for is there already",
    "left_out": "left out by a person",
}
_CHOSEN = {
    "leave": "they are left as they are",
    "cancel": "the copying is cancelled",
    "unthrottled": "the throttles are removed, the copying goes on",
}


def told_of_run(record: Record) -> Told | None:  # noqa: C901, PLR0911, PLR0912 - one return a kind
    match record["type"]:
        case "run.start":
            taking_back = f", takes back {record['undoes']}" if record.get("undoes") else ""
            return f"run {record['run']}{taking_back}", "bold"
        case "run.resumed":
            return f"run {record['run']} goes on; {_done(record)}", "bold"
        case "facts.recheck":
            return f"{record['key']} was {record['was']}, is {record['is_']}", "red"
        case "gate.early":
            return f"an answer after {record['seconds']:.2f} s was not taken", "yellow"
        case "lock.lost":
            return f"the lock is lost: {record['scope']}", "red"
        case "invariant":
            return f"invariant broken: {record['check']}: {record['observed']}", "red"
        case "pause":
            until = f"until {clock_words(record['until'])} at most, {time_words(record['seconds_left'])}"
            return f"paused {until}: {record['why']}; Ctrl-C stops here", "yellow"
        case "pause.batch":
            return f"pause after this batch until {clock_words(record['until'])}, {record['seconds_left']} s", "dim"
        case "resume":
            return f"it holds again, the run goes on after {record['seconds']:g} s", "green"
        case "interrupted":
            return (
                f"interrupted while replicas are copied: {_CHOSEN.get(record['choice'], '')} ({record['why']})",
                "yellow",
            )
        case "limit.hit":
            return f"limit {record['limit']} is hit: {_numbers(record)}", "red"
        case "note":
            return f"note: {record['text']}", "yellow"
        case "run.end" if record.get("left"):
            return f"LEFT ON: {'; '.join(record['left'])}", "bold red"
    return None


def told_of_step(record: Record, what: str) -> Told | None:  # noqa: C901, PLR0911, PLR0912 - one return a kind
    match record["type"]:
        case "gate.answered" if record["passed"]:
            return f"approved ({record['answer']})", "green"
        case "step.intent":
            return what, "bold"
        case "step.result":
            return _result(record)
        case "step.probe":
            return f"looked at the cluster, did not ask again: {record['progress']}", "yellow"
        case "step.verified":
            return "took", "green"
        case "step.unproved":
            return f"did not take ({record['verdict']}): {record['text']}", "yellow"
        case "step.refused":
            return f"left, the others go on: {record['text']}", "yellow"
        case "step.skipped":
            return _SKIPPED.get(record["why"], str(record["why"])), "dim"
        case "step.waiting":
            until = f"until {clock_words(record['until'])} at most, {time_words(record['seconds_left'])}"
            return f"waits {until}, for: {what}", "bold"
        case "step.operator_did":
            return "done by hand, and seen to be there", "green"
        case "throttle.intent":
            return f"throttle to {rate_words(record['args']['rate'])}, asked for by {record['by']}", "bold"
        case "throttle.result":
            return (
                ("throttle changed", "green") if record["ok"] else (f"throttle not changed: {record['error']}", "red")
            )
        case "note":
            return f"note: {record['text']}", "yellow"
    return None


def _result(record: Record) -> Told:
    if record.get("adopted"):
        return "it had been made before the run was cut off", "green"
    if record["ok"]:
        return "accepted", ""
    if record["changed"] is None:
        return f"no answer ({record['error']}); it may or may not have happened", "red"
    return f"not done: {record['error']}", "yellow"


def _done(record: Record) -> str:
    done, unclear = record.get("done") or [], record.get("open") or []
    text = f"{len(done)} step{'' if len(done) == 1 else 's'} done before"
    return text + (f", not known of: {', '.join(unclear)}" if unclear else "")


def _numbers(record: Record) -> str:
    seen = next((f"{name} {record[name]}" for name in ("seconds", "moving") if name in record), "")
    return f"{seen}, {record['cap']:g} allowed"
