"""Probes of brokers that are registered with a KRaft cluster and gone, and what each must see."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ArgValue
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS

Case = tuple[str, Callable[[], MemoryCluster], Mapping[str, ArgValue], str, str]


def registration(name: str = "ghost-registration") -> Callable[[], MemoryCluster]:
    return lambda: INCIDENTS[name]().cluster


GHOST: Mapping[str, ArgValue] = {"broker": 4, "dead_for": 120.0}


CASES: tuple[Case, ...] = (
    *(
        ("broker_is_gone", registration(name), GHOST, verdict, observed)
        for name, verdict, observed in (
            ("ghost-registration", "pass", "broker 4: fenced, last fetch 2 h ago, 0 replicas"),
            ("ghost-registration-forgotten", "pass", "no fetch known"),
            ("ghost-registration-just-left", "fail", "may be restarting: its last fetch was 20 s ago"),
            ("ghost-registration-runs", "fail", "its address answers"),
            ("ghost-registration-voter", "fail", "a voter of the quorum"),
            ("ghost-registration-with-replicas", "fail", "still holds 1 replica: move them first"),
            ("ghost-registration-hidden", "inconclusive", "may not describe (broker 1: TOPIC_AUTHORIZATION_FAILED for"),
            ("ghost-registration-unreported", "inconclusive", "do not report"),
        )
    ),
    ("broker_is_gone", registration(), {**GHOST, "broker": 1}, "fail", "broker 1 is alive"),
    ("broker_is_gone", registration(), {**GHOST, "broker": 9}, "fail", "broker 9 is not registered"),
    ("broker_unregistered", registration(), {"broker": 4}, "fail", "broker 4: fenced"),
    ("broker_unregistered", registration(), {"broker": 9}, "pass", "broker 9: absent"),
    ("broker_unregistered", registration("ghost-registration-unreported"), {"broker": 4}, "inconclusive", "unreported"),
)
