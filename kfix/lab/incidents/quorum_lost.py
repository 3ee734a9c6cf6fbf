"""The controllers have lost their majority: brokers serve on from the record as it was, and nothing can change it."""

from __future__ import annotations

from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import NO_QUORUM, Incident, IncidentOutcome
from kfix.lab.incidents.setup.quorum import active_id, quorum_of, wait_none_active, wait_record_stands_still


@Incident(
    "quorum-lost",
    title="the controllers have lost their majority, and none is active",
    does="Kills the active controller, and with three of them another one.",
    expect=(
        "producers, consumers and groups work, from the record as it was",
        "requests that brokers forward to the controller hang: reassignments, elections, topics, settings",
        "the next broker that dies is not noticed: its partitions keep it as leader",
    ),
    not_on={ZK: NO_QUORUM},
    own_controllers=True,
)
def run(context: IncidentContext) -> IncidentOutcome:
    active = active_id(context)
    voters = sorted(quorum_of(context).addresses(), key=lambda each: each != active)
    dying = voters[: len(voters) // 2 + 1]
    context.kill_controllers(dying)
    wait_none_active(context)
    offsets = wait_record_stands_still(context)
    context.require(offsets.keys() == set(context.ids()), "every broker answers")
    context.require(context.access.live_ids() == frozenset(context.ids()), "the brokers still name all brokers")
    left = len(voters) - len(dying)
    return IncidentOutcome(
        f"{left} of {len(voters)} controllers are alive, none is active; no broker's record grows; groups work",
        details={
            "controllers_killed": ",".join(map(str, sorted(dying))),
            "controllers_left": left,
            "was_active": active,
            **{f"applied_{broker}": offset for broker, offset in offsets.items()},
        },
    )
