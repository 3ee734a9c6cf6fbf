"""Both locks of a run: this host's, and the one in the cluster's ZooKeeper, if that can be taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterLock
from kfix.core.wording import utc_iso
from kfix.heal.execution.context import Context
from kfix.heal.execution.host_lock import cluster_lock
from kfix.heal.journal.interrupts import as_ctrl_c
from kfix.heal.model.plan import Plan

_HOST_ONLY = "kfix on this host and this state folder only"


@dataclass(frozen=True, slots=True)
class Locked:
    """The locks a run holds.

    `cluster` is None if operators on other hosts are not locked out, so every change is approved separately; `why`
    then states the reason.
    """

    scope: str
    cluster: ClusterLock | None
    why: str = ""


@contextmanager
def locked(plan: Plan, context: Context, who: Mapping[str, object], doing: str) -> Iterator[Locked]:
    """Takes both locks for a `with` block. Raises HeldError, which names the holder and its host."""
    holder = {
        "user": str(who["user"]),
        "host": str(who["host"]),
        "pid": str(who["pid"]),
        "plan": plan.short_id,
        "run": doing,
        "since": utc_iso(context.clock.now()),
    }
    with as_ctrl_c(), cluster_lock(context.store.locks_dir, plan.cluster.name, holder):
        lock, why = context.lock, "no cluster lock is configured"
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
