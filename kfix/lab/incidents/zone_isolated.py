"""A zone is isolated: with or without the controller in it, with or without leaders."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.roles import SEEN_SECONDS, ZoneRoles, assign_roles, require_successors
from kfix.lab.waiting import wait_for

WRITE_SECONDS = 12.0


def isolated(context: IncidentContext, *, with_controller: bool, with_leader: bool) -> IncidentOutcome:
    """`ledger` is led inside or outside; both sides write to it while the zone is cut."""
    roles = assign_roles(context)
    inside = roles.controller if with_controller else roles.one
    outside = roles.other
    if with_leader:
        partitions = roles.ledger(inside, outside)
    else:
        partitions = roles.ledger(outside, roles.one if with_controller else roles.controller)
        roles.lead_nothing(inside)
    acks = str(context.options["acks"])
    writers = {"writer_inside": roles.write_from(inside, WRITE_SECONDS, acks, retries=3)}
    writers["writer_outside"] = roles.write_from(outside, WRITE_SECONDS)
    _wait_written(context, partitions)
    roles.isolate(inside)
    roles.wait_unregistered(inside)
    if with_controller:
        writers["new_controller"] = roles.wait_other_controller()
    if with_leader:
        moved = context.wait_state(FIRST, "another leads", lambda each: each.leader not in {-1, inside}, SEEN_SECONDS)
        _require_two_leaders(context, inside, moved.leader)
        writers["new_leader"] = moved.leader
    context.wait_state(partitions[1], f"{inside} left its ISR", lambda each: inside not in each.isr, SEEN_SECONDS)
    _require_old_belief(context, roles, inside)
    return IncidentOutcome(
        topic=TOPIC,
        partitions=partitions[:1] if with_leader else (),
        hung=None,
        details={"isolated": inside, "zone": roles.zone(inside), "controller_before": roles.controller, **writers},
    )


def _wait_written(context: IncidentContext, partitions: list[TopicPartition]) -> None:
    """Returns when both writers write, so that the cut catches records in flight."""
    before = {tp: _end(context, tp) for tp in partitions}
    wait_for("the writers write", lambda: all(_end(context, tp) > before[tp] for tp in partitions), SEEN_SECONDS)


def _end(context: IncidentContext, tp: TopicPartition) -> int:
    leader = context.live_state(tp).leader
    return context.log_ends(tp, [leader]).get(leader, -1)


def _require_two_leaders(context: IncidentContext, old: int, new: int) -> None:
    # A new leader answers once its followers have fetched with its leader epoch (error 78 until then).
    wait_for(
        f"brokers {old} and {new} both lead {FIRST}",
        lambda: all(context.error_as_leader(broker, FIRST) == 0 for broker in (old, new)),
        SEEN_SECONDS,
    )
    context.report(f"checked: brokers {old} and {new} both answer as leader of {FIRST}")


def _require_old_belief(context: IncidentContext, roles: ZoneRoles, inside: int) -> None:
    seen = context.access.metadata(inside)
    context.require(
        seen is not None
        and len(seen.brokers) == len(context.ids())
        # On KRaft a broker names any live one.
        and (context.lab.quorum is not None or seen.controller == roles.controller),
        f"broker {inside} still names all brokers, and the controller from before",
    )
    context.report(f"checked: the metadata of broker {inside} is that from before the cut")


def _declare(
    name: str, title: str, expect: tuple[str, ...], *, with_controller: bool = False, with_leader: bool = False
) -> None:
    Incident(
        name,
        title=title,
        does="Writes from both sides and drops every packet between a zone and the two others.",
        expect=expect,
        zones=True,
        options={"acks": "acks of the writer in the zone: 1 (default), 0 or all"},
        choices={"acks": ("1", "0", "all")},
        refuse=require_successors if with_controller else lambda _: None,
    )(lambda context: isolated(context, with_controller=with_controller, with_leader=with_leader))


_NO_REMEDY = "only repairing the network helps: no election, reassignment or restart does"
_declare(
    "zone-isolated",
    "a zone is isolated, with neither controller nor leaders in it",
    ("clients in the zone stop, all others work; its broker is in no ISR of other brokers", _NO_REMEDY),
)
_declare(
    "zone-isolated-with-leader",
    "a zone with a leader in it is isolated: two leaders",
    (
        "both sides take different records at the same offsets; those of the isolated side are cut off when it returns",
        _NO_REMEDY,
    ),
    with_leader=True,
)
_declare(
    "controller-zone-isolated",
    "the zone of the controller is isolated, leaders are elsewhere: two controllers",
    (
        "brokers name two controllers; clients in the zone stop, all others work",
        "the old controller resigns by itself once the network is repaired; change nothing in Kafka",
    ),
    with_controller=True,
)
_declare(
    "controller-zone-isolated-with-leader",
    "the zone of the controller is isolated with leaders in it: two controllers, two leaders",
    (
        "brokers name two controllers, and two of them lead the same partitions",
        "what only the isolated side took is truncated when it returns; only repairing the network helps",
    ),
    with_controller=True,
    with_leader=True,
)
