"""An unclean election elected a replica that lacked records which acks=all had acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import records
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "ledger"
WHERE = TopicPartition(TOPIC, 0)
_ACKNOWLEDGED = 7


def run(context: IncidentContext) -> Broken:
    from kfix.lab.incidents.setup.snapshots import save_snapshot  # noqa: PLC0415 - brings the readers

    groups = context.content()
    controller = wait_for("there is a controller", context.access.controller, 10)
    # The controller leads: frozen as a follower it would hold up every other change of an ISR.
    leader, follower = sorted(context.ids(), key=lambda each: each != controller)[:2]
    context.topic(TOPIC, [[leader, follower]])
    fall_behind(context, [WHERE], (follower,))
    context.access.produce(TOPIC, {0: records(TOPIC, 0)[:_ACKNOWLEDGED]}, acks="all")
    context.report(f"broker {leader}, the only in-sync replica, acknowledged {_ACKNOWLEDGED} records with acks=all")
    before = save_snapshot(context.lab, "before-the-unclean-election")
    end = context.log_ends(WHERE, [leader])[leader]
    context.kill(leader)
    context.wait_state(TOPIC, 0, "leader -1", lambda each: each.leader == -1)
    lift_throttle(context, [TOPIC], (follower,))
    kept = context.log_ends(WHERE, [follower])[follower]
    context.access.elect([WHERE], unclean=True)
    context.wait_state(TOPIC, 0, f"{follower} leads", lambda each: each.leader == follower)
    context.report(f"an unclean election elected broker {follower}, whose log end is {kept}, not {end}")
    context.start(leader)
    context.wait_state(TOPIC, 0, "both are in sync", lambda each: set(each.isr) == {leader, follower})
    ends = context.log_ends(WHERE, [leader, follower])
    context.require(ends == {leader: kept, follower: kept}, f"both logs end at {kept}: {ends}")
    context.report(f"checked: broker {leader} has cut off {end - kept} records, all are in sync, nothing shows it")
    return context.broken(
        INCIDENT.name,
        INCIDENT.expect,
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[WHERE],
        details={
            "old_leader": leader,
            "new_leader": follower,
            "lost": end - kept,
            "committed": end - kept,
            "before": str(before),
        },
    )


INCIDENT = Incident(
    name="unclean-loss",
    title="an unclean election has lost records that acks=all had acknowledged",
    does="The ISR shrinks to the leader, which takes more and dies; the other is elected; the old leader returns.",
    expect=(
        "the cluster looks healthy: records that acks=all acknowledged are lost, as min.insync.replicas is 1",
        "an earlier snapshot shows the loss: kfix diagnose --before FILE (the lab saved one, see `details`)",
    ),
    run=run,
)
