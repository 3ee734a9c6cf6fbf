"""A log directory of a broker failed: the broker is alive, and the only in-sync replica of a partition is offline."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle
from kfix.lab.nodes.second_disks import add_disk, fail_disk

REPLICATED = TopicPartition(TOPIC, 1)
_FAILS_SECONDS = 40.0


@Incident(
    "log-dir-failed",
    title="a log directory of a live broker failed",
    does="Gives a broker a second log directory and makes it unusable, with the only in-sync replica of a partition.",
    expect=(
        "the broker leads all its other partitions, so it looks healthy",
        "repairing the directory and restarting the broker heals it without data loss",
    ),
)
def run(context: IncidentContext) -> IncidentOutcome:
    lab = context.lab
    # Any broker but the active controller of a ZooKeeper cluster, which stays the same.
    failing, follower = [each for each in context.ids() if each != context.access.controller()][:2]
    add_disk(lab, failing)
    context.wait_well()
    context.report(f"restarted broker {failing} with a second, empty log directory")
    context.topic(TOPIC, [[failing, follower], [follower, failing]])
    fall_behind(context, [FIRST], (follower,))
    end, behind = (context.log_ends(FIRST, [each])[each] for each in (failing, follower))
    fail_disk(lab, failing)
    context.report(f"put a file in the place of the second log directory of broker {failing}")
    context.wait_no_leader(FIRST, (failing,), _FAILS_SECONDS)
    context.wait_state(REPLICATED, f"{failing} left its ISR", lambda each: each.isr == (follower,), _FAILS_SECONDS)
    lift_throttle(context, [TOPIC], (follower,))
    context.require(failing in context.access.live_ids(), f"broker {failing} is alive")
    return IncidentOutcome(
        f"broker {failing} is alive, {FIRST} has no leader, {REPLICATED} is led by broker {follower}",
        (
            f"{FIRST} cannot be written or read until the log directory of broker {failing} is repaired",
            f"{end - behind} records are only there; an election of broker {follower} would lose them",
        ),
        partitions=[FIRST, REPLICATED],
        details={"broker": failing, "follower": follower, "log_end": end, "log_end_of_follower": behind},
    )
