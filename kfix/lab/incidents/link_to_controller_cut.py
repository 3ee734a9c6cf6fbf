"""A broker and the controller do not reach each other. Nothing breaks until something changes."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.roles import SEEN_SECONDS, ZoneRoles, assign_roles
from kfix.lab.waiting import wait_for

NEWS = "news"


@Incident(
    "link-to-controller-cut",
    title="the link between a broker and the controller is cut",
    does="Drops Kafka's packets between a zone and the controller's; then a topic is created.",
    expect=(
        "its metadata is stale; its partitions keep their ISR, and acks=all stalls there once a replica lags",
        "only repairing the network helps; change nothing in Kafka",
    ),
    zones=True,
    not_on={
        KRAFT: "brokers connect to the controllers, which fence one that they do not hear: broker-cut-from-controllers"
    },
    options={
        "only": "kafka: all of Kafka between the two (default), controller: only the controller's own connections"
    },
    choices={"only": ("kafka", "controller")},
)
def run(context: IncidentContext) -> IncidentOutcome:
    roles = assign_roles(context)
    cut_off, third = roles.one, roles.other
    only = context.options["only"]
    partitions = roles.ledger(cut_off, third, roles.controller)
    roles.cut(cut_off, roles.controller, only)
    roles.write_from(third, 14)
    if only == "kafka":
        context.wait_state(partitions[2], f"{cut_off} left its isr", lambda each: cut_off not in each.isr, SEEN_SECONDS)
    # A change that the cut broker does not hear of: a topic without it.
    hearing = (third, roles.controller)
    context.access.create_topic(NEWS, [list(hearing)], {}, known_to=hearing)
    context.report(f"created topic {NEWS} on {list(hearing)}")
    _wait_stale(context, roles, cut_off)
    context.require(context.access.live_ids() == frozenset(context.ids()), "all brokers are registered")
    context.require(context.access.controller() == roles.controller, "the controller is the same")
    return IncidentOutcome(
        f"broker {cut_off} has not heard of {NEWS}, the others have; all are registered",
        (f"broker {cut_off} gives its clients the metadata from before the cut",),
        partitions=partitions,
        details={"cut_off": cut_off, "controller": roles.controller},
        hung=None,
    )


def _wait_stale(context: IncidentContext, roles: ZoneRoles, cut_off: int) -> None:
    def knows(broker: int) -> bool:
        seen = context.access.metadata(broker)
        return seen is not None and TopicPartition(NEWS, 0) in seen.partitions

    wait_for("the others know the new topic", lambda: knows(roles.other) and knows(roles.controller), SEEN_SECONDS)
    context.require(not knows(cut_off), f"broker {cut_off} does not know {NEWS}")
