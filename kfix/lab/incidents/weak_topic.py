"""A topic set up to lose records: RF 2, min.insync.replicas 1, unclean elections. Nothing has happened yet."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.options import MEGABYTES

CONFIG = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
_PARTITIONS = 3
_REPLICAS = 2


@Incident(
    "weak-topic",
    title="a topic with RF 2, min.insync.replicas 1 and unclean elections",
    does="Creates a topic with these settings; all brokers are alive.",
    expect=("all is well; two broker deaths, one after the other, lose records that were acknowledged with acks=all",),
    options={"megabytes": "how much data the topic holds besides its records (none)"},
    ranges={"megabytes": MEGABYTES},
)
def run(context: IncidentContext) -> IncidentOutcome:
    context.topic(TOPIC, context.spread(_PARTITIONS, _REPLICAS), CONFIG)
    if megabytes := context.int_option("megabytes"):
        context.fill(TOPIC, _PARTITIONS, megabytes)
    where = [TopicPartition(TOPIC, number) for number in range(_PARTITIONS)]
    for each in where:
        context.wait_state(each, "both replicas in sync", lambda state: len(state.isr) == _REPLICAS)
    context.require(context.access.configs("topics").get(TOPIC) == CONFIG, f"{TOPIC} has its settings")
    return IncidentOutcome(
        f"{TOPIC} has RF {_REPLICAS}, {', '.join(f'{k}={v}' for k, v in CONFIG.items())}; groups work",
        partitions=where,
        details={"replication_factor": _REPLICAS, "megabytes": megabytes or 0},
    )
