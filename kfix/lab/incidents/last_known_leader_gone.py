"""A partition without a leader remembers a last leader that is no replica of it: its only replica cannot register.

A reassignment was cancelled with unclean elections allowed (KAFKA-14424). The controller fails on the registration of
the replica, and gives its leadership up at each attempt.
"""

from __future__ import annotations

from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.waiting_move import begin_waiting_move, move_roles

_UNCLEAN = "unclean.leader.election.enable"


@Incident(
    "last-known-leader-gone",
    title="the last known leader of a leaderless partition is no longer one of its replicas",
    does="Cancels a reassignment whose original replica is dead, with unclean elections allowed.",
    expect=(
        "starting the dead broker makes the controllers resign one after another, and it never registers",
        "with eligible.leader.replicas.version=0 it registers and leads, and no record is lost",
    ),
    not_on={
        ZK: "last known leaders are of KRaft",
        "3.9.2": "Kafka 3.9 keeps no last known leaders",
    },
    elr=True,
)
def run(context: IncidentContext) -> IncidentOutcome:
    roles = move_roles(context)
    kept, origin, target = roles
    begin_waiting_move(context, FIRST, roles, [origin])
    context.kill(target, origin)
    context.wait_state(FIRST, f"led by {kept}", lambda each: each.leader == kept)
    context.set_config("topics", TOPIC, {_UNCLEAN: "true"})
    context.begin_move(FIRST, None)
    context.report(f"cancelled it with {_UNCLEAN}=true: broker {kept}, which led, deletes its copy")
    context.wait_state(FIRST, f"no leader, last {kept}", lambda each: (each.leader, each.last_known) == (-1, (kept,)))
    replicas = context.access.assignment(TOPIC)[FIRST.partition]
    context.require(replicas == (origin,), f"its only replica is {origin}: {replicas}")
    context.set_config("topics", TOPIC, {_UNCLEAN: "false"})
    context.start(target)
    return IncidentOutcome(
        f"{FIRST} has no leader; replicas [{origin}], last known leader {kept}, no replica of it",
        (f"when broker {origin} starts, the controller fails on its registration, again and again",),
        partitions=[FIRST],
        dead=[origin],
        details={"last_known": kept, "replica": origin},
    )
