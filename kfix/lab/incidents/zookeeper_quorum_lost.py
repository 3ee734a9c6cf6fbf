"""No ZooKeeper server reaches another, so there is no quorum. Kafka serves clients, and no metadata can change."""

from __future__ import annotations

from itertools import combinations

from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.network import faults
from kfix.lab.nodes.zookeepers import READ_ONLY, zookeeper_mode
from kfix.lab.waiting import wait_for

_SEEN_SECONDS = 30.0


@Incident(
    "zookeeper-quorum-lost",
    title="ZooKeeper has lost its quorum",
    does="Drops the traffic of the ensemble between all zones.",
    expect=(
        "clients work; nothing can be elected, created or reassigned, and no ISR can change",
        "heal the ensemble; Kafka needs no remedy",
    ),
    zones=True,
    not_on={KRAFT: "it cuts ZooKeeper servers from each other, and KRaft has none"},
)
def run(context: IncidentContext) -> IncidentOutcome:
    lab = context.lab
    for one, other in combinations([each.name for each in faults.network_of(lab.store).zones], 2):
        faults.cut(lab.store, one, other, only="quorum")
    context.report("all ZooKeeper servers are cut from each other")
    state = lab.state

    def lost() -> bool:
        modes = [zookeeper_mode(state.host_of(each).address, each.port) for each in state.zookeepers]
        return all(mode in {"", READ_ONLY} for mode in modes)

    wait_for("no server has a quorum", lost, _SEEN_SECONDS)
    return IncidentOutcome(
        "no ZooKeeper server has a quorum",
        hung=None,
    )
