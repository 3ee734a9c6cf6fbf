"""Live clusters: the adapters behind the seam."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.adapters.collect.collector import collect
from kfix.adapters.target import Target
from kfix.adapters.zookeeper.connect import parse_connect
from kfix.app.access import Access
from kfix.app.clusters import DiagnoseOptions, SnapshotOptions
from kfix.app.diagnosis import diagnose_live, diagnose_once
from kfix.app.snapshots import read_cluster
from kfix.errors import RefusedError, UnreachableError
from kfix.model.cluster.snapshot import Mode, Snapshot
from kfix.model.diagnosis.finding import Diagnosis, Finding

if TYPE_CHECKING:
    from kfix.adapters.live.cluster import LiveCluster


class LiveClusters:
    def diagnose(self, access: Access, options: DiagnoseOptions) -> tuple[Diagnosis, Snapshot]:
        return diagnose_live(access.target(), options)

    def findings_before_change(self, access: Access) -> tuple[Finding, ...]:
        from kfix.runbook.safety.cut_network import cuts_in  # noqa: PLC0415 - only who changes something

        target = access.target()
        found = diagnose_once(target).findings
        return diagnose_live(target, DiagnoseOptions(keep=False))[0].findings if cuts_in(found) else found

    def snapshot(self, access: Access, options: SnapshotOptions) -> Snapshot:
        return read_cluster(
            access.target(), groups=options.groups, vantage=options.vantage, every_log_end=options.every_log_end
        )

    def open(self, access: Access, snapshot: Snapshot | None = None) -> LiveCluster:
        return open_cluster(access.target(), snapshot)


def open_cluster(target: Target, snapshot: Snapshot | None = None) -> LiveCluster:
    """Opens a cluster for a run. Without a snapshot it is read once to learn its addresses."""
    from kfix.adapters.live.cluster import LiveCluster  # noqa: PLC0415 - only who changes something

    known = snapshot or collect(target)
    if known.cluster.mode is Mode.KRAFT:
        raise RefusedError("this cluster runs on KRaft: this release heals clusters on ZooKeeper only")
    if target.zookeeper is None and not known.cluster.zookeeper:
        raise UnreachableError("no broker tells where its ZooKeeper is", hint="give --zookeeper HOST:PORT[/chroot]")
    connect = target.zookeeper or parse_connect(known.cluster.zookeeper)
    return LiveCluster(target, connect, known.cluster, known.addresses)
