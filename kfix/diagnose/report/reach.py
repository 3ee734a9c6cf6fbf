"""Which servers each vantage reached, side by side: a small table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from kfix.core.derive.vantage import Reach, reach_of
from kfix.core.snapshot.snapshot import Vantage
from kfix.front.lines import Line

WIDEST = 78
#: With more columns than this, the table has only the servers that some vantage did not reach.
MOST_COLUMNS = 12
_WORDS = {True: "yes", False: "no", None: "?"}


def reach_lines(vantages: Sequence[Vantage]) -> Iterator[Line]:
    """Yields the table; nothing for fewer than two vantages."""
    rows = reach_of(vantages)
    if len(rows) < 2:
        return
    servers = list(rows[0].cells)
    shown = servers
    if len(servers) > MOST_COLUMNS:
        shown = [who for who in servers if not all(row.cells[who] for row in rows)]
    yield Line("")
    yield Line("reached from (yes, no, ? not asked):", style="bold")
    for kind, columns in _kinds(shown).items():
        for block in _blocks(rows, columns):
            for text in _table(rows, kind, block):
                yield Line(text, 2, verbatim=True)
    if len(shown) < len(servers):
        yield Line(f"every vantage reached {'the other' if shown else 'all'} {len(servers) - len(shown)}", 2)


def _kinds(columns: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Returns {broker, zookeeper or address: (server that was asked, name of its column)}."""
    found: dict[str, list[tuple[str, str]]] = {}
    for who in columns:
        kind, _, name = who.rpartition(" ")
        found.setdefault(kind or "address", []).append((who, name))
    return found


def _blocks(rows: Sequence[Reach], columns: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yields as many columns side by side as fit, at least one."""
    first = _first_width(rows)
    block: list[tuple[str, str]] = []
    for column in columns:
        if block and first + sum(max(len(name), 3) + 2 for _, name in (*block, column)) > WIDEST:
            yield block
            block = []
        block.append(column)
    if block:
        yield block


def _table(rows: Sequence[Reach], kind: str, block: Sequence[tuple[str, str]]) -> Iterator[str]:
    first = _first_width(rows)
    yield "  ".join((kind.ljust(first), *(name.ljust(3) for _, name in block))).rstrip()
    for row in rows:
        cells = (_WORDS[row.cells[who]].ljust(max(len(name), 3)) for who, name in block)
        yield "  ".join((_row_name(row).ljust(first), *cells)).rstrip()


def _first_width(rows: Sequence[Reach]) -> int:
    return max(len("zookeeper"), *(len(_row_name(row)) for row in rows))


def _row_name(row: Reach) -> str:
    at = datetime.fromtimestamp(row.vantage.taken_at, UTC).strftime("%H:%M:%SZ")
    return f"{row.vantage.name} ({at})"
