"""D1: the power fails before the last records are replicated. The follower starts first and leads; they are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.setup.content import records
from kfix.lab.incidents.setup.incident import Incident
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "ledger"
WHERE = TopicPartition(TOPIC, 0)
_LOST = 5


def run(context: IncidentContext) -> Broken:
    from kfix.lab.incidents.setup.snapshots import save_look  # noqa: PLC0415 - brings the readers

    groups = context.content()
    leader, follower, *others = context.ids()
    context.topic(TOPIC, [[leader, follower]])
    context.lab.nodes.stop(context.lab.state, follower)
    context.access.produce(TOPIC, {0: records(TOPIC, 0)[:_LOST]}, acks="1")
    context.say(f"broker {follower} stands still, and broker {leader} acknowledges {_LOST} records (acks=1)")
    before = save_look(context.lab, "before-the-power-failure")
    end = context.log_ends(WHERE, [leader])[leader]
    context.require(set(context.live_state(*WHERE).isr) == {leader, follower}, "both are in the isr")
    # All at once: a controller that outlived them would drop the one from the isr whose session ends first.
    context.kill(*context.ids())
    context.start(follower, *others)
    context.wait_state(TOPIC, 0, f"{follower} leads", lambda each: each.leader == follower)
    context.start(leader)
    context.wait_state(TOPIC, 0, "both are in sync", lambda each: set(each.isr) == {leader, follower})
    ends = context.log_ends(WHERE, [leader, follower])
    kept = end - _LOST
    context.require(ends == {leader: kept, follower: kept}, f"both logs end {_LOST} records earlier: {ends}")
    context.say(f"checked: broker {leader} has cut off {_LOST} records, all are in sync, nothing shows it")
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
    title="D1: the power fails before the last records are replicated",
    does="A leader acknowledges records that its follower has not got; all die at once; the leader starts last.",
    expect=(
        "all is well to look at: the records that acks=1 acknowledged are gone without a trace",
        "a look from before tells: kfix diagnose --before FILE (the lab kept one, see `details`)",
    ),
    run=run,
)
