"""A snapshot in a few lines: what each source answered, which servers each vantage reached, and the requests sent."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from kfix.core.derive.vantage import Reach, reach_of
from kfix.core.harmless import Lines, lines
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.snapshot import Snapshot, Vantage
from kfix.core.snapshot.traffic import Traffic
from kfix.core.wording import size_text
from kfix.front.lines import Line

# Which servers each vantage reached, side by side: a small table.

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


# The requests that a diagnosis sent (`--stats`): its cost for servers that are already in trouble.

_HEADS = ("connections", "requests", "sent", "received")


def traffic_lines(snapshot: Snapshot) -> Iterator[Line]:
    """Yields a table of the servers that were asked; empty for a saved snapshot."""
    if not snapshot.traffic:
        return
    names = _names(snapshot)
    rows = [(names.get(address, address), traffic) for address, traffic in snapshot.traffic.items()]
    rows.append(("in all", Traffic(*map(sum, zip(*snapshot.traffic.values(), strict=True)))))
    width = max(len("asked of"), *(len(name) for name, _ in rows))
    yield Line(f"{'asked of'.ljust(width)}{''.join(head.rjust(13) for head in _HEADS)}", verbatim=True)
    for name, traffic in rows:
        numbers = (
            str(traffic.connections),
            str(traffic.requests),
            size_text(traffic.sent),
            size_text(traffic.received),
        )
        yield Line(f"{name.ljust(width)}{''.join(number.rjust(13) for number in numbers)}", verbatim=True)


def _names(snapshot: Snapshot) -> dict[str, str]:
    brokers = {str(address): f"broker {broker}, {address}" for broker, address in snapshot.addresses.items()}
    return {node.address: f"ZooKeeper {node.address}" for node in snapshot.ensemble} | brokers


def described(snapshot: Snapshot) -> Lines:
    """A snapshot in a few lines: which cluster, when, and what each source answered or why it did not."""
    taken = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(snapshot.taken_at))
    zookeeper = snapshot.zookeeper
    seen_from = []
    for vantage in snapshot.vantages:
        seen_from.append(f"  seen from {vantage.name}: reaches {', '.join(vantage.reached) or 'none'}")
        seen_from += [f"    does not reach {who}: {why}" for who, why in vantage.unreached.items()]
    partitions = max((len(v.partitions) for v in snapshot.views.values()), default=0)
    rows = [
        f"cluster {snapshot.cluster.name} ({snapshot.cluster.mode.value}), taken {taken} by kfix {snapshot.kfix}",
        *seen_from,
        f"  brokers that responded: {', '.join(map(str, snapshot.views)) or 'none'}; partitions listed: {partitions}",
    ]
    if zookeeper is not None:
        registered = ", ".join(map(str, sorted(zookeeper.registrations)))
        rows.append(
            f"  ZooKeeper {zookeeper.server}: registered {registered or 'none'}; "
            f"controller {zookeeper.controller.broker}, epoch {zookeeper.controller.epoch}; "
            f"partition states {len(zookeeper.states)}"
        )
    if snapshot.quorum is not None:
        rows.append(_quorum(snapshot.quorum))
    answering = sum(p.answers for p in snapshot.probes)
    rows.append(
        f"  groups listed: {len(snapshot.groups)}; coordinators probed: {len(snapshot.probes)}, responding: {answering}"
    )
    rows += [
        f"  {'read  ' if s.ok else 'FAILED'} {s.name} {s.seconds:.2f} s  {s.error}".rstrip() for s in snapshot.sources
    ]
    return lines(*rows)


def _quorum(quorum: QuorumView) -> str:
    answered = ", ".join(f"{c.address}{' (active)' if c.active else ''}" for c in quorum.controllers if c.answered)
    active = (
        f"active controller {quorum.leader}, epoch {quorum.epoch}" if quorum.read else "no active controller answered"
    )
    through = f" through broker {quorum.through}" if quorum.through >= 0 else ""
    applied = ", ".join(f"{b} at {offset}" for b, offset in sorted(quorum.offsets.items()))
    return (
        f"  KRaft: {active}{through}; controllers that responded: {answered or 'none'}; "
        f"high watermark {quorum.high_watermark}; metadata of brokers: {applied or 'unknown'}"
    )
