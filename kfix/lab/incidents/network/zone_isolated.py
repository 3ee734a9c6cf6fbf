"""A zone is isolated, with neither controller nor leaders in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.network.isolation import isolated
from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    return isolated(context, INCIDENT, with_controller=False, with_leader=False)


INCIDENT = Incident(
    name="zone-isolated",
    title="a zone is isolated, with neither controller nor leaders in it",
    does="Writes from both sides and drops every packet between a zone and the two others.",
    expect=(
        "clients in the zone stop, all others work; its broker is in no ISR of other brokers",
        "only repairing the network helps: no election, reassignment or restart does",
    ),
    run=run,
    zones=True,
    options={"acks": "acks of the writer in the zone: 1 (default), 0 or all"},
    choices={"acks": ("1", "0", "all")},
)
