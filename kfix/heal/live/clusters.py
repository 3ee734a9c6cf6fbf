"""Live clusters: the default of `App` if a caller does not bring its own `Clusters`."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clock import SystemClock
from kfix.core.clusters import DiagnoseOptions, SnapshotOptions
from kfix.core.diagnosis.finding import Diagnosis, Finding
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.snapshot import Mode, Snapshot
from kfix.core.target import Target
from kfix.core.timing import TIMING, DiagnosisTimes
from kfix.core.zookeeper.connect import parse_connect
from kfix.diagnose.background import InTheBackground
from kfix.diagnose.diagnosis import diagnose_live, diagnose_once, judge_once
from kfix.diagnose.snapshots import read_cluster, read_noting
from kfix.heal.unfinished import unfinished_runs

if TYPE_CHECKING:
    from kfix.heal.live.cluster import LiveCluster


#: A snapshot that was taken to open a cluster counts as new for this many seconds.
_FRESH_SECONDS = 1.0


class LiveClusters:
    def __init__(self) -> None:
        self._opened_with: tuple[Access, Snapshot, float] | None = None

    def diagnose(self, access: Access, options: DiagnoseOptions) -> tuple[Diagnosis, Snapshot]:
        return diagnose_live(access.target(), options, unfinished_runs)

    def findings_before_change(self, access: Access, judged: DiagnosisTimes) -> tuple[Finding, ...]:
        from kfix.heal.safety.cut_network import cuts_in  # noqa: PLC0415 - only who changes something

        target = access.target()
        found = self._just_opened(access, judged) or diagnose_once(target, judged)
        if not cuts_in(found.findings):
            return found.findings
        # However short the wait was for the plan: nothing that passes by itself may refuse it.
        judged = replace(judged, debounce=max(judged.debounce, TIMING.debounce))
        again = DiagnoseOptions(judged.debounce, judged.restart_grace, judged.transaction_grace, keep=False)
        return diagnose_live(target, again, unfinished_runs)[0].findings

    def snapshot(self, access: Access, options: SnapshotOptions) -> Snapshot:
        if not options.keep:
            return read_noting(access.target(), options.groups)
        return read_cluster(
            access.target(), groups=options.groups, vantage=options.vantage, every_log_end=options.every_log_end
        )

    def open(self, access: Access, snapshot: Snapshot | None = None) -> LiveCluster:
        if snapshot is not None:
            return open_cluster(access.target(), snapshot)
        target, began = access.target(), time.monotonic()
        # Reads it as `diagnose_once` does: only brokers of earlier snapshots may show that a network is cut.
        reading = InTheBackground(lambda: read_cluster(target, keep=False))
        # Loads the modules of a run while the cluster answers.
        import kfix_diagnostics.engine  # noqa: F401, PLC0415

        self._opened_with = access, reading.result(), began
        return open_cluster(target, self._opened_with[1])

    def _just_opened(self, access: Access, judged: DiagnosisTimes) -> Diagnosis | None:
        """Returns the diagnosis of the snapshot with which this cluster was just opened, at most once."""
        opened, self._opened_with = self._opened_with, None
        if opened is None or opened[0] != access or time.monotonic() - opened[2] > _FRESH_SECONDS:
            return None
        return judge_once(opened[1], judged)


def live() -> App:
    """Returns the application for real clusters, with the clock and the environment of this process."""
    return App(LiveClusters(), SystemClock())


def open_cluster(target: Target, snapshot: Snapshot | None = None) -> LiveCluster:
    """Opens a cluster for a run. Without a snapshot it is read once to learn its addresses."""
    from kfix.heal.live.cluster import LiveCluster  # noqa: PLC0415 - only who changes something

    known = snapshot or read_cluster(target, keep=False)
    if known.cluster.mode is Mode.KRAFT:
        return LiveCluster.on_kraft(target, known)
    if target.zookeeper is None and not known.cluster.zookeeper:
        raise UnreachableError(
            "no broker reports the address of its ZooKeeper", hint="give --zookeeper HOST:PORT[/chroot]"
        )
    connect = target.zookeeper or parse_connect(known.cluster.zookeeper, target.zookeeper_access)
    return LiveCluster.on_zookeeper(target, connect, known.cluster, known.addresses)
