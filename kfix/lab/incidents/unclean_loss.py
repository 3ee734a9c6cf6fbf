"""An unclean election elected a replica that lacked records which acks=all had acknowledged."""

from __future__ import annotations

from kfix.lab.incidents.setup.content import FIRST, TOPIC, records
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle

_ACKNOWLEDGED = 7


@Incident(
    "unclean-loss",
    title="an unclean election has lost records that acks=all had acknowledged",
    does="The ISR shrinks to the leader, which takes more and dies; the other is elected; the old leader returns.",
    expect=(
        "the cluster looks healthy: records that acks=all acknowledged are lost, as min.insync.replicas is 1",
        "an earlier snapshot shows the loss: kfix diagnose --before FILE (the lab saved one, see `details`)",
    ),
)
def run(context: IncidentContext) -> IncidentOutcome:
    from kfix.lab.incidents.setup.snapshots import save_snapshot  # noqa: PLC0415 - brings the readers

    # The controller leads: frozen as a follower it would hold up every other change of an ISR.
    leader, follower = context.controller_first()[:2]
    context.topic(TOPIC, [[leader, follower]])
    fall_behind(context, [FIRST], (follower,))
    context.access.produce(TOPIC, {0: records(TOPIC, 0)[:_ACKNOWLEDGED]}, acks="all")
    context.report(f"broker {leader}, the only in-sync replica, acknowledged {_ACKNOWLEDGED} records with acks=all")
    before = save_snapshot(context.lab, "before-the-unclean-election")
    end = context.log_ends(FIRST, [leader])[leader]
    context.kill(leader)
    context.wait_state(FIRST, "leader -1", lambda each: each.leader == -1)
    lift_throttle(context, [TOPIC], (follower,))
    kept = context.log_ends(FIRST, [follower])[follower]
    context.access.elect([FIRST], unclean=True)
    context.wait_state(FIRST, f"{follower} leads", lambda each: each.leader == follower)
    context.report(f"an unclean election elected broker {follower}, whose log end is {kept}, not {end}")
    context.start(leader)
    context.wait_state(FIRST, "both are in sync", lambda each: set(each.isr) == {leader, follower})
    ends = context.log_ends(FIRST, [leader, follower])
    context.require(ends == {leader: kept, follower: kept}, f"both logs end at {kept}: {ends}")
    return IncidentOutcome(
        f"broker {leader} has cut off {end - kept} records, all are in sync, nothing shows it",
        partitions=[FIRST],
        details={
            "old_leader": leader,
            "new_leader": follower,
            "lost": end - kept,
            "committed": end - kept,
            "before": str(before),
        },
        hung=None,
    )
