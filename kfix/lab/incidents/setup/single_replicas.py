"""Internal topics with replication factor 1: where the single replicas are, and which broker dies."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kfix.core.errors import UsageError
from kfix.lab.incidents.setup.context import IncidentContext

OPTIONS = {
    "brokers": "where the single replicas go, like 1,2",
    "kill": "which broker dies, or no (default: the one with most of them, preferably not the controller)",
}


def chosen_brokers(context: IncidentContext) -> tuple[int, ...]:
    chosen = context.ints_option("brokers")
    unknown = [broker for broker in chosen if broker not in context.ids()]
    if unknown:
        raise UsageError(f"option brokers: no broker {unknown[0]}", hint=f"brokers: {list(context.ids())}")
    return chosen


def victim(context: IncidentContext, holders: Mapping[Any, int]) -> int | None:
    """`holders` is {partition: broker}. Returns None if no broker is to die."""
    if context.options.get("kill") == "no":
        return None
    wanted = context.int_option("kill")
    if wanted is not None and wanted not in holders.values():
        raise UsageError(
            f"option kill={wanted}: has none of the partitions", hint=f"these do: {sorted(set(holders.values()))}"
        )
    controller = context.access.controller()
    counts = Counter(holders.values())
    # Preferably not the controller: its failover takes longer and is another incident.
    return wanted if wanted is not None else max(counts, key=lambda broker: (broker != controller, counts[broker]))
