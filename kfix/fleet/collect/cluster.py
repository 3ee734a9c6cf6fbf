"""Reads one cluster and writes it into a run."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kfix.core.errors import StoreError, UnreachableError, UsageError
from kfix.core.inventory.model import ClusterEntry
from kfix.core.snapshot.snapshot import Snapshot
from kfix.diagnose.snapshots import read_entry
from kfix.fleet.store.places import StoreLocation, place_of
from kfix.fleet.store.staging import read_document, write_snapshot

#: Reads the cluster of an entry; raises KfixError if it cannot.
TakeSnapshot = Callable[[ClusterEntry], Snapshot]


@dataclass(frozen=True, slots=True)
class CollectedCluster:
    """One collected cluster.

    `taken_at` is in seconds since the epoch, by the clock of the host that read the cluster. `seconds` is the time
    that reading took, `storing` the time that writing took. `silent` are the sources that did not answer: the cluster
    counts as collected, although it was read in part.
    """

    name: str
    partitions: int
    brokers: int
    taken_at: float
    seconds: float
    storing: float = 0.0
    silent: tuple[str, ...] = ()


def collect_and_store(entry: ClusterEntry, take: TakeSnapshot, run: StoreLocation) -> CollectedCluster:
    """Reads a cluster and writes it into the run.

    Raises KfixError if the cluster cannot be read, StoreError if the store cannot be written.
    """
    return store_snapshot(entry, take(entry), run)


def collect_one(entry: ClusterEntry, run: str, *, remember: bool = False) -> CollectedCluster:
    """Reads one cluster into the run at this path or URL; Spark's tasks call this.

    Unless `remember` is set, nothing is noted in the state folder: a worker's home is not the operator's. Raises as
    `collect_and_store`.
    """
    return collect_and_store(entry, partial(read_entry, remember=remember), place_of(run))


def store_snapshot(entry: ClusterEntry, snapshot: Snapshot, run: StoreLocation) -> CollectedCluster:
    """Writes a snapshot into the run. Raises StoreError if the store cannot be written."""
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
    """Returns a cluster that an earlier attempt has written. Raises UsageError if its document is damaged."""
    document = read_document(run, cluster)
    try:
        snapshot = document["snapshot"]
        return CollectedCluster(
            name=cluster,
            partitions=int(document["partitions"]),
            brokers=len(snapshot["addresses"]),
            taken_at=float(snapshot["taken_at"]),
            seconds=float(snapshot["seconds"]),
            silent=tuple(s["name"] for s in snapshot["sources"] if not s["ok"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{run}: {cluster}: is damaged: {type(error).__name__} at {error}") from None


def snapshot_facts(one: CollectedCluster) -> Mapping[str, Any]:
    """Returns what a manifest notes of a collected cluster."""
    return {
        "taken_at": one.taken_at,
        "seconds": one.seconds,
        "storing": one.storing,
        "brokers": one.brokers,
        "silent": list(one.silent),
    }
