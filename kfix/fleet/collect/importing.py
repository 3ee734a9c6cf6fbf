"""Puts snapshot files into a store: of clusters that the host of the store cannot reach.

A snapshot keeps the time at which it was taken: it becomes part of a run of that day. All files are checked before
anything is written, and what the store has is never replaced.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from kfix.core.errors import UsageError
from kfix.core.inventory.model import ClusterEntry, Inventory
from kfix.core.inventory.recorded import record_entry
from kfix.core.saved import files
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.wording import some
from kfix.fleet.collect.cluster import snapshot_facts, store_snapshot
from kfix.fleet.store.audits import audits
from kfix.fleet.store.places import StoreLocation, place_of
from kfix.fleet.store.runs import Run, is_complete, read_run
from kfix.fleet.store.staging import RunWriter
from kfix.fleet.store.storelock import locked

#: A snapshot belongs to a run if it was taken at most this many seconds before or after it (KFX705).
_NEAR: Final = 6 * 3600.0
#: The difference of clocks up to which a snapshot is not from the future.
_AHEAD: Final = 300.0
Named = Mapping[str, Snapshot]


@dataclass(frozen=True, slots=True)
class Imported:
    """A run, the clusters that were added to it, and those of the files that it had already."""

    run: Run
    added: tuple[str, ...]
    there: tuple[str, ...]


def import_files(
    place: str, given: Sequence[str], inventory: Inventory, *, run: str = "", day: date | None = None
) -> tuple[Imported, ...]:
    """Stores snapshot files, each given as FILE or NAME=FILE, and returns the runs, one for each day of the snapshots.

    Without a name a cluster has the one that the inventory, or the last audit of the store, has for its id. Without
    `run` a run gets a name of its content, so that a repeated import changes nothing; a complete run of the name `run`
    gets the clusters that it lacks. Raises UsageError for the first file that cannot be used, and HeldError if an audit
    uses this store.
    """
    if day is not None and not run:
        raise UsageError("--date needs --run", hint="without it each snapshot is put into a run of its own day")
    root = place_of(place)
    with locked(place, creates=True):
        by_day: dict[date, dict[str, Snapshot]] = {}
        known = names_by_id(root, inventory)
        for text in given:
            file, name, snapshot = _opened(text, known, inventory)
            of = by_day.setdefault(day or datetime.fromtimestamp(snapshot.taken_at, UTC).date(), {})
            if of.setdefault(name, snapshot) is not snapshot:
                raise UsageError(f"{file}: is a second snapshot of {name} for the same run", hint="give one of the two")
        plans = [_Plan(root, of, run or _named_by(found), found) for of, found in sorted(by_day.items())]
        return tuple(plan.done(inventory) for plan in plans)


def names_by_id(root: StoreLocation, inventory: Inventory) -> Mapping[str, str]:
    """Returns {cluster id: name} by the inventory, else by the last audit of the store."""
    last = audits(root, damaged=[])[-1:]
    known = {cluster_id: name for audit in last for name, cluster_id in audit.cluster_ids.items()}
    return known | {entry.id: name for name, entry in inventory.clusters.items() if entry.id}


def named_path(text: str) -> tuple[str, str]:
    """Returns the name, "" if none is given, and the path of `[NAME=]PATH`."""
    name, named, path = text.partition("=")
    return ("", text) if not named or Path(text).exists() else (name, path)


def name_of(cluster_id: str, name: str, path: str, known: Mapping[str, str], inventory: Inventory) -> str:
    """Returns the name of a cluster with this id; `name` is what the user gave.

    Raises UsageError if nothing knows a name, or if the inventory has another id for it.
    """
    if not name and cluster_id not in known:
        raise UsageError(f"{path}: the store has no name for cluster {cluster_id or 'without id'}", hint=f"NAME={path}")
    name = name or known[cluster_id]
    wanted = inventory.clusters.get(name, ClusterEntry(name)).id
    if wanted and cluster_id and wanted != cluster_id:
        raise UsageError(f"{path}: is of cluster {cluster_id}; {name} is {wanted} in the inventory")
    return name


def _opened(text: str, known: Mapping[str, str], inventory: Inventory) -> tuple[str, str, Snapshot]:
    """Returns (file, name of the cluster, snapshot)."""
    name, path = named_path(text)
    content = files.read_text(Path(path))
    if not files.is_snapshot(content):
        raise UsageError(f"{path}: is not a snapshot file", hint="kfix snapshot save FILE writes one")
    snapshot = replace(files.parse(content, Path(path)), origin="")
    name = name_of(snapshot.cluster.id, name, path, known, inventory)
    if snapshot.taken_at > time.time() + _AHEAD:
        raise UsageError(f"{path}: was taken at {_at(snapshot.taken_at)}, which has not come yet: a clock is wrong")
    return path, name, snapshot


def _named_by(found: Named) -> str:
    content = sorted((name, s.cluster.id, s.taken_at) for name, s in found.items())
    first = datetime.fromtimestamp(min(s.taken_at for s in found.values()), UTC)
    return f"{first:%H%M%S}-{hashlib.sha256(repr(content).encode()).hexdigest()[:6]}"


class _Plan:
    """What becomes of one run. Raises UsageError if a snapshot does not belong to it, or would replace one."""

    def __init__(self, root: StoreLocation, day: date, run: str, found: Named) -> None:
        self._complete = read_run(root, day, run) if is_complete(root, day, run) else None
        last = max(s.taken_at + s.seconds for s in found.values())
        complete = self._complete
        self._began = min(s.taken_at for s in found.values()) if complete is None else complete.began
        self._ended = last if complete is None else max(last, complete.ended)
        self._there = {name for name, s in found.items() if self._has(name, s)}
        self._new = {name: s for name, s in found.items() if name not in self._there}
        for name, snapshot in self._new.items():
            at = snapshot.taken_at
            if complete is not None and not complete.began - _NEAR <= at <= complete.ended + _NEAR:
                raise UsageError(f"{name}: was taken at {_at(at)}, and the run {run!r} began at {_at(complete.began)}")
        self._writer = RunWriter(root, day, run, at=self._began, to=self._complete) if self._new else None
        if self._writer is not None and (others := {*self._writer.there()} - self._new.keys()):
            raise UsageError(
                f"the run {run!r} of {day} is unfinished, with {some(sorted(others))}",
                hint=f"kfix fleet collect --run {run} ends it first",
            )

    def _has(self, name: str, snapshot: Snapshot) -> bool:
        """Whether the run has this snapshot already."""
        if self._complete is None or name not in self._complete.clusters:
            return False
        taken = self._complete.manifest.get("entries", {}).get(name, {}).get("taken_at")
        if taken != snapshot.taken_at:
            raise UsageError(
                f"the run {self._complete.id!r} of {self._complete.day} has {name} already, taken at "
                f"{_at(taken) if taken else 'another time'}: nothing is replaced",
                hint="choose another name with --run",
            )
        return True

    def done(self, inventory: Inventory) -> Imported:
        there = tuple(sorted(self._there))
        if self._writer is None:
            assert self._complete is not None
            return Imported(self._complete, (), there)
        self._writer.begin()
        entries: dict[str, Any] = {}
        for name, snapshot in sorted(self._new.items()):
            entry = inventory.clusters.get(name, ClusterEntry(name))
            entries[name] = {
                **record_entry(entry),
                **snapshot_facts(store_snapshot(entry, snapshot, self._writer.place)),
            }
        before: Mapping[str, Any] = {} if self._complete is None else self._complete.manifest
        failed = {n: why for n, why in before.get("failed", {}).items() if n not in entries}
        kept = {key: value for key, value in before.items() if key not in {"began", "kfix", "clusters", "failed"}}
        more = {**kept, "ended": self._ended, "entries": {**before.get("entries", {}), **entries}}
        more["imported"] = sorted({*before.get("imported", ()), *entries})
        return Imported(self._writer.finish(failed, **more), tuple(entries), there)


def _at(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC"
