"""The power fails before the last records are replicated. The follower starts first and leads: the records are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.content import records
from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "ledger"
WHERE = TopicPartition(TOPIC, 0)
_LOST = 5


def run(context: IncidentContext) -> Broken:
    from kfix.lab.incidents.setup.snapshots import save_snapshot  # noqa: PLC0415 - brings the readers

    groups = context.content()
    leader, follower, *others = context.ids()
    context.topic(TOPIC, [[leader, follower]])
    context.lab.nodes.stop(context.lab.state, follower)
    context.access.produce(TOPIC, {0: records(TOPIC, 0)[:_LOST]}, acks="1")
    context.report(f"stopped broker {follower}; broker {leader} acknowledged {_LOST} records (acks=1)")
    before = save_snapshot(context.lab, "before-the-power-failure")
    end = context.log_ends(WHERE, [leader])[leader]
    context.require(set(context.live_state(*WHERE).isr) == {leader, follower}, "both are in the ISR")
    # All at once: a surviving controller would remove the broker from the ISR whose session ends first.
    context.kill(*context.ids())
    context.start(follower, *others)
    context.wait_state(TOPIC, 0, f"{follower} leads", lambda each: each.leader == follower)
    context.start(leader)
    context.wait_state(TOPIC, 0, "both are in sync", lambda each: set(each.isr) == {leader, follower})
    ends = context.log_ends(WHERE, [leader, follower])
    kept = end - _LOST
    context.require(ends == {leader: kept, follower: kept}, f"both logs end {_LOST} records earlier: {ends}")
    context.report(
        f"checked: broker {leader} has truncated {_LOST} records; all replicas are in sync, no metadata shows the loss"
    )
    return context.broken(
        INCIDENT.name,
        INCIDENT.expect,
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[WHERE],
        details={"old_leader": leader, "new_leader": follower, "lost": _LOST, "committed": 0, "before": str(before)},
    )


INCIDENT = Incident(
    name="power-failure",
    title="the power fails before the last records are replicated",
    does="A leader acknowledges records that its follower lacks; all brokers die at once; the leader starts last.",
    expect=(
        "the cluster looks healthy: the records that acks=1 acknowledged are lost without a trace",
        "an earlier snapshot shows the loss: kfix diagnose --before FILE (the lab saved one, see `details`)",
    ),
    run=run,
    not_on={KRAFT: "the controllers outlive the brokers and take the stopped follower out of the ISR"},
)
