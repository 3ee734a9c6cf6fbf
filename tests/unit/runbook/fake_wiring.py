"""The wiring with the in-memory cluster behind it: what the commands see instead of a live one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kfix.adapters.memory.cluster import MemoryCluster
from kfix.app import cluster as wiring
from kfix.model.finding import Diagnosis, Finding
from kfix.model.snapshot import Snapshot


class FakeWiring:
    """`looks` are the options of each diagnosis; `targets` what each command wanted to connect to."""

    def __init__(self, cluster: MemoryCluster, *findings: Finding) -> None:
        self.cluster = cluster
        self.findings = findings
        self.could_not_read: tuple[str, ...] = ()
        self.looks: list[dict[str, object]] = []
        self.targets: list[tuple[object, ...]] = []
        cluster.clock.at = time.time()

    def install(self, monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
        monkeypatch.setenv("KFIX_STATE_HOME", str(state))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(state / "config"))
        for name in ("KFIX_RUNBOOKS", "KFIX_POLICY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(wiring, "make_target", self._target)
        monkeypatch.setattr(wiring, "diagnose_live", self._diagnose)
        monkeypatch.setattr(wiring, "look", lambda *_args, **_kwargs: self.cluster.snapshot())
        monkeypatch.setattr(wiring, "open_cluster", self._open)

    def _target(self, *args: object) -> None:
        self.targets.append(args)

    def _diagnose(self, *_args: object, **kwargs: object) -> tuple[Diagnosis, Snapshot]:
        self.looks.append(kwargs)
        looked_at = {"brokers": 3, "partitions": 53}
        diagnosis = Diagnosis("memory-cluster", time.time(), self.findings, self.could_not_read, looked_at)
        return diagnosis, self.cluster.snapshot()

    @contextmanager
    def _open(self, *_args: object) -> Iterator[MemoryCluster]:
        yield self.cluster
