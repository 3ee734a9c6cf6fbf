"""Both locks of a run: this host's, and the cluster's own where there is one. What is not exclusive is said openly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from kfix.errors import UnreachableError
from kfix.model.plan.plan import Plan
from kfix.ports import ClusterLock
from kfix.runbook.execution.context import Context
from kfix.runbook.execution.host_lock import cluster_lock
from kfix.runbook.journal.interrupts import as_ctrl_c
from kfix.runbook.journal.journal import utc

_HOST_ONLY = "kfix on this host and this state folder only"


@dataclass(frozen=True, slots=True)
class Locked:
    """`cluster` None: operators on other hosts are not seen, so every change asks by itself; `why` says why."""

    scope: str
    cluster: ClusterLock | None
    why: str = ""


@contextmanager
def locked(plan: Plan, scene: Context, who: Mapping[str, object], doing: str) -> Iterator[Locked]:
    """`HeldError` names the holder, wherever it is."""
    holder = {
        "user": str(who["user"]),
        "host": str(who["host"]),
        "pid": str(who["pid"]),
        "plan": plan.short_id,
        "run": doing,
        "since": utc(scene.clock.now()),
    }
    with as_ctrl_c(), cluster_lock(scene.store.locks_dir, plan.cluster.name, holder):
        lock, why = scene.lock, "this run was given no lock of the cluster"
        if lock is not None:
            try:
                lock.take(holder)
            except UnreachableError as error:
                lock, why = None, str(error)
        if lock is None:
            yield Locked(_HOST_ONLY, None, why)
            return
        try:
            yield Locked(lock.scope, lock)
        finally:
            lock.release()
