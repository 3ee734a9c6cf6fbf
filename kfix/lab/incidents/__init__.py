"""Every incident of the lab: each module declares its own; here is the order in which they are listed."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from kfix.lab.incidents.setup.incident import DECLARED, Broken, Incident

_ORDER = (
    "healthy",
    "metadata-divergence",
    "coordinator-stuck",
    "coordinator-silent",
    "coordinator-unreachable",
    "pending-offsets",
    "open-transaction",
    "transaction-marker-lost",
    "offsets-not-loaded",
    "offsets-uncompacted",
    "offset-outside-log",
    "rebalance-held",
    "offsets-rf1",
    "transactions-rf1",
    "offsets-under-min-isr",
    "broker-ids-gone",
    "isr-gone",
    "under-min-isr",
    "packed-replicas",
    "whole-isr-dead",
    "stuck-reassignment",
    "foreign-reassignment",
    "left-over-throttles",
    "replicas-in-one-rack",
    "leader-skew",
    "weak-topic",
    "power-failure",
    "unclean-loss",
    "replica-lagging",
    "coordinator-failed",
    "offsets-withheld",
    "elr-struck",
    "ghost-registration",
    "metadata-version-behind",
    "migration-stuck",
    "log-dir-failed",
    "wrong-cluster-id",
    "last-known-leader-gone",
    "move-never-ends",
    "quorum-at-risk",
    "quorum-lost",
    "controller-frozen",
    "broker-cut-from-controllers",
    "broker-fenced-alive",
    "leader-cut-from-followers",
    "zookeeper-node-cut",
    "zookeeper-quorum-lost",
    "link-to-leader-cut",
    "link-to-controller-cut",
    "zone-isolated",
    "zone-isolated-with-leader",
    "controller-zone-isolated",
    "controller-zone-isolated-with-leader",
)

for _module in iter_modules(__path__):
    if not _module.ispkg:
        import_module(f"{__name__}.{_module.name}")

INCIDENTS: dict[str, Incident] = {each: DECLARED[each] for each in sorted(DECLARED, key=_ORDER.index)}

__all__ = ["INCIDENTS", "Broken", "Incident"]
