"""The application with a cluster in memory behind it: what the commands see instead of live ones."""

from __future__ import annotations

import os
import time
from collections import ChainMap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clock import SystemClock
from kfix.core.clusters import DiagnoseOptions, SnapshotOptions
from kfix.core.diagnosis.finding import Diagnosis, Finding
from kfix.core.ports import Clock, Human
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import DiagnosisTimes
from kfix.heal.memory.cluster import MemoryCluster


class FakeWiring:
    """Satisfies `kfix.api.Clusters`.

    `looks` are the options of each diagnosis; `targets` what each command wanted to connect to; `cut` are findings that
    only the diagnosis right before a change gives, and `judged` the times of each of those; `snapshots` counts those
    taken between two plans.
    """

    def __init__(self, cluster: MemoryCluster, *findings: Finding) -> None:
        self.cluster = cluster
        self.findings = findings
        self.cut: tuple[Finding, ...] = ()
        self.could_not_read: tuple[str, ...] = ()
        self.looks: list[DiagnoseOptions] = []
        self.judged: list[DiagnosisTimes] = []
        self.targets: list[Access] = []
        self.snapshots = 0
        cluster.clock.at = time.time()

    def app(self, state: Path, clock: Clock | None = None, human: Human | None = None) -> App:
        own = {"KFIX_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(state / "config")}
        return App(self, clock or SystemClock(), ChainMap(own, os.environ), human)

    def diagnose(self, access: Access, options: DiagnoseOptions) -> tuple[Diagnosis, Snapshot]:
        self.targets.append(access)
        self.looks.append(options)
        looked_at = {"brokers": 3, "partitions": 53}
        diagnosis = Diagnosis("memory-cluster", time.time(), self.findings, self.could_not_read, looked_at)
        return diagnosis, self.cluster.snapshot()

    def findings_before_change(self, access: Access, judged: DiagnosisTimes) -> tuple[Finding, ...]:
        access.target()  # refused without an address, as on a live cluster
        self.judged.append(judged)
        return self.cut

    def snapshot(self, access: Access, options: SnapshotOptions) -> Snapshot:
        self.snapshots += 1
        return self.cluster.snapshot()

    @contextmanager
    def open(self, access: Access, snapshot: Snapshot | None = None) -> Iterator[MemoryCluster]:
        self.targets.append(access)
        yield self.cluster
