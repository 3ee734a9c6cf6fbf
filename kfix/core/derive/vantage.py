"""Which servers one vantage reached, and several vantages side by side: a cut lies between those that differ."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import BrokerView, PartitionView, Snapshot, TopicPartition, Vantage, ZooKeeperNode

# What the views of several brokers have in common: brokers with the same metadata share one mapping of partitions.


def offsets_partitions(partitions: Collection[TopicPartition]) -> int:
    return sum(1 for tp in partitions if tp.topic == OFFSETS_TOPIC)


def topics_of(views: Mapping[int, BrokerView]) -> frozenset[str]:
    return frozenset(tp.topic for partitions in distinct(views)[0] for tp in partitions)


def distinct(
    views: Mapping[int, BrokerView],
) -> tuple[list[Mapping[TopicPartition, PartitionView]], list[frozenset[int]]]:
    """Returns the different mappings of partitions, and the brokers that have each: most share one."""
    found: dict[int, tuple[Mapping[TopicPartition, PartitionView], set[int]]] = {}
    for broker, view in views.items():
        found.setdefault(id(view.partitions), (view.partitions, set()))[1].add(broker)
    return [partitions for partitions, _ in found.values()], [frozenset(brokers) for _, brokers in found.values()]


LONGEST_NAME = 40
_NOTHING: Mapping[str, str] = MappingProxyType({})
_NUMBER = re.compile(r"([0-9]{1,18})")


def is_name(text: str) -> bool:
    """Returns whether a name is short and printable, so that it fits a column and a terminal."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()


def as_name(text: str) -> str:
    """Returns a valid name made from any text, such as a file name or a host name."""
    printable = "".join(c for c in text if c.isprintable()).strip()
    return printable[:LONGEST_NAME].strip() or "unnamed"


def broker_called(broker: int) -> str:
    return f"broker {broker}"


def server_called(address: str) -> str:
    return f"zookeeper {address}"


def has_answered(node: ZooKeeperNode) -> bool:
    """Returns whether it responded, as a server without a quorum or with `srvr` disabled does too."""
    return bool(node.mode) or node.refuses


def vantage_of(snapshot: Snapshot, name: str, tried: Mapping[str, str] = _NOTHING) -> Vantage:
    """Returns the vantage of a snapshot. `tried` adds servers that did not respond, with the error."""
    reached = [broker_called(b) for b in sorted(snapshot.views) if b >= 0]
    reached += [server_called(n.address) for n in snapshot.ensemble if has_answered(n)]
    missed = dict(tried) | {broker_called(b): why for b, why in snapshot.silent.items()}
    missed |= {server_called(n.address): n.error for n in snapshot.ensemble if not has_answered(n)}
    unreached = {who: plain(who, why) for who, why in sorted(missed.items(), key=lambda i: in_order(i[0]))}
    return Vantage(name, snapshot.taken_at, tuple(reached), {w: e for w, e in unreached.items() if w not in reached})


def plain(who: str, why: str) -> str:
    """Returns the error without the name of the server, which is shown beside it."""
    text = why.removeprefix(f"{who}: ").strip()
    address, _, rest = text.partition(": ")
    return (rest if rest and re.fullmatch(r"\S+:\d+", address) else text) or "no answer"


def in_order(who: str) -> tuple[int, list[str | int]]:
    """Returns a sort key: brokers by number, then ZooKeeper servers, then unidentified addresses."""
    kind = 0 if who.startswith("broker ") else 1 if who.startswith("zookeeper ") else 2
    return kind, [int(part) if i % 2 else part for i, part in enumerate(_NUMBER.split(who))]


@dataclass(frozen=True, slots=True)
class Reach:
    """One row: `cells` by server, True if it was reached, False if not, None if it was not asked from there."""

    vantage: Vantage
    cells: Mapping[str, bool | None]


def reach_of(vantages: Iterable[Vantage]) -> tuple[Reach, ...]:
    """Returns one row per vantage, with the same columns in each."""
    rows = tuple(vantages)
    servers = sorted({who for v in rows for who in (*v.reached, *v.unreached)}, key=in_order)
    return tuple(
        Reach(v, {who: True if who in v.reached else False if who in v.unreached else None for who in servers})
        for v in rows
    )
