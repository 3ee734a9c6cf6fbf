"""Replica placement: round robin over the brokers, neighbours in different racks if the racks allow it."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kfix.lab.definition.state import BrokerDef


def ids_by_rack(brokers: Iterable[BrokerDef]) -> tuple[int, ...]:
    racks: dict[str | None, list[int]] = {}
    for broker in brokers:
        if not broker.retired:
            racks.setdefault(broker.rack, []).append(broker.id)
    return tuple(each for each in chain.from_iterable(zip_longest(*racks.values())) if each is not None)


def spread(ids: Sequence[int], partitions: int, replicas: int) -> list[list[int]]:
    return [[ids[(number + step) % len(ids)] for step in range(replicas)] for number in range(partitions)]
