"""The wiring with the in-memory cluster behind it: what the commands see instead of a live one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kfix import wiring
from kfix.adapters.memory.cluster import MemoryCluster
from kfix.model.finding import Diagnosis, Finding


class FakeWiring:
    def __init__(self, cluster: MemoryCluster, *findings: Finding) -> None:
        self.cluster = cluster
        self.findings = findings
        self.could_not_read: tuple[str, ...] = ()
        cluster.clock.at = time.time()

    def install(self, monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
        monkeypatch.setenv("KFIX_STATE_HOME", str(state))
        monkeypatch.setattr(wiring, "make_target", lambda *_args: None)
        monkeypatch.setattr(wiring, "diagnose_live", self._diagnose)
        monkeypatch.setattr(wiring, "open_cluster", self._open)

    def _diagnose(self, *_args: object, **_kwargs: object) -> tuple[Diagnosis, None]:
        looked_at = {"brokers": 3, "partitions": 53}
        return Diagnosis("memory-cluster", time.time(), self.findings, self.could_not_read, looked_at), None

    @contextmanager
    def _open(self, *_args: object) -> Iterator[MemoryCluster]:
        yield self.cluster
