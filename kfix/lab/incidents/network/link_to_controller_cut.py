"""C2: a broker and the controller do not reach each other. Nothing breaks until something changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.network.roles import SEEN_SECONDS, TOPIC, Cast, cast
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.waiting import wait_for
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

NEWS = "news"


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    actors = cast(context)
    cut_off, third = actors.one, actors.other
    only = context.options["only"]
    partitions = actors.ledger(cut_off, third, actors.controller)
    actors.cut(cut_off, actors.controller, only)
    actors.write_from(third, 14)
    if only == "kafka":
        context.wait_state(TOPIC, 2, f"{cut_off} left its isr", lambda each: cut_off not in each.isr, SEEN_SECONDS)
    # A change that the cut broker does not hear of: a topic without it.
    hearing = (third, actors.controller)
    context.access.create_topic(NEWS, [list(hearing)], {}, known_to=hearing)
    context.say(f"created topic {NEWS} on {list(hearing)}")
    _wait_stale(context, actors, cut_off)
    context.require(context.access.live_ids() == frozenset(context.ids()), "all brokers are registered")
    context.require(context.access.controller() == actors.controller, "the controller is the same")
    context.say(f"checked: broker {cut_off} has not heard of {NEWS}, the others have; all are registered")
    return context.broken(
        INCIDENT.name,
        (f"broker {cut_off} tells its clients what was true before the cut", *INCIDENT.expect),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=partitions,
        details={"cut_off": cut_off, "controller": actors.controller},
    )


def _wait_stale(context: IncidentContext, actors: Cast, cut_off: int) -> None:
    def knows(broker: int) -> bool:
        seen = context.access.metadata(broker)
        return seen is not None and TopicPartition(NEWS, 0) in seen.partitions

    wait_for("the others know the new topic", lambda: knows(actors.other) and knows(actors.controller), SEEN_SECONDS)
    context.require(not knows(cut_off), f"broker {cut_off} does not know {NEWS}")


INCIDENT = Incident(
    name="link-to-controller-cut",
    title="C2: the link between a broker and the controller is cut",
    does="Drops Kafka's packets between a zone and the controller's; then a topic is created.",
    expect=(
        "its metadata is stale; what it leads keeps its isr, and acks=all stalls there once a replica lags",
        "nothing helps but the network, and nothing is to be done to Kafka",
    ),
    run=run,
    zones=True,
    options={"only": "kafka: all of Kafka between the two (that), controller: the controller's own line alone"},
    choices={"only": ("kafka", "controller")},
)
