"""The format of a snapshot file, `kfix.snapshot/1`: the declaration of `Snapshot` (docs/snapshot-format.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kfix.core.derive.vantage import is_name
from kfix.core.documents.checked import ShapeError
from kfix.core.documents.declared import dumped, loaded, schema_of
from kfix.core.snapshot.snapshot import BrokerView, Snapshot

FORMAT = "kfix.snapshot"
VERSION = 1


def encode(snapshot: Snapshot) -> dict[str, Any]:
    """Returns the content of a file as JSON types."""
    return {"format": FORMAT, "version": VERSION, **dumped(replace(snapshot, views=_written_once(snapshot.views)))}


def decode(raw: str | bytes, origin: str) -> Snapshot:
    """Returns the snapshot in the content of a file. Raises NotJsonError or ShapeError."""
    found = loaded(Snapshot, raw)
    _check_ids("views", {b: view.broker for b, view in found.views.items()})
    registrations = {} if found.zookeeper is None else found.zookeeper.registrations
    _check_ids("zookeeper.registrations", {b: mark.broker for b, mark in registrations.items()})
    for vantage in found.vantages:
        if not is_name(vantage.name):
            raise ShapeError(f"vantages: {vantage.name[:60]!r} is not a vantage name (1 to 40 printable characters)")
    return replace(found, views=_shared(found.views), origin=origin)


def file_schema() -> dict[str, Any]:
    found = schema_of(Snapshot)
    head = {"format": {"const": FORMAT}, "version": {"const": VERSION}}
    whole = found["$defs"][Snapshot.__name__]
    whole |= {"properties": head | whole["properties"], "required": [*head, *whole["required"]]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:{FORMAT}:{VERSION}", **found}


def _check_ids(field: str, ids: Mapping[int, int]) -> None:
    for key, broker in ids.items():
        if broker != key:
            raise ShapeError(f"{field}.{key}.broker: wanted {key}, not {broker}")


def _written_once(views: Mapping[int, BrokerView]) -> dict[int, BrokerView]:
    """Returns the views with equal partitions written once: the other brokers name the broker that has them."""
    first: dict[int, int] = {}
    same: dict[int, Any] = {b: first.setdefault(id(view.partitions), b) for b, view in views.items()}
    return {b: view if same[b] == b else replace(view, partitions=same[b]) for b, view in views.items()}


def _shared(views: Mapping[int, BrokerView]) -> dict[int, BrokerView]:
    """Makes brokers with the same partitions share one mapping, as in a snapshot of a live cluster."""
    found = {b: view.partitions for b, view in views.items() if not isinstance(view.partitions, int)}
    named: dict[int, Any] = {b: view.partitions for b, view in views.items() if b not in found}
    for broker, other in named.items():
        if other not in found:
            raise ShapeError(f"views.{broker}.partitions: there is no view of broker {other} with partitions")
    return {b: replace(view, partitions=found[named[b]]) if b in named else view for b, view in views.items()}
