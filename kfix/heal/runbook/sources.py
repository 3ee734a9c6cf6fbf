"""What a `for_each` may go over, and what each item is called. The planner fills these in."""

from __future__ import annotations

from collections.abc import Mapping

#: Source and the names of an item's parts; none: the item is a plain value. A partition has its `topic` beside.
ITEMS: Mapping[str, tuple[str, ...]] = {
    "finding.partitions": (),
    "placement.moves": ("partition", "replicas"),
    "placement.brokers": (),
    "placement.topics": ("name", "leaders", "followers"),
    "cluster.throttled": ("kind", "name"),
    "cluster.unpreferred": (),
    "saved.offsets": ("group", "topic", "offsets"),
    "logged.offsets": ("group", "topic", "offsets"),
}
#: The source that needs a file of saved offsets (`--offsets FILE`).
SAVED_OFFSETS = "saved.offsets"
PARTITIONS = frozenset({"finding.partitions", "cluster.unpreferred"})


def source_of(items: str) -> str:
    """Returns the name of the source that the `items` of a loop refer to: `finding.partitions`."""
    return items.removeprefix("${").removesuffix("}")
