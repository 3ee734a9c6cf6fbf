"""What one cluster is served by: looks, diagnoses, the reader and changer of a run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from kfix.adapters.collect.collector import Wanted, collect
from kfix.adapters.cyclic import without_collector
from kfix.adapters.live import LiveCluster
from kfix.adapters.saved import files
from kfix.adapters.saved.store import SnapshotStore
from kfix.adapters.target import Target, make_target
from kfix.adapters.zookeeper.connect import parse_connect
from kfix.errors import RefusedError, UnreachableError, UsageError
from kfix.model.finding import Diagnosis
from kfix.model.inventory import ClusterEntry
from kfix.model.loss import sample_of
from kfix.model.places import state_home
from kfix.model.snapshot import Mode, Sample, Snapshot

if TYPE_CHECKING:
    from kfix.runbook.testing import Fixtures

DEBOUNCE = 10.0
RESTART_GRACE = 120.0

__all__ = ["DEBOUNCE", "RESTART_GRACE", "Target", "diagnose_live", "diagnose_saved", "look", "make_target"]


def look(
    target: Target,
    *,
    groups: tuple[str, ...] = (),
    keep: bool = True,
    vantage: str = "",
    every_log_end: bool = False,
    before: Sample | None = None,
) -> Snapshot:
    """One look, whatever it shows; the rest as in `Wanted`."""
    store = SnapshotStore(_state_home())
    wanted = Wanted(groups, vantage, every_log_end, before, store.recall)
    snapshot = collect(target, wanted)
    if keep:
        store.keep(snapshot)
    return snapshot


def _state_home() -> Path | None:
    """None where there is no such place: a look must not fail for want of a memory."""
    try:
        return state_home(os.environ)
    except UsageError:
        return None


def diagnose_live(
    target: Target,
    *,
    groups: tuple[str, ...] = (),
    debounce: float = DEBOUNCE,
    restart_grace: float = RESTART_GRACE,
    prevention: bool = False,
    keep: bool = True,
    before: Path | None = None,
    waiting: Callable[[float], None] = lambda _: None,
) -> tuple[Diagnosis, Snapshot]:
    """`waiting` hears the seconds between two looks (docs/adr/003). `before`: a saved look, for what was lost since.

    A second look is taken only where the first shows what an ordinary election or restart also shows for a moment, and
    where ZooKeeper's own times do not already prove that it has lasted.
    """
    earlier_look = None if before is None else load_snapshot(before)
    sample = None if earlier_look is None else sample_of(earlier_look)
    with without_collector():
        first = _InTheBackground(lambda: look(target, groups=groups, keep=keep, before=sample))
        # The catalogue is loaded while the cluster answers: 60 ms that nobody waits for.
        from kfix_diagnostics.engine import Options, diagnose, examine, settle_seconds  # noqa: PLC0415

        add_unfinished = _unfinished_runs()
        options = Options(restart_grace=restart_grace, prevention=prevention)
        seen, earlier = examine(first.result(), options), None
        pause = settle_seconds(seen, debounce, options)
        if pause > 0:
            waiting(pause)
            time.sleep(pause)
            again = _after(look(target, groups=groups, keep=keep, before=sample), seen.case.snapshot)
            seen, earlier = examine(again, options), seen
        if earlier_look is not None:
            _one_cluster(earlier_look, seen.case.snapshot, before)
        diagnosis, snapshot = diagnose(seen, earlier=earlier, options=options), seen.case.snapshot
        return add_unfinished(diagnosis, snapshot.cluster.name), snapshot


def _unfinished_runs() -> Callable[[Diagnosis, str], Diagnosis]:
    """What adds the unfinished runs of a cluster to its diagnosis; nothing is loaded where no run was begun here."""
    home = _state_home()
    if home is None or not (home / "runs").is_dir():
        return lambda diagnosis, _cluster: diagnosis
    from kfix.app.unfinished import with_unfinished  # noqa: PLC0415

    return lambda diagnosis, cluster: with_unfinished(diagnosis, cluster, home)


def _one_cluster(earlier: Snapshot, snapshot: Snapshot, path: Path | None) -> None:
    if earlier.cluster.id and snapshot.cluster.id not in ("", earlier.cluster.id):
        raise UsageError(
            f"{path}: is a look at cluster {earlier.cluster.id}, this is {snapshot.cluster.id}",
            hint="give a look at the same cluster to --before",
        )


def diagnose_once(target: Target) -> Diagnosis:
    """One look, whatever it shows, and nothing is remembered of it: a change must not rest on what it says."""
    from kfix_diagnostics.engine import diagnose  # noqa: PLC0415

    return diagnose(look(target, keep=False))


def _after(snapshot: Snapshot, earlier: Snapshot) -> Snapshot:
    """With the log ends of the look before: over time a slow replica moves, a stuck one and one cut off do not."""
    if not earlier.log_ends:
        return snapshot
    ends = {tp: earlier.told_ends(tp) for tp in earlier.log_ends}
    return replace(snapshot, samples=(*earlier.samples, Sample(earlier.taken_at, ends)))


class _InTheBackground:
    """A daemon thread, so that Ctrl-C ends the command and not only the wait."""

    def __init__(self, work: Callable[[], Snapshot]) -> None:
        self._work = work
        self._snapshot: Snapshot | None = None
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="kfix look", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._snapshot = self._work()
        except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
            self._error = error

    def result(self) -> Snapshot:
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._snapshot is not None
        return self._snapshot


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
    from kfix.model.merging.looks import taken_on_trust  # noqa: PLC0415
    from kfix.model.merging.merge import merge  # noqa: PLC0415

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


def diagnose_saved(
    paths: Sequence[Path],
    *,
    restart_grace: float = RESTART_GRACE,
    prevention: bool = False,
    saying: Callable[[str], None] = lambda _: None,
) -> tuple[Diagnosis, Snapshot]:
    """`saying` as of `load_merged`."""
    from kfix_diagnostics.engine import Options, diagnose  # noqa: PLC0415

    snapshot = load_merged(paths, saying)
    return diagnose(snapshot, options=Options(restart_grace=restart_grace, prevention=prevention)), snapshot


def open_cluster(target: Target, snapshot: Snapshot | None = None) -> LiveCluster:
    """Reader and changer for a run; without a snapshot the cluster is looked at once to learn its addresses."""
    known = snapshot or collect(target)
    if known.cluster.mode is Mode.KRAFT:
        raise RefusedError("this cluster runs on KRaft: this release heals clusters on ZooKeeper only")
    if target.zookeeper is None and not known.cluster.zookeeper:
        raise UnreachableError("no broker tells where its ZooKeeper is", hint="give --zookeeper HOST:PORT[/chroot]")
    connect = target.zookeeper or parse_connect(known.cluster.zookeeper)
    return LiveCluster(target, connect, known.cluster, known.addresses)


def runbook_fixtures() -> Fixtures:
    """The sick clusters in memory that runbooks name in their tests."""
    from kfix.adapters.memory.incidents import ALL  # noqa: PLC0415

    return ALL


def look_entry(entry: ClusterEntry, *, remember: bool = True) -> Snapshot:
    """One look at a cluster of the fleet, with what earlier looks remember of its groups and brokers.

    What this one knows is noted for the next; the snapshot itself is the run's, and is not kept a second time.
    """
    config = Path(entry.command_config) if entry.command_config else None
    target = make_target(entry.bootstrap, entry.zookeeper, config, entry.timeout)
    store = SnapshotStore(_state_home())
    snapshot = collect(target, Wanted(recall=store.recall))
    if remember:
        store.note(snapshot)
    return snapshot
