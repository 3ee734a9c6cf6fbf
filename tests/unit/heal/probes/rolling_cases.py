"""Probes of a rolling restart, and what each must see."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ArgValue
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS

Case = tuple[str, Callable[[], MemoryCluster], Mapping[str, ArgValue], str, str]
BROKER: Mapping[str, ArgValue] = {"role": "broker", "node": 2}
#: Before any broker was started again.
SINCE: Mapping[str, ArgValue] = {**BROKER, "since": INCIDENTS["restartable"]().cluster.records.zxid, "epoch": 0}
KRAFT = "restartable-kraft"
CONTROLLER: Mapping[str, ArgValue] = {"role": "controller", "node": 101}

RUNS: Mapping[str, ArgValue] = {"version": "4.3.1", "level": 30}
RAISED: Mapping[str, ArgValue] = {"version": "4.3.1"}
TO: Mapping[str, ArgValue] = {"version": "4.4.0", "clients": "unknown"}


def with_(change: Callable[[MemoryCluster], object], incident: str = "restartable") -> Callable[[], MemoryCluster]:
    def made() -> MemoryCluster:
        cluster = INCIDENTS[incident]().cluster
        change(cluster)
        return cluster

    return made


def strict(cluster: MemoryCluster) -> None:
    cluster.alter_configs(ResourceKind.TOPIC, "orders", {"min.insync.replicas": "2"})


def strict_without_3(cluster: MemoryCluster) -> None:
    strict(cluster)
    cluster.kill(3)


def again(cluster: MemoryCluster) -> None:
    cluster.kill(2)
    cluster.revive(2)


def unread(cluster: MemoryCluster) -> None:
    cluster.faults.unreadable[cluster.authority] = "gone"


def old(cluster: MemoryCluster) -> None:
    cluster.levels[2] = 21


def behind(cluster: MemoryCluster) -> None:
    cluster.level = 21


def alone(cluster: MemoryCluster) -> None:
    cluster.controllers = {100: 0, 101: 0}


CASES: tuple[Case, ...] = (
    ("restart_is_safe", with_(strict), BROKER, "pass", "nothing would stop"),
    ("restart_is_safe", with_(strict_without_3), BROKER, "fail", "(until broker 3 is started"),
    ("restart_is_safe", with_(lambda c: c.kill(2)), BROKER, "fail", "broker 2 is already down"),
    ("restart_is_safe", with_(lambda c: c.silence(3)), BROKER, "inconclusive", "broker 3"),
    ("restart_is_safe", with_(strict, KRAFT), CONTROLLER, "pass", "no further controller may fail"),
    ("restart_is_safe", with_(alone, KRAFT), CONTROLLER, "fail", "2 are a majority"),
    ("node_started_since", with_(strict), SINCE, "fail", "broker 2 has not registered since"),
    ("node_started_since", with_(again), SINCE, "pass", "broker 2 registered at"),
    ("node_started_since", with_(lambda c: c.kill(2)), SINCE, "fail", "has not registered since"),
    ("node_started_since", with_(unread), SINCE, "inconclusive", "gone"),
    ("upgrade_is_safe", with_(strict, KRAFT), TO, "pass", "until the runbook raise-metadata-version"),
    ("upgrade_is_safe", with_(strict, KRAFT), {**TO, "version": "4"}, "fail", "not a version of Kafka"),
    ("upgrade_is_safe", with_(strict, KRAFT), {**TO, "version": "4.0.0"}, "fail", "does not start"),
    ("upgrade_is_safe", with_(old, KRAFT), TO, "inconclusive", "which clients Kafka 4 refuses"),
    (
        "upgrade_is_safe",
        with_(old, KRAFT),
        {**TO, "clients": "checked"},
        "pass",
        "raise-metadata-version",
    ),
    ("upgrade_is_safe", with_(strict), TO, "fail", "it has to be migrated to KRaft on 3.9 first"),
    ("upgrade_is_safe", with_(strict), {**TO, "version": "3.9.2"}, "fail", "inter.broker.protocol.version"),
    ("node_runs", with_(old, KRAFT), {**BROKER, "version": "3.9.2"}, "pass", "broker 2 runs 3.9"),
    ("node_runs", with_(strict, KRAFT), {**BROKER, "version": "4.4.0"}, "fail", "broker 2 runs 4.3"),
    (
        "node_runs",
        with_(strict, KRAFT),
        {**CONTROLLER, "version": "4.3.1"},
        "pass",
        "controller 101 runs",
    ),
    ("node_runs", with_(strict), {**BROKER, "version": "4.3.1"}, "inconclusive", "which version broker 2 runs"),
    (
        "every_node_runs",
        with_(behind, KRAFT),
        RUNS,
        "pass",
        "6 nodes, which support metadata.version 30",
    ),
    ("every_node_runs", with_(behind, KRAFT), {**RUNS, "level": 29}, "fail", "30 (4.3)"),
    ("every_node_runs", with_(old, KRAFT), RUNS, "fail", "broker 2 supports metadata.version 21 (3.9)"),
    ("every_node_runs", with_(behind, KRAFT), {**RUNS, "version": "4"}, "fail", "not a version of Kafka"),
    ("every_node_runs", with_(lambda c: c.silence(3), KRAFT), RUNS, "inconclusive", "broker 3"),
    ("every_node_runs", with_(strict), RUNS, "inconclusive", "ZooKeeper"),
    ("metadata_version_raised", with_(strict, KRAFT), RAISED, "pass", "in force at 6 nodes"),
    ("metadata_version_raised", with_(behind, KRAFT), RAISED, "fail", "broker 1: 21 (3.9)"),
    ("metadata_version_raised", with_(old, KRAFT), RAISED, "fail", "broker 2 supports"),
    ("metadata_version_raised", with_(lambda c: c.kill(3), KRAFT), RAISED, "inconclusive", "broker 3"),
    ("cluster_whole", with_(strict), {}, "pass", "3 brokers"),
    ("cluster_whole", with_(strict, KRAFT), {}, "pass", "3 brokers"),
    ("cluster_whole", with_(lambda c: c.kill(3)), {}, "fail", "[3] not in sync"),
    ("cluster_whole", with_(lambda c: c.kill(1, 2, 3)), {}, "fail", "does not answer"),
    ("cluster_whole", with_(unread), {}, "inconclusive", "was not read"),
)
