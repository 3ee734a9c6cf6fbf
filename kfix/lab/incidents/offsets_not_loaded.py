"""A record that the brokers cannot read is in an offsets partition: its next leader serves no committed offset."""

from __future__ import annotations

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.waiting import wait_for

_REFUSES = "its coordinator refuses such a partition altogether: coordinator-failed"


@Incident(
    "offsets-not-loaded",
    title="the leader of an offsets partition could not load it and serves no committed offset",
    does="Writes a record of a newer version into an offsets partition, then moves its leadership.",
    expect=(
        "every request succeeds; only the log of the partition shows that offsets are missing",
        "groups of other offsets partitions work",
    ),
    not_on={
        "3.9.2": "its coordinator skips records of a type that it does not know",
        "4.3.1": _REFUSES,
        "4.4.0": _REFUSES,
    },
    options={"partition": "which partition of the offsets topic (default: the first suitable one)"},
)
def run(context: IncidentContext) -> IncidentOutcome:
    groups = context.groups
    where, leader, heir = context.with_follower()
    group = groups.by_partition[where.partition]
    context.access.write_newer_group(where.partition, f"{group}-next")
    context.report(f"wrote a record of a newer version into {where}; brokers do not read it yet")
    replicas = context.access.assignment(OFFSETS_TOPIC)[where.partition]
    context.reassign({where: (heir, *(broker for broker in replicas if broker != heir))})
    context.access.elect([where], unclean=False)
    context.wait_state(where, f"led by {heir}", lambda state: state.leader == heir)
    wait_for(
        f"broker {heir} serves no offset of {group}", lambda: groups.fetch(where.partition, heir) == (0, 0) or None, 15
    )
    return IncidentOutcome(
        f"broker {heir} leads {where} and has no offset of {group}; the other groups work",
        (f"consumers of group {group} start at auto.offset.reset, without an error",),
        group=group,
        partitions=[where],
        details={"leader": heir, "led_before": leader},
        hung={where.partition},
    )
