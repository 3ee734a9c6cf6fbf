"""Where the parts meet: which adapter serves which question. The command line calls these; nothing below knows them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from kfix.adapters.collect.collector import Wanted, collect
from kfix.adapters.live import LiveCluster
from kfix.adapters.saved import files
from kfix.adapters.saved.store import SnapshotStore
from kfix.adapters.target import Target, make_target
from kfix.adapters.zookeeper.connect import parse_connect
from kfix.errors import RefusedError, UnreachableError
from kfix.model.finding import Diagnosis
from kfix.model.snapshot import Mode, Snapshot

DEBOUNCE = 10.0
RESTART_GRACE = 120.0

__all__ = ["DEBOUNCE", "RESTART_GRACE", "Target", "diagnose_live", "diagnose_saved", "look", "make_target"]


def look(
    target: Target,
    *,
    groups: tuple[str, ...] = (),
    debounce: float = DEBOUNCE,
    keep: bool = True,
    waiting: Callable[[float], None] = lambda _: None,
) -> tuple[Snapshot, Snapshot | None]:
    """(the newest look, the one before it where a second was needed). `waiting` hears the seconds between the two.

    A second look is taken only where the first shows what an ordinary election or restart also shows for a moment, and
    where ZooKeeper's own times do not already prove that it has lasted.
    """
    from kfix_diagnostics.engine import settle_seconds  # noqa: PLC0415 - a saved snapshot is read without it

    store = SnapshotStore()
    wanted = Wanted(groups=groups, recall=store.recall)
    first = collect(target, wanted)
    pause = settle_seconds(first, debounce)
    if pause <= 0:
        if keep:
            store.keep(first)
        return first, None
    waiting(pause)
    time.sleep(pause)
    second = collect(target, wanted)
    if keep:
        store.keep(second)
    return second, first


def diagnose_live(
    target: Target,
    *,
    groups: tuple[str, ...] = (),
    debounce: float = DEBOUNCE,
    restart_grace: float = RESTART_GRACE,
    keep: bool = True,
    waiting: Callable[[float], None] = lambda _: None,
) -> tuple[Diagnosis, Snapshot]:
    from kfix_diagnostics.engine import Options, diagnose  # noqa: PLC0415

    snapshot, earlier = look(target, groups=groups, debounce=debounce, keep=keep, waiting=waiting)
    return diagnose(snapshot, earlier=earlier, options=Options(restart_grace=restart_grace)), snapshot


def load_snapshot(path: Path) -> Snapshot:
    """A snapshot file, or text pasted from `kafka-topics --describe` and its kin."""
    from kfix.adapters.describe_text import parse_describe_text  # noqa: PLC0415

    text = files.read_text(path)
    return (
        files.parse(text, path)
        if files.is_snapshot(text)
        else parse_describe_text(text, str(path), path.stat().st_mtime)
    )


def diagnose_saved(path: Path, *, restart_grace: float = RESTART_GRACE) -> tuple[Diagnosis, Snapshot]:
    from kfix_diagnostics.engine import Options, diagnose  # noqa: PLC0415

    snapshot = load_snapshot(path)
    return diagnose(snapshot, options=Options(restart_grace=restart_grace)), snapshot


def open_cluster(target: Target, snapshot: Snapshot | None = None) -> LiveCluster:
    """Reader and changer for a run; without a snapshot the cluster is looked at once to learn its addresses."""
    known = snapshot or collect(target)
    if known.cluster.mode is Mode.KRAFT:
        raise RefusedError("this cluster runs on KRaft: this release heals clusters on ZooKeeper only")
    if target.zookeeper is None and not known.cluster.zookeeper:
        raise UnreachableError("no broker tells where its ZooKeeper is", hint="give --zookeeper HOST:PORT[/chroot]")
    connect = target.zookeeper or parse_connect(known.cluster.zookeeper)
    return LiveCluster(target, connect, known.cluster, known.addresses)
