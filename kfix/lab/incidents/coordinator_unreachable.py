"""A broker advertises a host name that does not resolve: clients are sent to a coordinator that they cannot reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

#: Reserved by RFC 6761: no resolver knows it.
_HOST = "nowhere.invalid"


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    number = context.int_option("partition") or 0
    context.require(number in groups.by_partition, f"{OFFSETS_TOPIC} has a partition {number}")
    group, leader = groups.by_partition[number], context.live_state(OFFSETS_TOPIC, number).leader
    others = [broker for broker in context.lab.broker_ids if broker != leader]
    port = context.access.addresses()[leader].rpartition(":")[2]
    context.set_config("brokers", str(leader), {"advertised.listeners": f"PLAINTEXT://{_HOST}:{port}"})
    context.report(f"broker {leader} advertises {_HOST}:{port}, by a dynamic setting")
    wait_for(
        f"every other broker names broker {leader} as the coordinator, at that address",
        lambda: all(groups.coordinator_address(number, via) == f"{_HOST}:{port}" for via in others),
        15,
    )
    return context.broken(
        INCIDENT.name,
        (f"clients of group {group} are sent to {_HOST}:{port}", *INCIDENT.expect),
        group=group,
        topic=OFFSETS_TOPIC,
        partitions=[TopicPartition(OFFSETS_TOPIC, number)],
        details={"coordinator": leader, "address": f"{_HOST}:{port}"},
    )


INCIDENT = Incident(
    name="coordinator-unreachable",
    title="a broker advertises a host name that does not resolve",
    does="Sets advertised.listeners of the broker that leads an offsets partition to a host name without an address.",
    expect=(
        "the broker is registered, leads, and answers at its real address",
        "groups of other brokers work",
    ),
    run=run,
    not_on={KRAFT: "a running broker changes its advertised.listeners only with ZooKeeper"},
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
