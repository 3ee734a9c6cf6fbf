"""The progress of copying on one line: rewritten in place on a terminal, printed once a minute in a pipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from kfix.core.harmless import one_line
from kfix.core.wording import known_size, rate_text
from kfix.front.console import overwrite, styled

# A pipe cannot be overwritten: a line a minute (seconds) is enough for hours of copying.
_PIPE_EVERY = 60.0


class ProgressLine:
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
