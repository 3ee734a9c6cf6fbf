"""A topic set up to lose records: RF 2, min.insync.replicas 1, unclean elections. Nothing has happened yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.incident import Incident
from kfix.lab.options import MEGABYTES
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage

TOPIC = "ledger"
CONFIG = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
_PARTITIONS = 3
_REPLICAS = 2


def run(stage: Stage) -> Broken:
    groups = stage.content()
    stage.topic(TOPIC, stage.spread(_PARTITIONS, _REPLICAS), CONFIG)
    if megabytes := stage.int_option("megabytes"):
        stage.fill(TOPIC, _PARTITIONS, megabytes)
    where = [TopicPartition(TOPIC, number) for number in range(_PARTITIONS)]
    for each in where:
        stage.wait_state(*each, "both replicas in sync", lambda state: len(state.isr) == _REPLICAS)
    stage.require(stage.access.configs("topics").get(TOPIC) == CONFIG, f"{TOPIC} has its settings")
    stage.wait_groups(groups, groups.by_partition)
    stage.say(f"checked: {TOPIC} has RF {_REPLICAS}, {', '.join(f'{k}={v}' for k, v in CONFIG.items())}; groups work")
    return stage.broken(
        INCIDENT.name,
        INCIDENT.expect,
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=where,
        details={"replication_factor": _REPLICAS, "megabytes": megabytes or 0},
    )


INCIDENT = Incident(
    name="weak-topic",
    title="a topic with RF 2, min.insync.replicas 1 and unclean elections",
    does="Creates a topic with these settings; all brokers live.",
    expect=("all is well; two broker deaths, one after the other, lose records that were acknowledged with acks=all",),
    run=run,
    options={"megabytes": "how much data the topic holds besides its records (none)"},
    ranges={"megabytes": MEGABYTES},
)
