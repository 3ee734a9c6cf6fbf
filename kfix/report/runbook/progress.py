"""How far the copying has come, on one line: written over itself on a terminal, told now and then in a pipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from kfix.actions.words import amount
from kfix.harmless import one_line
from kfix.report.console import overwrite, styled

# In a pipe nothing can be written over: a line a minute is enough for a copying of hours.
_PIPE_EVERY = 60.0


class ProgressLine:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = 0
        self._told_at = float("-inf")

    def show(self, seconds: float, record: Mapping[str, Any]) -> None:
        words = wait_words(record) if record["type"] == "wait" else progress_words(record)
        text = one_line(f"{seconds:7.2f} s  {words}")
        if self._console.file.isatty():
            text = text[: self._console.width - 1]
            overwrite(self._console, text, self._shown)
            self._shown = len(text)
        elif seconds - self._told_at >= _PIPE_EVERY:
            self._told_at = seconds
            self._console.print(styled(text, "dim"), soft_wrap=True)

    def clear(self) -> None:
        """Before anything else is told; a line that was never shown needs no clearing."""
        if self._shown:
            overwrite(self._console, "", self._shown)
            overwrite(self._console, "")
            self._shown = 0


def progress_words(record: Mapping[str, Any]) -> str:
    """A size, a rate or a time that nobody knows is said to be unknown, never guessed."""
    done, total, rate = record["bytes_done"], record["bytes_total"], record["bytes_per_second"]
    steps = record["steps"]
    name = steps[0] if len(steps) == 1 else f"{len(steps)} steps"
    if total is None:
        text = f"{name}: {amount(done)} copied of an unknown size"
    else:
        percent = f" ({100 * done // total} %)" if total else ""
        text = f"{name}: {amount(done)} of {amount(total)} copied{percent}"
    text += f", {rate_words(rate)}" if rate is not None else ""
    left = record["seconds_left"]
    text += f", {time_words(left)} left" if left is not None else ""
    return text + (f"; waits until {clock_words(record['until'])} at most" if record.get("until") else "")


def wait_words(record: Mapping[str, Any]) -> str:
    """The time first: a line that is too long for the terminal loses its end."""
    step = f"{record['step']}: " if record.get("step") else ""
    until = f"until {clock_words(record['until'])} at most, {time_words(record['seconds_left'])} left"
    return f"{step}waits {until}, for {record['check']}: {record['observed']}; wanted: {record['wanted']}"


def clock_words(time: str) -> str:
    """`2026-09-21T14:13:20.000Z` as `14:13:20 UTC`."""
    return f"{time.partition('T')[2][:8]} UTC"


def rate_words(rate: int) -> str:
    return f"{amount(rate)}/s"


def time_words(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
