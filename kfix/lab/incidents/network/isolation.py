"""An isolated zone: what its four incidents have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.network.roles import SEEN_SECONDS, TOPIC, ZoneRoles, assign_roles, require_successors
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.incident import Incident
    from kfix.lab.incidents.setup.result import Broken

WRITE_SECONDS = 12.0


def isolated(context: IncidentContext, incident: Incident, *, with_controller: bool, with_leader: bool) -> Broken:
    """`ledger` is led inside or outside; both sides write to it while the zone is cut."""
    if with_controller:
        require_successors(context)
    groups = context.content()
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
        moved = context.wait_state(
            TOPIC, 0, "another leads", lambda each: each.leader not in {-1, inside}, SEEN_SECONDS
        )
        _require_two_leaders(context, inside, moved.leader)
        writers["new_leader"] = moved.leader
    context.wait_state(TOPIC, 1, f"{inside} left its ISR", lambda each: inside not in each.isr, SEEN_SECONDS)
    _require_old_belief(context, roles, inside)
    return context.broken(
        incident.name,
        incident.expect,
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=partitions[:1] if with_leader else (),
        details={"isolated": inside, "zone": roles.zone(inside), "controller_before": roles.controller, **writers},
    )


def _wait_written(context: IncidentContext, partitions: list[TopicPartition]) -> None:
    """Returns when both writers write, so that the cut catches records in flight."""
    before = {tp: _end(context, tp) for tp in partitions}
    wait_for("the writers write", lambda: all(_end(context, tp) > before[tp] for tp in partitions), SEEN_SECONDS)


def _end(context: IncidentContext, tp: TopicPartition) -> int:
    leader = context.live_state(*tp).leader
    return context.log_ends(tp, [leader]).get(leader, -1)


def _require_two_leaders(context: IncidentContext, old: int, new: int) -> None:
    where = TopicPartition(TOPIC, 0)
    # A new leader answers once its followers have fetched with its leader epoch (error 78 until then).
    wait_for(
        f"brokers {old} and {new} both lead {where}",
        lambda: all(context.error_as_leader(broker, where) == 0 for broker in (old, new)),
        SEEN_SECONDS,
    )
    context.report(f"checked: brokers {old} and {new} both answer as leader of {where}")


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
