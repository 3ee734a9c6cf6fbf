"""The table `partition_states` and what a failure needs of a cluster, by way of the document of a staged cluster."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kfix.core.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, partition_of_group
from kfix.core.failures.formulas import MIN_ISR, ORDER
from kfix.core.failures.masks import MOST_REPLICAS, UNJUDGED, ClusterStates
from kfix.core.failures.rules import NONE, UNREAD, PartitionMasks
from kfix.fleet.store.schema import FATE_STATE

_PLACES: Final = range(1, MOST_REPLICAS + 1)
_SINGLE: Final = ("replicas", "isr", "online", "leader", "believed", "unclean", "unclean_later", "elr")
_NOTHING: Final = dict.fromkeys((*_SINGLE, *map(ORDER.format, _PLACES)), NONE) | dict.fromkeys(
    map(MIN_ISR.format, _PLACES), UNREAD
)


def failures_of(states: ClusterStates | None) -> dict[str, Any] | None:
    """Returns the part of the document, as JSON types; None if no source shows which brokers are alive.

    `states` is None where they do not fit into the table: such a cluster is judged from its partitions.
    """
    if states is None:
        return None
    return {
        "bits": {str(b): bit for b, bit in sorted(states.bits.items())} if states.fits else {},
        "live": sorted(states.live),
        "controller_bit": states.controller_bit if states.fits else NONE,
        "elects_by_record": states.elects_by_record,
        "lacks": list(states.lacks),
        "states": [_values(state) for state in states.states] if states.fits else None,
    }


def _values(state: PartitionMasks) -> list[int]:
    """Returns the values of the columns from `factor` on."""
    more = MOST_REPLICAS - len(state.order)
    return [
        len(state.order),
        *(getattr(state, name) for name in _SINGLE),
        *state.order,
        *(NONE,) * more,
        *state.min_isr,
        *(UNREAD,) * more,
    ]


def counted_states(table: Any) -> dict[str, Any]:
    """Returns, of all partitions of a cluster, what the rows of `partition_states` need, as JSON types."""
    topic = pc.cast(table["topic"], pa.string())
    offsets, transactions = (pc.equal(topic, name) for name in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC))
    one = pa.table(
        {
            "state": table[FATE_STATE],
            "offsets": pc.cast(offsets, pa.int64()),
            "transactions": pc.cast(transactions, pa.int64()),
        }
    )
    sums = one.group_by("state", use_threads=False).aggregate(
        [("state", "count"), ("offsets", "sum"), ("transactions", "sum")]
    )
    columns = (sums.column(name).to_pylist() for name in ("state", "state_count", "offsets_sum", "transactions_sum"))
    of = table.filter(offsets)
    at = zip(of["partition"].to_pylist(), of[FATE_STATE].to_pylist(), strict=True)
    return {
        "by_state": {str(state): counts for state, *counts in zip(*columns, strict=True) if state is not None},
        "offsets_states": {str(partition): state for partition, state in at if state is not None},
    }


def state_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the rows of a cluster; none if its states do not fit, or nothing can be judged."""
    failures = document["failures"]
    if failures is None or failures["states"] is None:
        return
    groups = _groups(document)
    for number, (partitions, offsets, transactions) in sorted((int(n), c) for n, c in document["by_state"].items()):
        values = [0, *_NOTHING.values()] if number == UNJUDGED else failures["states"][number]
        yield {
            "cluster": document["cluster"],
            "state": number,
            "partitions": partitions,
            "offsets": offsets,
            "transactions": transactions,
            "groups": groups[number],
            "judged": number != UNJUDGED,
            **dict(zip(("factor", *_NOTHING), values, strict=True)),
        }


def _groups(document: Mapping[str, Any]) -> Counter[int]:
    """Returns the number of groups, known by name, whose partition of the offsets topic has a state."""
    snapshot = document["snapshot"]
    offsets = document["by_topic"].get(OFFSETS_TOPIC)
    names = {group["name"] for group in snapshot["groups"]} | {*snapshot["memory"]["groups"]}
    names |= {probe["group"] for probe in snapshot["probes"]}
    at = document["offsets_states"]
    found = Counter[int]()
    for name in names if offsets else ():
        state = at.get(str(partition_of_group(name, offsets[0])))
        if state is not None:
            found[state] += 1
    return found
