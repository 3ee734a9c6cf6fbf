"""The ten kinds of input that come from outside, each as a factory of its cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from tests.proofs.fuzz import clusters, files, stores
from tests.proofs.fuzz.counting import Case

KINDS: Mapping[str, Callable[[], AbstractContextManager[Case]]] = {
    "snapshot": files.snapshots,
    "plan": files.plans,
    "journal": files.journals,
    "runbook": files.runbooks,
    "policy": files.policies,
    "inventory": files.inventories,
    "znode": clusters.znode,
    "broker-answer": clusters.broker_answers,
    "registration": clusters.registration,
    "store": stores.stores,
}
