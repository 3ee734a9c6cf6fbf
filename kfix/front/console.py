"""The console for reports on a terminal or pipe: rich, without any control characters from foreign text.

Every printed text is one line, whatever it contains, unless it is `Lines` or a `block`. Anything else, such as text
inside a renderable of rich, is escaped when rich converts it to segments.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from rich.box import Box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from kfix.core.harmless import Lines, for_terminal, one_line, shown
from kfix.front.plain import pipe_width
from kfix.front.terminal import beneath, discard_rest

#: Indentation of continuation lines, so that no part of a value is at the start of a line.
_HANG = 2


class Block(Text):
    """Several lines, created by `block`."""


class HarmlessConsole(Console):
    """A console that stops printing when the reader of a pipe is gone; rich would end the process, and so the run."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        discard_rest(self.file)

    def print(self, *objects: Any, **options: Any) -> None:
        made = [_harmless(each) for each in objects]
        if len(made) == 1 and type(made[0]) is Text and not options.get("soft_wrap"):
            made = [_hung(made[0], self, self.width)]
        super().print(*made, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(for_terminal(segment.text), segment.style)


class _FirstCell(Text):
    """A cell in the first column: continuation lines are indented."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        yield from Text.__rich_console__(_hung(self, console, options.max_width), console, options)


class HarmlessTable(Table):
    """A table whose cells are single lines, unless they are a `block`; in a pipe no line ends in blanks."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        first, *rest = map(_harmless, cells)
        super().add_row(_first(first), *rest, **options)

    def add_column(self, header: RenderableType = "", *more: Any, **options: Any) -> None:
        made = _harmless(header)
        super().add_column(made if self.columns else _first(made), *more, **options)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        made = super().__rich_console__(console, options)
        segments = (each for each in made if isinstance(each, Segment))
        yield from segments if console.is_terminal else _unpadded(segments)


def _unpadded(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yields segments without the blanks with which rich fills the lines of a table up to its width."""
    for line in Segment.split_lines(segments):
        while line and not line[-1].text.rstrip(" "):
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(" "), line[-1].style)
        yield from (*line, Segment.line())


def console_on(file: TextIO) -> HarmlessConsole:
    """Piped text is as wide as COLUMNS, or 120 columns."""
    file = beneath(file)
    width = None if file.isatty() else pipe_width()
    return HarmlessConsole(file=file, width=width, highlight=False, soft_wrap=False, emoji=False, markup=False)


def overwrite(console: Console, text: str, blanks: int = 0) -> None:
    """Overwrites the current line, bypassing rich, which does not support carriage returns."""
    console.file.write(f"\r{one_line(text).ljust(blanks)}")
    console.file.flush()


def table(box: Box | None = None, **options: Any) -> HarmlessTable:
    return HarmlessTable(box=box, pad_edge=False, **options)


def styled(text: str, style: str = "") -> Text:
    """Returns one line of text, or several for `Lines`."""
    return Block(shown(text), style) if isinstance(text, Lines) else Text(one_line(text), style)


def joined(*parts: tuple[str, str]) -> Text:
    """Returns one line that consists of (text, style) parts."""
    return Text.assemble(*((one_line(text), style) for text, style in parts))


def block(*rows: Text) -> Text:
    """Returns several lines, each created by `styled` or `joined`."""
    made = Block("")
    for number, row in enumerate(rows):
        if number:
            made.append("\n")
        made.append_text(row)
    return made


def _first(cell: Any) -> Any:
    return _FirstCell(cell.plain, cell.style, spans=cell.spans) if type(cell) is Text else cell


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return styled(value)
    if not isinstance(value, Text) or isinstance(value, Block):
        return value
    text = one_line(value.plain)
    if text == value.plain:
        return value
    places = [0]
    for character in value.plain:
        places.append(places[-1] + len(one_line(character)))
    made = Text(text, value.style, justify=value.justify, overflow=value.overflow, no_wrap=value.no_wrap, end=value.end)
    for span in value.spans:
        made.stylize(span.style, places[min(span.start, len(places) - 1)], places[min(span.end, len(places) - 1)])
    return made


def _hung(text: Text, console: Console, width: int) -> Text:
    """Wraps a line that is too long, with indented continuation lines."""
    if text.cell_len <= width or text.no_wrap or width <= _HANG:
        return text
    first, *rest = text.wrap(console, width - _HANG)
    return block(first, *(Text(" " * _HANG).append_text(row) for row in rest))
