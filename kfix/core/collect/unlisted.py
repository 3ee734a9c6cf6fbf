"""Brokers that neither ZooKeeper nor the first brokers list, for example because of a network partition."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kfix.core.endpoint import parse_endpoint
from kfix.core.snapshot.snapshot import BrokerView, Endpoint, ZooKeeperView


def unlisted_brokers(
    view: ZooKeeperView | None,
    views: Iterable[BrokerView],
    remembered: Mapping[int, str],
    by_bootstrap: Mapping[int, Endpoint],
    asked: Mapping[int, Endpoint],
) -> dict[int, Endpoint]:
    """Returns {broker: possible address} from other brokers' metadata, bootstrap servers and earlier snapshots.

    Without ZooKeeper, only brokers that responded count: cluster membership is unknown.
    """
    if view is None:
        return _unasked(by_bootstrap, asked)
    listed = {b: e for each in views for b, e in each.alive.items()}
    known = {b: e for b, text in remembered.items() if (e := parse_endpoint(text)) is not None}
    found = _unasked({**known, **listed, **by_bootstrap}, asked)
    if not found.keys() & remembered.keys():
        return found
    # A remembered broker counts only while it has replicas.
    holders = {b for a in set(view.assignments.values()) for b in a.replicas}
    return {b: e for b, e in found.items() if b in holders or b not in remembered}


def _unasked(found: Mapping[int, Endpoint], asked: Mapping[int, Endpoint]) -> dict[int, Endpoint]:
    """Leaves out brokers that were read, and addresses that now belong to another broker."""
    taken: Collection[Endpoint] = set(asked.values())
    return {b: e for b, e in found.items() if b not in asked and e not in taken}
