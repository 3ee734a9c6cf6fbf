"""Looks at clusters: taken from live brokers, read from files, merged from several places."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kfix.adapters.collect.collector import CollectOptions, collect
from kfix.adapters.saved import files
from kfix.adapters.saved.encode import encode
from kfix.adapters.saved.store import SnapshotStore
from kfix.adapters.target import Target, make_target
from kfix.errors import UsageError
from kfix.model.audit.inventory import ClusterEntry
from kfix.model.cluster.snapshot import Sample, Snapshot
from kfix.model.places import state_home

__all__ = [
    "Target",
    "load_merged",
    "load_snapshot",
    "look",
    "look_entry",
    "make_target",
    "save_snapshot",
    "snapshot_dict",
]


def look(
    target: Target,
    *,
    groups: tuple[str, ...] = (),
    keep: bool = True,
    vantage: str = "",
    every_log_end: bool = False,
    before: Sample | None = None,
) -> Snapshot:
    """One look, whatever it shows; the rest as in `CollectOptions`."""
    store = SnapshotStore(state_folder())
    wanted = CollectOptions(groups, vantage, every_log_end, before, store.recall)
    snapshot = collect(target, wanted)
    if keep:
        store.keep(snapshot)
    return snapshot


def state_folder() -> Path | None:
    """None where there is no such place: a look must not fail for want of a memory."""
    try:
        return state_home(os.environ)
    except UsageError:
        return None


def load_snapshot(path: Path) -> Snapshot:
    """A snapshot file, or text pasted from `kafka-topics --describe` and its kin.

    Imports inside functions keep each command's start light: nobody pays for the parts that another command uses.
    """
    from kfix.adapters.describe_text import parse_describe_text  # noqa: PLC0415

    text = files.read_text(path)
    return (
        files.parse(text, path)
        if files.is_snapshot(text)
        else parse_describe_text(text, str(path), path.stat().st_mtime)
    )


def load_merged(paths: Sequence[Path], saying: Callable[[str], None] = lambda _: None) -> Snapshot:
    """Looks from several places as one (kfix/model/merging); `saying` hears what is taken on trust. One file is read
    as it is.
    """
    from kfix.derive.merging.merge import merge  # noqa: PLC0415
    from kfix.derive.merging.snapshots import taken_on_trust  # noqa: PLC0415

    if len(paths) == 1:
        return load_snapshot(paths[0])
    looks = [_load_look(path) for path in paths]
    merged = merge(looks)
    for sentence in taken_on_trust(looks):
        saying(sentence)
    return merged


def _load_look(path: Path) -> Snapshot:
    text = files.read_text(path)
    if not files.is_snapshot(text):
        raise UsageError(
            f"{path}: is no snapshot; text tells neither of which cluster nor from where, and is not merged",
            hint="give it alone, or save a look there: kfix snapshot save --vantage NAME FILE",
        )
    return files.parse(text, path)


def save_snapshot(snapshot: Snapshot, path: Path) -> int:
    """Writes a snapshot, gzip where the name ends in .gz; returns the number of bytes."""
    return files.save(snapshot, path)


def snapshot_dict(snapshot: Snapshot) -> dict[str, Any]:
    """Returns the snapshot as its file holds it (docs/snapshot-format.md)."""
    return encode(snapshot)


def look_entry(entry: ClusterEntry, *, remember: bool = True) -> Snapshot:
    """One look at a cluster of the fleet, with what earlier looks remember of its groups and brokers.

    What this one knows is noted for the next; the snapshot itself is the run's, and is not kept a second time.
    """
    config = Path(entry.command_config) if entry.command_config else None
    target = make_target(entry.bootstrap, entry.zookeeper, config, entry.timeout)
    store = SnapshotStore(state_folder())
    snapshot = collect(target, CollectOptions(recall=store.recall))
    if remember:
        store.note(snapshot)
    return snapshot
