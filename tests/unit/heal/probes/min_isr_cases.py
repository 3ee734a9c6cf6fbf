"""Probes of min.insync.replicas: without a leader, and where brokers have different defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ArgValue
from kfix.heal.memory.cluster import MemoryCluster
from tests.unit.heal.actions.acting import ON_TP, dead_isr, four_brokers

Case = tuple[str, Callable[[], MemoryCluster], Mapping[str, ArgValue], str, str]


def stricter(broker: int, value: str) -> Callable[[], MemoryCluster]:
    """Healthy, with another default of min.insync.replicas on one broker; broker 1 leads."""

    def made() -> MemoryCluster:
        cluster = four_brokers()
        cluster.brokers[broker].configs["min.insync.replicas"] = value
        return cluster

    return made


CASES: tuple[Case, ...] = (
    ("min_isr_satisfied", dead_isr, ON_TP, "fail", "leader none"),
    ("min_isr_satisfied", stricter(1, "4"), ON_TP, "fail", "ISR [1, 2, 3]"),
    ("min_isr_satisfied", stricter(2, "4"), ON_TP, "pass", "ISR [1, 2, 3]"),
    ("enough_stay", stricter(3, "2"), {**ON_TP, "replicas": (3,)}, "fail", "[3] of [3]"),
    ("enough_stay", stricter(3, "3"), {**ON_TP, "replicas": (2, 3)}, "fail", "[2,3] of [2,3]"),
    ("enough_stay", stricter(2, "2"), {**ON_TP, "replicas": (3,)}, "pass", "[3] of [3]"),
)
