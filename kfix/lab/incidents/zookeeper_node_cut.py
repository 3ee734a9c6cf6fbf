"""One ZooKeeper server is cut from the others: it has no quorum; the ensemble and Kafka continue."""

from __future__ import annotations

from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.roles import assign_roles
from kfix.lab.nodes.zookeepers import READ_ONLY, zookeeper_mode
from kfix.lab.waiting import wait_for

_SEEN_SECONDS = 30.0


@Incident(
    "zookeeper-node-cut",
    title="a ZooKeeper server is cut from the other servers",
    does="Drops the traffic of the ensemble between one zone and the others.",
    expect=("that server has no quorum; its clients move to the others, and Kafka continues",),
    zones=True,
    not_on={KRAFT: "it cuts ZooKeeper servers from each other, and KRaft has none"},
)
def run(context: IncidentContext) -> IncidentOutcome:
    roles = assign_roles(context)
    zone = roles.zone(roles.one)
    roles.isolate(roles.one, "quorum")
    state = context.lab.state
    node = next(each for each in state.zookeepers if each.zone == zone)
    wait_for(
        f"zookeeper {node.id} has no quorum",
        lambda: zookeeper_mode(state.host_of(node).address, node.port) in {"", READ_ONLY},
        _SEEN_SECONDS,
    )
    wait_for("all brokers are registered", lambda: context.access.live_ids() == frozenset(context.ids()), _SEEN_SECONDS)
    return IncidentOutcome(
        f"zookeeper {node.id} has no quorum, all brokers are registered with the others",
        details={"zookeeper": node.id, "zone": zone},
        hung=None,
    )
