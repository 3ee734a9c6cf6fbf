"""Brokers that neither ZooKeeper nor the first brokers told of: a cut hides them from the rest, not from us."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kfix.adapters.endpoint import parse_endpoint
from kfix.model.cluster.snapshot import BrokerView, Endpoint, ZooKeeperView


def strangers(
    view: ZooKeeperView | None,
    views: Iterable[BrokerView],
    remembered: Mapping[int, str],
    by_bootstrap: Mapping[int, Endpoint],
    asked: Mapping[int, Endpoint],
) -> dict[int, Endpoint]:
    """{broker: where it may be}, by the others' views, a bootstrap address, or what is remembered.

    Without ZooKeeper only a broker that has answered itself counts: nobody tells who belongs to the cluster.
    """
    if view is None:
        return _unasked(by_bootstrap, asked)
    told = {b: e for each in views for b, e in each.alive.items()}
    known = {b: e for b, text in remembered.items() if (e := parse_endpoint(text)) is not None}
    found = _unasked({**known, **told, **by_bootstrap}, asked)
    if not found.keys() & remembered.keys():
        return found
    # Who is remembered counts while it holds replicas.
    holders = {b for a in set(view.assignments.values()) for b in a.replicas}
    return {b: e for b, e in found.items() if b in holders or b not in remembered}


def _unasked(found: Mapping[int, Endpoint], asked: Mapping[int, Endpoint]) -> dict[int, Endpoint]:
    """An address that another broker has by now is no way to the one that had it."""
    taken: Collection[Endpoint] = set(asked.values())
    return {b: e for b, e in found.items() if b not in asked and e not in taken}
