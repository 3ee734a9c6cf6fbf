"""Another operator moves a partition under a throttle of a few bytes per second. No broker is dead."""

from __future__ import annotations

from kfix.lab.incidents.setup import throttles
from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.options import MEGABYTES
from kfix.lab.incidents.setup.throttles import Throttle

_RATE, _MEGABYTES = 10, 2
# A throttled replica fetches at most a segment each time its quota's 11 s are over: 2 MB in these last ten minutes.
_SEGMENT_BYTES = "45000"


@Incident(
    "foreign-reassignment",
    title="a slow reassignment of another operator is under way",
    does="Reassigns a partition with a throttle of a few bytes per second; all brokers are alive.",
    expect=(
        "nothing is to be healed; a reassignment, election or throttle there would interfere with the other operator",
    ),
    options={
        "rate": f"bytes a second ({_RATE})",
        "megabytes": f"how much data is to be moved ({_MEGABYTES}; each MB takes five minutes)",
    },
    ranges={"rate": range(1, 1001), "megabytes": MEGABYTES},
)
def run(context: IncidentContext) -> IncidentOutcome:
    rate, megabytes = context.int_option("rate") or _RATE, context.int_option("megabytes") or _MEGABYTES
    leader, leaving, coming = context.ids()[:3]
    context.topic(TOPIC, [[leader, leaving], [leaving, coming]], {context.small_segments: _SEGMENT_BYTES})
    context.fill(TOPIC, 1, megabytes)
    throttles.put(context, Throttle(rate, {FIRST: (coming,)}, {FIRST: (leader, leaving)}))
    context.begin_move(FIRST, (leader, coming))
    context.report(
        f"began to reassign {FIRST} from {[leader, leaving]} to {[leader, coming]}, at {rate} bytes per second"
    )
    move = context.wait_move(FIRST)
    context.require(
        (move.adding, move.removing) == ((coming,), (leaving,)), f"{FIRST} moves from {leaving} to {coming}"
    )
    context.wait_groups()
    state = context.live_state(FIRST)
    context.require(coming not in state.isr and state.leader == leader, f"broker {coming} is still far from in sync")
    return IncidentOutcome(
        f"the move of {FIRST} is under way, all brokers live, groups work",
        (f"{FIRST} stays under way for minutes, and {TOPIC} and its brokers have throttles",),
        partitions=[FIRST],
        details={"from": leaving, "to": coming, "rate": rate, "megabytes": megabytes},
        hung=None,
    )
