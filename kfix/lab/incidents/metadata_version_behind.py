"""A feature is below what the software supports, as after an upgrade of the software alone."""

from __future__ import annotations

from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import NO_QUORUM, Incident, IncidentOutcome


@Incident(
    "metadata-version-behind",
    title="a feature of the cluster is below what its software supports",
    does="Switches eligible leader replicas off, as in a cluster that an older release created.",
    expect=("clients notice nothing", "if an ISR loses its last member, only an unclean election is left"),
    not_on={
        ZK: NO_QUORUM,
        "3.9.2": "Kafka 3.9 has no feature that could be behind; kfix lab upgrade leaves metadata.version behind",
    },
    elr=True,
)
def run(context: IncidentContext) -> IncidentOutcome:
    context.access.set_elr(0)
    context.report("switched eligible leader replicas off (eligible.leader.replicas.version=0)")
    return IncidentOutcome()
