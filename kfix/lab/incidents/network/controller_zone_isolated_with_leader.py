"""The zone of the controller is isolated with leaders in it: two controllers, two leaders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.network.isolation import isolated
from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    return isolated(context, INCIDENT, with_controller=True, with_leader=True)


INCIDENT = Incident(
    name="controller-zone-isolated-with-leader",
    title="the zone of the controller is isolated with leaders in it: two controllers, two leaders",
    does="Writes from both sides and drops every packet between a zone and the two others.",
    expect=(
        "brokers name two controllers, and two of them lead the same partitions",
        "what only the isolated side took is truncated when it returns; only repairing the network helps",
    ),
    run=run,
    zones=True,
    options={"acks": "acks of the writer in the zone: 1 (default), 0 or all"},
    choices={"acks": ("1", "0", "all")},
)
