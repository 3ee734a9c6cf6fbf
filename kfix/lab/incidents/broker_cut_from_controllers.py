"""A broker is cut from the controllers alone: it leads beside its successor, as long as the cut lasts."""

from __future__ import annotations

from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import NO_QUORUM, Incident, IncidentOutcome
from kfix.lab.incidents.setup.roles import SEEN_SECONDS, assign_roles
from kfix.lab.waiting import wait_for

_WRITTEN = 20


@Incident(
    "broker-cut-from-controllers",
    title="a broker is cut from the controllers alone: it leads beside its successor",
    does="Drops the packets between a zone and the controllers of the other zones; then writes to the old leader.",
    expect=(
        "it is fenced and others lead; it does not learn of that, and leads and coordinates for those who ask it",
        (
            "records sent to it with acks=1 are acknowledged, and truncated when it returns; only a repaired "
            "network helps"
        ),
    ),
    zones=True,
    not_on={ZK: NO_QUORUM},
    options={"acks": "acks of the writer at the old leader: 1 (default), 0 or all"},
    choices={"acks": ("1", "0", "all")},
)
def run(context: IncidentContext) -> IncidentOutcome:
    roles = assign_roles(context)
    zombie, acks = roles.one, str(context.options["acks"])
    where, _ = roles.ledger(zombie, roles.other)
    roles.isolate(zombie, "controller")
    roles.wait_unregistered(zombie)
    moved = context.wait_state(where, "another leads", lambda each: each.leader not in {-1, zombie}, SEEN_SECONDS)
    wait_for(
        f"brokers {zombie} and {moved.leader} both lead {where}",
        lambda: all(context.error_as_leader(broker, where) == 0 for broker in (zombie, moved.leader)),
        SEEN_SECONDS,
    )
    context.report(f"checked: brokers {zombie} and {moved.leader} both answer as leader of {where}")
    before = context.log_ends(where, [zombie])[zombie]
    acknowledged = context.access.produce_at(zombie, where, _WRITTEN, acks)
    appended = context.log_ends(where, [zombie])[zombie] - before
    context.report(
        f"wrote {_WRITTEN} records to {where} at broker {zombie} with acks={acks}: "
        f"{acknowledged} acknowledged, {appended} appended"
    )
    context.require(appended >= _WRITTEN, f"broker {zombie} appends what it is sent")
    return IncidentOutcome(
        partitions=[where],
        details={
            "cut_off": zombie,
            "zone": roles.zone(zombie),
            "controller": roles.active,
            "new_leader": moved.leader,
            "acknowledged": acknowledged,
            "appended": appended,
        },
        hung=None,
    )
