"""Snapshots of clusters: taken from live brokers, read from files, merged from several places."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kfix.core.collect.options import CollectOptions
from kfix.core.contexts.pins import refuse_another
from kfix.core.errors import UsageError
from kfix.core.places import state_home
from kfix.core.saved import files
from kfix.core.saved.files import encode
from kfix.core.saved.store import SnapshotStore
from kfix.core.snapshot.snapshot import Sample, Snapshot
from kfix.core.target import Target, make_target
from kfix.front.text import utf8

if TYPE_CHECKING:
    from kfix.core.inventory.model import ClusterEntry

__all__ = [
    "Target",
    "load_merged",
    "load_snapshot",
    "make_target",
    "read_cluster",
    "read_entry",
    "read_noting",
    "save_snapshot",
    "snapshot_dict",
]


def _collect(target: Target, options: CollectOptions) -> Snapshot:
    from kfix.core.collect.collector import collect  # noqa: PLC0415 - a file needs no wire protocol

    return collect(target, options)


def read_cluster(
    target: Target,
    *,
    groups: tuple[str, ...] = (),
    keep: bool = True,
    vantage: str = "",
    every_log_end: bool = False,
    before: Sample | None = None,
    fleet_facts: bool = False,
) -> Snapshot:
    """Returns a snapshot of a live cluster; the options are those of `CollectOptions`.

    With `keep`, it is stored for later runs. Raises UnreachableError if no server responds, RefusedError if the cluster
    that answers is not the one that its name stands for.
    """
    store = SnapshotStore(state_folder())
    options = CollectOptions(_names(groups), vantage, every_log_end, before, fleet_facts, store.recall)
    snapshot = _collect(target, options)
    if target.name:
        refuse_another(target, snapshot, state_folder(), pin=keep)
    if keep:
        store.keep(snapshot)
    return replace(snapshot, not_kept=store.trouble) if store.trouble else snapshot


def _names(groups: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(utf8("--group", group) for group in groups)


def read_noting(
    target: Target, groups: tuple[str, ...] = (), *, pin: bool = True, fleet_facts: bool = False
) -> Snapshot:
    """Returns a snapshot of a live cluster, and stores only the names of groups and brokers for later runs.

    With `pin`, the first use of a name stores the cluster's id. Raises as `read_cluster` does.
    """
    store = SnapshotStore(state_folder())
    snapshot = _collect(target, CollectOptions(_names(groups), fleet_facts=fleet_facts, recall=store.recall))
    if target.name:
        refuse_another(target, snapshot, state_folder(), pin=pin)
    store.note(snapshot)
    return replace(snapshot, not_kept=store.trouble) if store.trouble else snapshot


def state_folder() -> Path | None:
    """Returns the state folder, or None if there is none: a snapshot does not need it."""
    try:
        return state_home(os.environ)
    except UsageError:
        return None


def load_snapshot(path: Path) -> Snapshot:
    """Returns the snapshot in a file, or one from pasted text or a folder of logs (`diagnose/pasted`).

    Raises UsageError if it cannot be read. Imports are local so that each command loads only what it uses.
    """
    if path.is_dir():
        from kfix.diagnose.pasted.folder import parse_folder  # noqa: PLC0415

        return parse_folder(path, files.shown(path))
    text = files.read_text(path)
    if files.is_snapshot(text):
        return files.parse(text, path)
    from kfix.diagnose.pasted.reader import parse_pasted  # noqa: PLC0415

    written = time.time() if path == files.STANDARD_INPUT else path.stat().st_mtime
    return parse_pasted(text, files.shown(path), written)


def load_merged(paths: Sequence[Path], warn: Callable[[str], None] = lambda _: None) -> Snapshot:
    """Returns one snapshot merged from several places (`core.derive.merging`); a single file is returned unchanged.

    `warn` receives the assumptions of the merge. Raises UsageError if the files do not fit together.
    """
    if len(paths) == 1:
        return load_snapshot(paths[0])
    from kfix.core.derive.merging.merge import merge  # noqa: PLC0415
    from kfix.core.derive.merging.snapshots import taken_on_trust  # noqa: PLC0415

    if paths.count(files.STANDARD_INPUT) > 1:
        raise UsageError("--from -: standard input can be read once", hint="name a file for each other snapshot")
    snapshots = [_load_for_merge(path) for path in paths]
    merged = merge(snapshots)
    for sentence in taken_on_trust(snapshots):
        warn(sentence)
    return merged


def _load_for_merge(path: Path) -> Snapshot:
    text = files.read_text(path)
    if not files.is_snapshot(text):
        raise UsageError(
            f"{path}: is not a snapshot; text names neither its cluster nor its vantage, so it cannot be merged",
            hint="give it alone, or take a snapshot there: kfix snapshot save --vantage NAME FILE",
        )
    return files.parse(text, path)


def save_snapshot(snapshot: Snapshot, path: Path) -> int:
    """Writes a snapshot, gzipped if the name ends in .gz, and returns the number of bytes."""
    return files.save(snapshot, path)


def snapshot_dict(snapshot: Snapshot) -> dict[str, Any]:
    """Returns the content of a snapshot file (docs/snapshot-format.md)."""
    return encode(snapshot)


def read_entry(entry: ClusterEntry, *, remember: bool = True) -> Snapshot:
    """Returns a snapshot of a cluster of the fleet, with groups and brokers from earlier snapshots.

    With `remember`, its groups and brokers are stored for the next one; the snapshot itself belongs to the run. Raises
    as `read_cluster` does: the snapshot must be of the cluster with the entry's id, or with the id that this host has
    stored for the name.
    """
    config = Path(entry.command_config) if entry.command_config else None
    controllers = entry.bootstrap_controller or None
    target = make_target(entry.bootstrap, entry.zookeeper, config, entry.timeout, controllers, trusted=entry.trusted)
    target = replace(target, name=entry.name, expected_id=entry.id)
    if remember:
        return read_noting(target, pin=False, fleet_facts=True)
    recall = SnapshotStore(state_folder()).recall
    snapshot = _collect(target, CollectOptions(fleet_facts=True, recall=recall))
    refuse_another(target, snapshot, state_folder(), pin=False)
    return snapshot
