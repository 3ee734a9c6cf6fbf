"""The ISR shrank to the leader alone, then the leader died. The live replicas lack its last records."""

from __future__ import annotations

from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle


@Incident(
    "isr-gone",
    title="the ISR shrank to the leader alone, then the leader died",
    does="Makes the followers of a partition lag until they leave the ISR, writes more to the leader, kills it.",
    expect=(
        "only an unclean election could elect a leader now, and it would lose acknowledged records",
        "restarting the dead broker heals it without data loss",
    ),
    options={
        "shorter_first": "yes: the live replica that is first in order has fewer records than the other (default: no)"
    },
    choices={"shorter_first": ("no", "yes")},
)
def run(context: IncidentContext) -> IncidentOutcome:
    # The controller leads: stopped as a follower it would delay every other ISR change.
    leader, *others = context.controller_first()
    followers = tuple(others[:2])
    shorter_first = context.options["shorter_first"] == "yes"
    context.topic(TOPIC, [[leader, *followers]])
    fall_behind(context, [FIRST], followers, one_by_one=shorter_first)
    end = context.log_ends(FIRST, [leader])[leader]
    context.kill(leader)
    context.wait_no_leader(FIRST, (leader,))
    lift_throttle(context, [TOPIC], followers)
    ends = context.log_ends(FIRST, followers)
    first, second = (ends[each] for each in followers)
    context.require(max(first, second) < end, f"both logs, {ends}, are shorter than the leader's, {end}")
    context.require(not shorter_first or first < second, f"the first of {followers} has the shorter log: {ends}")
    return IncidentOutcome(
        f"{TOPIC}-0 has leader -1, ISR [{leader}]; {list(followers)} are alive outside the ISR; groups work",
        (
            f"{TOPIC}-0 cannot be written or read until broker {leader} returns",
            f"log ends: {end} on the dead broker {leader}, {first} on {followers[0]}, {second} on {followers[1]}",
            f"an unclean election elects {followers[0]}, the first in order, and loses {end - first} records",
            f"{end - max(first, second)} records are only on broker {leader}",
        ),
        partitions=[FIRST],
        dead=[leader],
        details={
            **{f"log_end_{broker}": ends[broker] for broker in followers},
            f"log_end_{leader}": end,
            "would_win": followers[0],
            "lost_if_it_wins": end - first,
            "only_on_dead_leader": end - max(first, second),
        },
    )
