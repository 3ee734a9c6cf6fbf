"""Resolves references such as `${finding.group}`. Alone they keep the value's type, inside text they become text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kfix.core.args import ArgValue
from kfix.core.snapshot.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.heal.model.runbook import RawValue

REF = re.compile(r"\$\{([a-z_][a-z_0-9.]*)\}")
Value = ArgValue | tuple[TopicPartition, ...] | tuple[str, ...] | TopicPartition


class UnknownReference(Exception):  # noqa: N818 - the planner turns it into a refusal that names the place
    """The name in `args[0]` is not known while planning."""


def names_in(value: object) -> Iterator[str]:
    """Yields every reference in a value, at any depth."""
    if isinstance(value, str):
        yield from REF.findall(value)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from names_in(item)


def resolve(value: RawValue, known: Mapping[str, Value]) -> Value | RawValue:
    if not isinstance(value, str):
        return value
    whole = REF.fullmatch(value)
    if whole is not None:
        return _lookup(whole[1], known)
    return REF.sub(lambda match: str(_lookup(match[1], known)), value)


def _lookup(name: str, known: Mapping[str, Value]) -> Value:
    if name not in known:
        raise UnknownReference(name)
    return known[name]


# What a `for_each` may go over, and what each item is called. The planner fills these in.

#: Source and the names of an item's parts; none: the item is a plain value. A partition has its `topic` beside.
ITEMS: Mapping[str, tuple[str, ...]] = {
    "finding.partitions": (),
    "placement.moves": ("partition", "replicas"),
    "placement.brokers": (),
    "placement.topics": ("name", "leaders", "followers"),
    "cluster.throttled": ("kind", "name"),
    "cluster.unpreferred": (),
    "cluster.nodes": ("role", "number", "others"),
    "saved.offsets": ("group", "topic", "offsets"),
    "logged.offsets": ("group", "topic", "offsets"),
}
#: The source that needs a file of saved offsets (`--offsets FILE`).
SAVED_OFFSETS = "saved.offsets"
PARTITIONS = frozenset({"finding.partitions", "cluster.unpreferred"})


def source_of(items: str) -> str:
    """Returns the name of the source that the `items` of a loop refer to: `finding.partitions`."""
    return items.removeprefix("${").removesuffix("}")
