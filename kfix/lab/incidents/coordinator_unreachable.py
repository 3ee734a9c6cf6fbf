"""A broker advertises a host name that does not resolve: clients are sent to a coordinator that they cannot reach."""

from __future__ import annotations

from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.waiting import wait_for

#: Reserved by RFC 6761: no resolver knows it.
_HOST = "nowhere.invalid"


@Incident(
    "coordinator-unreachable",
    title="a broker advertises a host name that does not resolve",
    does="Sets advertised.listeners of the broker that leads an offsets partition to a host name without an address.",
    expect=(
        "the broker is registered, leads, and answers at its real address",
        "groups of other brokers work",
    ),
    not_on={KRAFT: "a running broker changes its advertised.listeners only with ZooKeeper"},
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
def run(context: IncidentContext) -> IncidentOutcome:
    groups = context.groups
    where = context.offsets_partition()
    group, leader = groups.by_partition[where.partition], context.live_state(where).leader
    others = [broker for broker in context.lab.broker_ids if broker != leader]
    port = context.access.addresses()[leader].rpartition(":")[2]
    context.set_config("brokers", str(leader), {"advertised.listeners": f"PLAINTEXT://{_HOST}:{port}"})
    context.report(f"broker {leader} advertises {_HOST}:{port}, by a dynamic setting")
    wait_for(
        f"every other broker names broker {leader} as the coordinator, at that address",
        lambda: all(groups.coordinator_address(where.partition, via) == f"{_HOST}:{port}" for via in others),
        15,
    )
    return IncidentOutcome(
        expect=(f"clients of group {group} are sent to {_HOST}:{port}",),
        group=group,
        partitions=[where],
        details={"coordinator": leader, "address": f"{_HOST}:{port}"},
        hung=None,
    )
