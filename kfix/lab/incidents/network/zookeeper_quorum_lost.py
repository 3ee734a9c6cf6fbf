"""No ZooKeeper server reaches another: no quorum anywhere. Kafka goes on with what it knows, and nothing can change."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.network import faults
from kfix.lab.nodes.readiness import READ_ONLY, zookeeper_mode
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

_SEEN_SECONDS = 30.0


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    lab = context.lab
    for one, other in combinations([each.name for each in faults.network_of(lab.store).zones], 2):
        faults.cut(lab.store, one, other, only="quorum")
    context.say("all ZooKeeper servers are cut from each other")
    state = lab.state

    def lost() -> bool:
        modes = [zookeeper_mode(state.host_of(each).address, each.port) for each in state.zookeepers]
        return all(mode in {"", READ_ONLY} for mode in modes)

    wait_for("no server has a quorum", lost, _SEEN_SECONDS)
    context.say("checked: no ZooKeeper server has a quorum")
    return context.broken(INCIDENT.name, INCIDENT.expect, group=groups.by_partition[0])


INCIDENT = Incident(
    name="zookeeper-quorum-lost",
    title="ZooKeeper has lost its quorum",
    does="Drops what the servers of the ensemble say to each other, everywhere.",
    expect=(
        "clients work on; nothing can be elected, created or moved, and no isr can shrink or grow",
        "mend the ensemble; nothing is to be done to Kafka",
    ),
    run=run,
    zones=True,
)
