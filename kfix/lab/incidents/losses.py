"""Incidents that lose records: the cluster seems healthy afterwards."""

from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.content import FIRST, TOPIC, records
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle

_LOST = 5


@Incident(
    "power-failure",
    title="the power fails before the last records are replicated",
    does="A leader acknowledges records that its follower lacks; all brokers die at once; the leader starts last.",
    expect=(
        "the cluster looks healthy: the records that acks=1 acknowledged are lost without a trace",
        "an earlier snapshot shows the loss: kfix diagnose --before FILE (the lab saved one, see `details`)",
    ),
    not_on={KRAFT: "the controllers outlive the brokers and take the stopped follower out of the ISR"},
)
def power_failure(context: IncidentContext) -> IncidentOutcome:
    """The power fails before the last records are replicated. The follower starts first and leads: the records are
    lost.
    """
    from kfix.lab.incidents.setup.snapshots import save_snapshot  # noqa: PLC0415 - brings the readers

    leader, follower, *others = context.ids()
    context.topic(TOPIC, [[leader, follower]])
    context.lab.nodes.stop(context.lab.state, follower)
    context.access.produce(TOPIC, {0: records(TOPIC, 0)[:_LOST]}, acks="1")
    context.report(f"stopped broker {follower}; broker {leader} acknowledged {_LOST} records (acks=1)")
    before = save_snapshot(context.lab, "before-the-power-failure")
    end = context.log_ends(FIRST, [leader])[leader]
    context.require(set(context.live_state(FIRST).isr) == {leader, follower}, "both are in the ISR")
    # All at once: a surviving controller would remove the broker from the ISR whose session ends first.
    context.kill(*context.ids())
    context.start(follower, *others)
    context.wait_state(FIRST, f"{follower} leads", lambda each: each.leader == follower)
    context.start(leader)
    context.wait_state(FIRST, "both are in sync", lambda each: set(each.isr) == {leader, follower})
    ends = context.log_ends(FIRST, [leader, follower])
    kept = end - _LOST
    context.require(ends == {leader: kept, follower: kept}, f"both logs end {_LOST} records earlier: {ends}")
    return IncidentOutcome(
        f"broker {leader} has truncated {_LOST} records; all replicas are in sync, no metadata shows the loss",
        partitions=[FIRST],
        details={"old_leader": leader, "new_leader": follower, "lost": _LOST, "committed": 0, "before": str(before)},
        hung=None,
    )


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
def unclean_loss(context: IncidentContext) -> IncidentOutcome:
    """An unclean election elected a replica that lacked records which acks=all had acknowledged."""
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
