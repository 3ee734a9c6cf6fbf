"""The power fails before the last records are replicated. The follower starts first and leads: the records are lost."""

from __future__ import annotations

from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.content import FIRST, TOPIC, records
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome

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
def run(context: IncidentContext) -> IncidentOutcome:
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
