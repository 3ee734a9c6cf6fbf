"""Live clusters behind the ports: fresh reads over read-only connections, changes over separate ones, and the locks."""

import time
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clock import SystemClock
from kfix.core.clusters import DiagnoseOptions, SnapshotOptions
from kfix.core.diagnosis.finding import Diagnosis, Finding
from kfix.core.endpoint import parse_endpoint
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterLock
from kfix.core.snapshot.snapshot import ClusterIdentity, Endpoint, Mode, Snapshot
from kfix.core.target import Target
from kfix.core.timing import TIMING, DiagnosisTimes
from kfix.core.zookeeper.connect import Connect, parse_connect
from kfix.core.zookeeper.lock import ZooKeeperLock
from kfix.diagnose.background import InTheBackground
from kfix.diagnose.diagnosis import diagnose_live, diagnose_once, judge_once
from kfix.diagnose.snapshots import read_cluster, read_noting
from kfix.heal.live.authority import ZooKeeperAuthority
from kfix.heal.live.changer import LiveChanger
from kfix.heal.live.kraft_authority import KraftAuthority
from kfix.heal.live.reader import LiveReader
from kfix.heal.unfinished import unfinished_runs

# The lock of a KRaft cluster: there is none that would end with its holder (docs/adr/023).

NO_LOCK = "a KRaft cluster offers no lock that ends with its holder"


class NoClusterLock:
    """A lock that is never taken: a run has only the lock of its host, and every change has a gate of its own."""

    @property
    def scope(self) -> str:
        return "none"

    def take(self, _holder: Mapping[str, str]) -> None:
        raise UnreachableError(NO_LOCK)

    def held(self) -> bool:
        return False

    def release(self) -> None:
        return


# The connections of the reader refuse changing requests; the changer opens its own connections, each of which allows
# exactly one API, and closes them after the call.


class LiveCluster:
    """The reader, changer and lock of one cluster during a run."""

    def __init__(self, reader: LiveReader, changer: LiveChanger, lock: ClusterLock) -> None:
        self.reader = reader
        self.changer = changer
        self.lock = lock

    @classmethod
    def on_zookeeper(
        cls, target: Target, connect: Connect, identity: ClusterIdentity, addresses: Mapping[int, Endpoint]
    ) -> Self:
        reader = LiveReader(target, ZooKeeperAuthority(target, connect), identity, addresses)
        lock = ZooKeeperLock(connect, identity.name, timeout=target.timeout)
        return cls(reader, LiveChanger(target, connect, reader), lock)

    @classmethod
    def on_kraft(cls, target: Target, known: Snapshot) -> Self:
        """`known` names the brokers, and the controllers from their settings and from the quorum's answer."""
        named = [] if known.quorum is None else [*known.quorum.configured.values()]
        named += [] if known.quorum is None else [each.address for each in known.quorum.controllers]
        found = [endpoint for text in named if (endpoint := parse_endpoint(text)) is not None]
        authority = KraftAuthority(target, known.cluster.id, known.addresses, [*target.controllers, *found])
        reader = LiveReader(target, authority, known.cluster, known.addresses)
        return cls(reader, LiveChanger(target, None, reader), NoClusterLock())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.lock.release()
        self.reader.close()


#: A snapshot that was taken to open a cluster counts as new for this many seconds.
_FRESH_SECONDS = 1.0


class LiveClusters:
    """Live clusters: the default of `App` if a caller does not bring its own `Clusters`."""

    def __init__(self) -> None:
        self._opened_with: tuple[Access, Snapshot, float] | None = None

    def diagnose(self, access: Access, options: DiagnoseOptions) -> tuple[Diagnosis, Snapshot]:
        return diagnose_live(access.target(), options, unfinished_runs)

    def findings_before_change(self, access: Access, judged: DiagnosisTimes) -> tuple[Finding, ...]:
        from kfix.heal.safety.refusals import cuts_in  # noqa: PLC0415 - only who changes something

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
            access.target(),
            groups=options.groups,
            vantage=options.vantage,
            every_log_end=options.every_log_end,
            fleet_facts=options.fleet_facts,
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
    known = snapshot or read_cluster(target, keep=False)
    if known.cluster.mode is Mode.KRAFT:
        return LiveCluster.on_kraft(target, known)
    if target.zookeeper is None and not known.cluster.zookeeper:
        raise UnreachableError(
            "no broker reports the address of its ZooKeeper", hint="give --zookeeper HOST:PORT[/chroot]"
        )
    connect = target.zookeeper or parse_connect(known.cluster.zookeeper, target.zookeeper_access)
    return LiveCluster.on_zookeeper(target, connect, known.cluster, known.addresses)
