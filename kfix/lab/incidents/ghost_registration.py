"""A broker that holds no replica is gone for good, and stays registered with the quorum."""

from __future__ import annotations

from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome


@Incident(
    "ghost-registration",
    title="a broker without replicas is gone for good and stays registered",
    does="Adds a broker, which gets no replica, and kills it.",
    expect=(
        "clients notice nothing",
        "metadata.version cannot be raised above what the broker supported, until it is unregistered",
    ),
    not_on={ZK: "with ZooKeeper the registration of a broker ends with its session"},
)
def run(context: IncidentContext) -> IncidentOutcome:
    ghost = max(context.ids()) + 1
    context.add(ghost)
    context.kill(ghost)
    holding = [topic for topic in context.access.topics() if _holds(context, topic, ghost)]
    context.require(not holding, f"broker {ghost} holds no replica: {holding}")
    context.require(ghost not in context.access.live_ids(), f"broker {ghost} is fenced")
    return IncidentOutcome(
        f"broker {ghost} is registered and fenced, and holds no replica; all groups work",
        dead=[ghost],
        details={"ghost": ghost},
    )


def _holds(context: IncidentContext, topic: str, broker: int) -> bool:
    return any(broker in replicas for replicas in context.access.assignment(topic).values())
