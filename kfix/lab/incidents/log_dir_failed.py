"""A log directory of a broker failed: the broker is alive, and the only in-sync replica of a partition is offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle
from kfix.lab.nodes.second_disks import add_disk, fail_disk

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "ledger"
DARK, REPLICATED = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
_FAILS_SECONDS = 40.0


def run(context: IncidentContext) -> Broken:
    lab = context.lab
    groups = context.content()
    # Any broker but the active controller of a ZooKeeper cluster, which stays the same.
    failing, follower = [each for each in context.ids() if each != context.access.controller()][:2]
    add_disk(lab, failing)
    context.wait_well()
    context.report(f"restarted broker {failing} with a second, empty log directory")
    context.topic(TOPIC, [[failing, follower], [follower, failing]])
    fall_behind(context, [DARK], (follower,))
    end, behind = (context.log_ends(DARK, [each])[each] for each in (failing, follower))
    fail_disk(lab, failing)
    context.report(f"put a file in the place of the second log directory of broker {failing}")
    state = context.wait_state(TOPIC, 0, "no recorded leader", lambda each: each.leader == -1, _FAILS_SECONDS)
    context.wait_leaderless_everywhere(TOPIC, 0)
    context.wait_state(TOPIC, 1, f"{failing} left its ISR", lambda each: each.isr == (follower,), _FAILS_SECONDS)
    lift_throttle(context, [TOPIC], (follower,))
    context.require(state.heirs == (failing,), f"only broker {failing} may lead {DARK}")
    context.require(failing in context.access.live_ids(), f"broker {failing} is alive")
    context.wait_groups(groups, groups.by_partition)
    context.report(
        f"checked: broker {failing} is alive, {DARK} has no leader, {REPLICATED} is led by broker {follower}"
    )
    return context.broken(
        INCIDENT.name,
        (
            f"{DARK} cannot be written or read until the log directory of broker {failing} is repaired",
            f"{end - behind} records are only there; an election of broker {follower} would lose them",
            *INCIDENT.expect,
        ),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[DARK, REPLICATED],
        details={"broker": failing, "follower": follower, "log_end": end, "log_end_of_follower": behind},
    )


INCIDENT = Incident(
    name="log-dir-failed",
    title="a log directory of a live broker failed",
    does="Gives a broker a second log directory and makes it unusable, with the only in-sync replica of a partition.",
    expect=(
        "the broker leads all its other partitions, so it looks healthy",
        "repairing the directory and restarting the broker heals it without data loss",
    ),
    run=run,
)
