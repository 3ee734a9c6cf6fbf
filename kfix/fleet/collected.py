"""One cluster of a run: looked at, and written into it. Light to import: workers and Spark tasks need no more."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kfix.adapters.fleet.places import StoreLocation
from kfix.adapters.fleet.runs import read_document, write_snapshot
from kfix.errors import StoreError, UnreachableError, UsageError
from kfix.model.audit.inventory import ClusterEntry
from kfix.model.cluster.snapshot import Snapshot

Look = Callable[[ClusterEntry], Snapshot]


@dataclass(frozen=True, slots=True)
class CollectedCluster:
    """`taken_at` is seconds since the epoch, by the clock of whoever looked; `seconds` is the look, `storing` the rest.

    `silent` are sources of the look that did not answer: the cluster was collected, and not all of it was read.
    """

    name: str
    partitions: int
    brokers: int
    taken_at: float
    seconds: float
    storing: float = 0.0
    silent: tuple[str, ...] = ()


def look_and_store(entry: ClusterEntry, look: Look, run: StoreLocation) -> CollectedCluster:
    """KfixError where the cluster cannot be looked at or stored; StoreError where the store cannot be written."""
    return store_look(entry, look(entry), run)


def store_look(entry: ClusterEntry, snapshot: Snapshot, run: StoreLocation) -> CollectedCluster:
    began = time.monotonic()
    try:
        rows = write_snapshot(run, entry.name, snapshot)
    except UnreachableError as error:
        raise StoreError(str(error)) from None
    return CollectedCluster(
        name=entry.name,
        partitions=rows,
        brokers=len(snapshot.addresses),
        taken_at=snapshot.taken_at,
        seconds=snapshot.seconds,
        storing=round(time.monotonic() - began, 3),
        silent=tuple(s.name for s in snapshot.failed_sources),
    )


def stored_earlier(run: StoreLocation, cluster: str) -> CollectedCluster:
    """Of a cluster that an earlier attempt has written. UsageError where its document is damaged."""
    document = read_document(run, cluster)
    try:
        look = document["snapshot"]
        return CollectedCluster(
            name=cluster,
            partitions=int(document["partitions"]),
            brokers=len(look["addresses"]),
            taken_at=float(look["taken_at"]),
            seconds=float(look["seconds"]),
            silent=tuple(s["name"] for s in look["sources"] if not s["ok"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{run}: {cluster}: is damaged: {type(error).__name__} at {error}") from None
