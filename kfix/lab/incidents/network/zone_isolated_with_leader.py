"""A zone with a leader in it is isolated: two leaders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.network.isolation import isolated
from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    return isolated(context, INCIDENT, with_controller=False, with_leader=True)


INCIDENT = Incident(
    name="zone-isolated-with-leader",
    title="a zone with a leader in it is isolated: two leaders",
    does="Writes from both sides and drops every packet between a zone and the two others.",
    expect=(
        "both sides take different records at the same offsets; those of the isolated side are cut off when it returns",
        "only repairing the network helps: no election, reassignment or restart does",
    ),
    run=run,
    zones=True,
    options={"acks": "acks of the writer in the zone: 1 (default), 0 or all"},
    choices={"acks": ("1", "0", "all")},
)
