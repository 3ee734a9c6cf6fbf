"""The ISR shrank to the leader alone, then the leader died. The live replicas lack its last records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "ledger"
DARK = TopicPartition(TOPIC, 0)


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    controller = wait_for("there is a controller", context.access.controller, 10)
    # The controller leads: stopped as a follower it would delay every other ISR change.
    leader, *others = sorted(context.ids(), key=lambda each: each != controller)
    followers = tuple(others[:2])
    shorter_first = context.options["shorter_first"] == "yes"
    context.topic(TOPIC, [[leader, *followers]])
    fall_behind(context, [DARK], followers, one_by_one=shorter_first)
    end = context.log_ends(DARK, [leader])[leader]
    context.kill(leader)
    state = context.wait_state(TOPIC, 0, "no recorded leader", lambda each: each.leader == -1)
    context.wait_leaderless_everywhere(TOPIC, 0)
    lift_throttle(context, [TOPIC], followers)
    context.require(state.heirs == (leader,), f"its ISR is [{leader}], which is dead")
    ends = context.log_ends(DARK, followers)
    first, second = (ends[each] for each in followers)
    context.require(max(first, second) < end, f"both logs, {ends}, are shorter than the leader's, {end}")
    context.require(not shorter_first or first < second, f"the first of {followers} has the shorter log: {ends}")
    context.wait_groups(groups, groups.by_partition)
    context.report(
        f"checked: {TOPIC}-0 has leader -1, ISR [{leader}]; {list(followers)} are alive outside the ISR; groups work"
    )
    return context.broken(
        INCIDENT.name,
        (
            f"{TOPIC}-0 cannot be written or read until broker {leader} returns",
            f"log ends: {end} on the dead broker {leader}, {first} on {followers[0]}, {second} on {followers[1]}",
            f"an unclean election elects {followers[0]}, the first in order, and loses {end - first} records",
            f"{end - max(first, second)} records are only on broker {leader}",
            *INCIDENT.expect,
        ),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[DARK],
        dead=[leader],
        details={
            **{f"log_end_{broker}": ends[broker] for broker in followers},
            f"log_end_{leader}": end,
            "would_win": followers[0],
            "lost_if_it_wins": end - first,
            "only_on_dead_leader": end - max(first, second),
        },
    )


INCIDENT = Incident(
    name="isr-gone",
    title="the ISR shrank to the leader alone, then the leader died",
    does="Makes the followers of a partition lag until they leave the ISR, writes more to the leader, kills it.",
    expect=(
        "only an unclean election could elect a leader now, and it would lose acknowledged records",
        "restarting the dead broker heals it without data loss",
    ),
    run=run,
    options={
        "shorter_first": "yes: the live replica that is first in order has fewer records than the other (default: no)"
    },
    choices={"shorter_first": ("no", "yes")},
)
