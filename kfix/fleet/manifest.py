"""Writes the manifest that completes a collection run: the result of every cluster and its inventory entry."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from typing import Any

from kfix.core.errors import StoreError, UnreachableError
from kfix.core.inventory.load import Loaded
from kfix.core.inventory.recorded import record_entry, record_mute
from kfix.fleet.collected import CollectedCluster, stored_earlier
from kfix.fleet.pool import Done
from kfix.fleet.store.runs import Run
from kfix.fleet.store.staging import RunWriter


def finish_run(
    writer: RunWriter,
    loaded: Loaded,
    done: Iterable[Done[CollectedCluster]],
    **more: Any,
) -> Run:
    """Writes the manifest, which completes the run. `loaded` is the inventory, or the chosen part of it.

    A cluster whose files exist counts as collected, whichever attempt wrote them; any other has failed, with a reason.
    The manifest holds `entries` (by name: the inventory entry, and `seconds`, `taken_at`, `silent` of the snapshot),
    `mutes`, `inventory` (origin, sha256), `host`, `python`, and the fields of `more`. Raises StoreError if it cannot be
    written.
    """
    became = {d.name: d for d in done}
    there = {n: c.result if (c := became.get(n)) and c.result else None for n in writer.there()}
    found = {n: known or stored_earlier(writer.place, n) for n, known in there.items()}
    clusters = loaded.inventory.clusters
    failed = {n: _why(became.get(n)) for n in clusters if n not in found}
    entries: dict[str, dict[str, Any]] = {n: record_entry(e) for n, e in clusters.items()}
    for name, one in found.items():
        entries.setdefault(name, {}).update(snapshot_facts(one))
    for name in failed:
        entries[name]["seconds"] = round(became[name].seconds, 3) if name in became else 0.0
    try:
        return writer.finish(
            failed,
            entries=entries,
            mutes=[record_mute(m) for m in loaded.inventory.mutes],
            inventory={"origin": loaded.inventory.origin, "sha256": loaded.sha256},
            host=platform.node(),
            python=platform.python_version(),
            **more,
        )
    except UnreachableError as error:
        raise StoreError(str(error)) from None


def _why(done: Done[CollectedCluster] | None) -> str:
    return "was not read" if done is None else done.error or "no result was returned"


def snapshot_facts(one: CollectedCluster) -> Mapping[str, Any]:
    return {
        "taken_at": one.taken_at,
        "seconds": one.seconds,
        "storing": one.storing,
        "brokers": one.brokers,
        "silent": list(one.silent),
    }
