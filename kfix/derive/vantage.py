"""Whom one place reached, and several places side by side: a cut lies between those who differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kfix.model.cluster.snapshot import Snapshot, Vantage, ZooKeeperNode

LONGEST_NAME = 40
_NOTHING: Mapping[str, str] = MappingProxyType({})
_NUMBER = re.compile(r"([0-9]{1,18})")


def is_name(text: str) -> bool:
    """Short and printable, so that it fits a column and a terminal."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()


def as_name(text: str) -> str:
    """The nearest name to any text, such as a file's or a host's."""
    printable = "".join(c for c in text if c.isprintable()).strip()
    return printable[:LONGEST_NAME].strip() or "unnamed"


def broker_called(broker: int) -> str:
    return f"broker {broker}"


def server_called(address: str) -> str:
    return f"zookeeper {address}"


def has_answered(node: ZooKeeperNode) -> bool:
    """One without a quorum answers too, and so does one where `srvr` is switched off."""
    return bool(node.mode) or node.refuses


def vantage_of(snapshot: Snapshot, name: str, tried: Mapping[str, str] = _NOTHING) -> Vantage:
    """By what the look itself says. `tried` is who else was asked in vain, with the error: a look forgets its dead."""
    reached = [broker_called(b) for b in sorted(snapshot.views) if b >= 0]
    reached += [server_called(n.address) for n in snapshot.ensemble if has_answered(n)]
    missed = dict(tried) | {broker_called(b): why for b, why in snapshot.silent.items()}
    missed |= {server_called(n.address): n.error for n in snapshot.ensemble if not has_answered(n)}
    unreached = {who: plain(who, why) for who, why in sorted(missed.items(), key=lambda i: in_order(i[0]))}
    return Vantage(name, snapshot.taken_at, tuple(reached), {w: e for w, e in unreached.items() if w not in reached})


def plain(who: str, why: str) -> str:
    """The error without the name that stands beside it anyway."""
    text = why.removeprefix(f"{who}: ").strip()
    address, _, rest = text.partition(": ")
    return (rest if rest and re.fullmatch(r"\S+:\d+", address) else text) or "no answer"


def in_order(who: str) -> tuple[int, list[str | int]]:
    """Brokers by their number, then ZooKeeper servers, then addresses of nobody knows whom."""
    kind = 0 if who.startswith("broker ") else 1 if who.startswith("zookeeper ") else 2
    return kind, [int(part) if i % 2 else part for i, part in enumerate(_NUMBER.split(who))]


@dataclass(frozen=True, slots=True)
class Reach:
    """`cells` of one place by who was asked: True reached, False not, None where it was not asked from there."""

    vantage: Vantage
    cells: Mapping[str, bool | None]


def reach_of(vantages: Iterable[Vantage]) -> tuple[Reach, ...]:
    """One row a place, the same columns in each."""
    rows = tuple(vantages)
    asked = sorted({who for v in rows for who in (*v.reached, *v.unreached)}, key=in_order)
    return tuple(
        Reach(v, {who: True if who in v.reached else False if who in v.unreached else None for who in asked})
        for v in rows
    )
