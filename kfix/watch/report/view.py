"""A watch on a terminal, redrawn after every snapshot, and as lines of a log, written only on a change."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kfix.core.diagnosis.finding import Severity
from kfix.core.wording import ago
from kfix.diagnose.report.screen import screen_lines
from kfix.diagnose.report.table import STYLES
from kfix.front.lines import NARROWEST, Line, print_lines
from kfix.front.plain import PlainConsole
from kfix.watch.model import Turn, WatchState
from kfix.watch.report.words import (
    TIME,
    clock_text,
    cost_text,
    footer_lines,
    trouble_texts,
    turn_line,
    turn_lines,
    verdict_line,
)

#: The number of changes that stay on the screen, newest first.
_CHANGES_SHOWN: Final = 8


class WatchScreen:
    """Draws the state of a watch over the previous one."""

    def __init__(self, console: PlainConsole) -> None:
        self._console = console
        self._turns: deque[Turn] = deque(maxlen=_CHANGES_SHOWN)

    def show(self, state: WatchState) -> None:
        for turn in reversed(state.turns):
            self._turns.appendleft(turn)
        self._console.clear()
        print_lines(self._lines(state), self._console)

    def _lines(self, state: WatchState) -> Iterator[Line]:
        yield Line(
            f"{clock_text(state.at)} watching every {state.every:g} s, next in {state.next_in:.0f} s", style="dim"
        )
        if state.diagnosis is None:
            yield verdict_line(state)
            yield Line(state.error, 2, hang=2)
        else:
            if not state.confirmed:
                yield Line("to be confirmed by a second snapshot:", style="bold yellow")
            yield from screen_lines(state.diagnosis, max(self._console.width, NARROWEST))
        yield Line("")
        yield Line("changes:" if self._turns else f"no change in {ago(state.at - state.began)}", style="bold")
        yield from map(turn_line, self._turns)
        yield Line("")
        yield from footer_lines(state)


class WatchLog:
    """Writes lines only if something has changed, for a journal or a pipe."""

    def __init__(self, console: PlainConsole) -> None:
        self._console = console
        self._shown: tuple[str, ...] | None = None

    def show(self, state: WatchState) -> None:
        print_lines(self._lines(state), self._console)

    def _lines(self, state: WatchState) -> Iterator[Line]:
        at = clock_text(state.at)
        if self._shown is None:
            yield Line(f"{at} watching {state.name} every {state.every:g} s", hang=TIME)
            yield from (replace(line, indent=TIME) for line in footer_lines(state) if line.text != cost_text(state))
        for turn in state.turns:
            yield from turn_lines(turn, state)
        verdict = verdict_line(state)
        troubles = tuple(trouble_texts(state))
        # The time without an answer grows with every line; that alone is not a change.
        shown = (verdict.text if state.diagnosis is not None else state.name, *troubles)
        if shown != self._shown:
            yield Line(f"{at} {verdict.text}", style=verdict.style, hang=TIME)
            yield from (Line(f"{at} {text}", style=STYLES[Severity.WARNING], hang=TIME) for text in troubles)
        self._shown = shown
