"""A topic set up to lose records: RF 2, min.insync.replicas 1, unclean elections. Nothing has happened yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.incidents.setup.options import MEGABYTES

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "ledger"
CONFIG = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
_PARTITIONS = 3
_REPLICAS = 2


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    context.topic(TOPIC, context.spread(_PARTITIONS, _REPLICAS), CONFIG)
    if megabytes := context.int_option("megabytes"):
        context.fill(TOPIC, _PARTITIONS, megabytes)
    where = [TopicPartition(TOPIC, number) for number in range(_PARTITIONS)]
    for each in where:
        context.wait_state(*each, "both replicas in sync", lambda state: len(state.isr) == _REPLICAS)
    context.require(context.access.configs("topics").get(TOPIC) == CONFIG, f"{TOPIC} has its settings")
    context.wait_groups(groups, groups.by_partition)
    context.report(
        f"checked: {TOPIC} has RF {_REPLICAS}, {', '.join(f'{k}={v}' for k, v in CONFIG.items())}; groups work"
    )
    return context.broken(
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
    does="Creates a topic with these settings; all brokers are alive.",
    expect=("all is well; two broker deaths, one after the other, lose records that were acknowledged with acks=all",),
    run=run,
    options={"megabytes": "how much data the topic holds besides its records (none)"},
    ranges={"megabytes": MEGABYTES},
)
