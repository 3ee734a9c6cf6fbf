"""Another operator moves a partition under a throttle of a few bytes per second. No broker is dead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup import throttles
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.incidents.setup.options import MEGABYTES
from kfix.lab.incidents.setup.throttles import Throttle

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "ledger"
MOVED = TopicPartition(TOPIC, 0)
_RATE, _MEGABYTES = 10, 2
# A throttled replica fetches at most a segment each time its quota's 11 s are over: 2 MB in these last ten minutes.
_SEGMENT_BYTES = "45000"


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    rate, megabytes = context.int_option("rate") or _RATE, context.int_option("megabytes") or _MEGABYTES
    leader, leaving, coming = context.ids()[:3]
    context.topic(TOPIC, [[leader, leaving], [leaving, coming]], {context.small_segments: _SEGMENT_BYTES})
    context.fill(TOPIC, 1, megabytes)
    throttles.put(context, Throttle(rate, {MOVED: (coming,)}, {MOVED: (leader, leaving)}))
    context.begin_move(MOVED, (leader, coming))
    context.report(
        f"began to reassign {MOVED} from {[leader, leaving]} to {[leader, coming]}, at {rate} bytes per second"
    )
    move = context.wait_move(MOVED)
    context.require(
        (move.adding, move.removing) == ((coming,), (leaving,)), f"{MOVED} moves from {leaving} to {coming}"
    )
    context.wait_groups(groups, groups.by_partition)
    state = context.live_state(*MOVED)
    context.require(coming not in state.isr and state.leader == leader, f"broker {coming} is still far from in sync")
    context.report(f"checked: the move of {MOVED} is under way, all brokers live, groups work")
    return context.broken(
        INCIDENT.name,
        (f"{MOVED} stays under way for minutes, and {TOPIC} and its brokers have throttles", *INCIDENT.expect),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[MOVED],
        details={"from": leaving, "to": coming, "rate": rate, "megabytes": megabytes},
    )


INCIDENT = Incident(
    name="foreign-reassignment",
    title="a slow reassignment of another operator is under way",
    does="Reassigns a partition with a throttle of a few bytes per second; all brokers are alive.",
    expect=(
        "nothing is to be healed; a reassignment, election or throttle there would interfere with the other operator",
    ),
    run=run,
    options={
        "rate": f"bytes a second ({_RATE})",
        "megabytes": f"how much data is to be moved ({_MEGABYTES}; each MB takes five minutes)",
    },
    ranges={"rate": range(1, 1001), "megabytes": MEGABYTES},
)
