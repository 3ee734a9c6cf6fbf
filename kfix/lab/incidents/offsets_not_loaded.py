"""A record that the brokers cannot read is in an offsets partition: its next leader serves no committed offset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    where, leader, heir = _choose(context)
    group = groups.by_partition[where.partition]
    context.access.write_newer_group(where.partition, f"{group}-next")
    context.report(f"wrote a record of a newer version into {where}; brokers do not read it yet")
    replicas = context.access.assignment(OFFSETS_TOPIC)[where.partition]
    context.reassign({where: (heir, *(broker for broker in replicas if broker != heir))})
    context.access.elect([where], unclean=False)
    context.wait_state(*where, f"led by {heir}", lambda state: state.leader == heir)
    wait_for(
        f"broker {heir} serves no offset of {group}", lambda: groups.fetch(where.partition, heir) == (0, 0) or None, 15
    )
    others = [number for number in groups.by_partition if number != where.partition]
    context.wait_groups(groups, others)
    context.report(f"checked: broker {heir} leads {where} and has no offset of {group}; the other groups work")
    return context.broken(
        INCIDENT.name,
        (f"consumers of group {group} start at auto.offset.reset, without an error", *INCIDENT.expect),
        group=group,
        topic=OFFSETS_TOPIC,
        partitions=[where],
        details={"leader": heir, "led_before": leader},
    )


def _choose(context: IncidentContext) -> tuple[TopicPartition, int, int]:
    """Returns the partition, its leader, and the in-sync replica that becomes leader."""
    wanted = context.int_option("partition")
    for number in context.access.assignment(OFFSETS_TOPIC):
        state = context.live_state(OFFSETS_TOPIC, number)
        others = [broker for broker in state.isr if broker != state.leader]
        if others and wanted in {None, number}:
            return TopicPartition(OFFSETS_TOPIC, number), state.leader, others[0]
    raise UsageError(f"no such partition of {OFFSETS_TOPIC} has an in-sync follower", hint="kfix lab up --offsets-rf 3")


_REFUSES = "its coordinator refuses such a partition altogether: coordinator-failed"
INCIDENT = Incident(
    name="offsets-not-loaded",
    title="the leader of an offsets partition could not load it and serves no committed offset",
    does="Writes a record of a newer version into an offsets partition, then moves its leadership.",
    expect=(
        "every request succeeds; only the log of the partition shows that offsets are missing",
        "groups of other offsets partitions work",
    ),
    run=run,
    not_on={
        "3.9.2": "its coordinator skips records of a type that it does not know",
        "4.3.1": _REFUSES,
        "4.4.0": _REFUSES,
    },
    options={"partition": "which partition of the offsets topic (default: the first suitable one)"},
)
