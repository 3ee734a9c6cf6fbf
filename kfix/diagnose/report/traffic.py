"""The requests that a diagnosis sent (`--stats`): its cost for servers that are already in trouble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.snapshot.traffic import Traffic
from kfix.core.wording import size_text
from kfix.front.lines import Line

_HEADS = ("connections", "requests", "sent", "received")


def traffic_lines(snapshot: Snapshot) -> Iterator[Line]:
    """Yields a table of the servers that were asked; empty for a saved snapshot."""
    if not snapshot.traffic:
        return
    names = _names(snapshot)
    rows = [(names.get(address, address), traffic) for address, traffic in snapshot.traffic.items()]
    rows.append(("in all", _total(snapshot.traffic)))
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


def _total(traffic: Mapping[str, Traffic]) -> Traffic:
    return Traffic(*(sum(numbers) for numbers in zip(*traffic.values(), strict=True)))
