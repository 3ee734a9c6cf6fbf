"""Puts journal records and the progress of copying into words, each with the style of its line."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from kfix.core.harmless import one_line
from kfix.core.wording import known_size, rate_text, several
from kfix.front.console import overwrite, styled

# A pipe cannot be overwritten: a line a minute (seconds) is enough for hours of copying.
_PIPE_EVERY = 60.0


class ProgressLine:
    """The progress of copying on one line: rewritten in place on a terminal, printed once a minute in a pipe."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = 0
        self._reported_at = float("-inf")

    def show(self, seconds: float, record: Mapping[str, Any]) -> None:
        words = wait_words(record) if record["type"] == "wait" else progress_words(record)
        text = one_line(f"{seconds:7.2f} s  {words}")
        if self._console.file.isatty():
            text = text[: self._console.width - 1]
            overwrite(self._console, text, self._shown)
            self._shown = len(text)
        elif seconds - self._reported_at >= _PIPE_EVERY:
            self._reported_at = seconds
            self._console.print(styled(text, "dim"), soft_wrap=True)

    def clear(self) -> None:
        """Erases the line before other output; a line that was never shown needs no clearing."""
        if self._shown:
            overwrite(self._console, "", self._shown)
            overwrite(self._console, "")
            self._shown = 0


def progress_words(record: Mapping[str, Any]) -> str:
    """Describes the progress of copying. An unknown size is shown as unknown; an unknown rate or time is left out."""
    done, total, rate = record["bytes_done"], record["bytes_total"], record["bytes_per_second"]
    steps = record["steps"]
    name = steps[0] if len(steps) == 1 else f"{len(steps)} steps"
    if total is None:
        text = f"{name}: {known_size(done)} copied of an unknown size"
    else:
        percent = f" ({100 * done // total} %)" if total else ""
        text = f"{name}: {known_size(done)} of {known_size(total)} copied{percent}"
    text += f", {rate_text(rate)}" if rate is not None else ""
    left = record["seconds_left"]
    text += f", {time_words(left)} left" if left is not None else ""
    return text + (f"; waiting until {clock_words(record['until'])} at the latest" if record.get("until") else "")


def wait_words(record: Mapping[str, Any]) -> str:
    """Describes a wait. The time comes first, because a line too long for the terminal loses its end."""
    step = f"{record['step']}: " if record.get("step") else ""
    until = f"until {clock_words(record['until'])} at the latest ({time_words(record['seconds_left'])} left)"
    return f"{step}waiting {until} for {record['check']}: {record['observed']}; expected: {record['wanted']}"


def clock_words(time: str) -> str:
    """Formats `2026-09-21T14:13:20.000Z` as `14:13:20 UTC`."""
    return f"{time.partition('T')[2][:8]} UTC"


def time_words(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


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
