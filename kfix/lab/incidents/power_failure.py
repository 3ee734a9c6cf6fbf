"""D1: the power fails before the last records are replicated. The follower starts first and leads; they are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.content import records
from kfix.lab.incidents.incident import Incident
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage

TOPIC = "ledger"
WHERE = TopicPartition(TOPIC, 0)
_LOST = 5


def run(stage: Stage) -> Broken:
    from kfix.lab.looking import save_look  # noqa: PLC0415 - brings the readers

    groups = stage.content()
    leader, follower, *others = stage.ids()
    stage.topic(TOPIC, [[leader, follower]])
    stage.lab.nodes.stop(stage.lab.state, follower)
    stage.access.produce(TOPIC, {0: records(TOPIC, 0)[:_LOST]}, acks="1")
    stage.say(f"broker {follower} stands still, and broker {leader} acknowledges {_LOST} records (acks=1)")
    before = save_look(stage.lab, "before-the-power-failure")
    end = stage.log_ends(WHERE, [leader])[leader]
    stage.require(set(stage.live_state(*WHERE).isr) == {leader, follower}, "both are in the isr")
    # All at once: a controller that outlived them would drop the one from the isr whose session ends first.
    stage.kill(*stage.ids())
    stage.start(follower, *others)
    stage.wait_state(TOPIC, 0, f"{follower} leads", lambda each: each.leader == follower)
    stage.start(leader)
    stage.wait_state(TOPIC, 0, "both are in sync", lambda each: set(each.isr) == {leader, follower})
    ends = stage.log_ends(WHERE, [leader, follower])
    kept = end - _LOST
    stage.require(ends == {leader: kept, follower: kept}, f"both logs end {_LOST} records earlier: {ends}")
    stage.say(f"checked: broker {leader} has cut off {_LOST} records, all are in sync, nothing shows it")
    return stage.broken(
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
