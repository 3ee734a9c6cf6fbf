"""Notes on a pasted text: as which formats it was read, and which of its lines count for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.snapshot.pasted import PastedText
from kfix.core.wording import several


def text_notes(text: PastedText) -> Iterator[str]:
    """Yields a note where formats are mixed, and where lines were skipped or repeat others, with the first of them."""
    if len(text.formats) > 1:
        yield "read from the text: " + ", ".join(
            f"{several(count, 'line')} of {name}" for name, count in sorted(text.formats.items())
        )
    for tool, count in sorted(text.unused.items()):
        yield f"{several(count, 'line')} of {tool} in the text: it shows nothing that this diagnosis uses"
    if text.skipped:
        skipped = "1 line was" if text.skipped == 1 else f"{text.skipped} lines were"
        yield f"{skipped} skipped, of no format that kfix reads: {_first(text.skipped)}{text.first_skipped}"
    if text.repeated:
        repeated = "1 line repeats" if text.repeated == 1 else f"{text.repeated} lines repeat"
        yield f"{repeated} what an earlier line shows: {_first(text.repeated)}{text.first_repeated}"


def _first(count: int) -> str:
    return "" if count == 1 else "the first is "
