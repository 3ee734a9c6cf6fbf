"""The offsets topic is under its min.insync.replicas: groups read their offsets but cannot commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import RECORDS
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    partition = context.int_option("partition") or 0
    replicas = context.access.assignment(OFFSETS_TOPIC).get(partition, ())
    if len(replicas) < 2:
        raise UsageError(f"{OFFSETS_TOPIC}-{partition} has no two replicas", hint="kfix lab up --offsets-rf 3")
    controller = wait_for("there is a controller", context.access.controller, 10)
    survivor = controller if controller in replicas else replicas[0]
    doomed = [broker for broker in replicas if broker != survivor]
    context.set_config("topics", OFFSETS_TOPIC, {"min.insync.replicas": "2"})
    context.report(f"set min.insync.replicas=2 on {OFFSETS_TOPIC}")
    context.kill(*doomed)
    context.wait_state(
        OFFSETS_TOPIC, partition, f"isr [{survivor}]", lambda each: (each.leader, each.isr) == (survivor, (survivor,))
    )
    # Reading first: a coordinator that has loaded its partition fails commits for the right reason only.
    context.wait_groups(groups, groups.by_partition)
    group = groups.by_partition[partition]
    wait_for(
        f"commits of {group} fail",
        lambda: groups.commit(partition, {TopicPartition(groups.topic, 0): RECORDS}) != 0,
        30,
    )
    context.require(context.access.readable(groups.topic, 0), f"{groups.topic}-0 can still be read")
    context.require(groups.works(partition), f"group {group} still reads its committed offset")
    under = [where for where, state in context.access.states([OFFSETS_TOPIC]).items() if state and len(state.isr) < 2]
    context.report(
        f"checked: group {group} reads its offsets and cannot commit; {len(under)} offsets partitions are like that"
    )
    return context.broken(
        INCIDENT.name,
        (f"group {group} reads {groups.topic}, but its commits fail", *INCIDENT.expect),
        group=group,
        topic=OFFSETS_TOPIC,
        partitions=under,
        dead=doomed,
    )


_SERVES_NONE = "a new leader below min.insync.replicas serves no committed offsets there, so groups do not read"
INCIDENT = Incident(
    name="offsets-under-min-isr",
    title="the offsets topic has fewer in-sync replicas than min.insync.replicas",
    does="Sets min.insync.replicas=2 on the offsets topic and kills all but one replica of one of its partitions.",
    expect=("reading works, every commit fails; after a rebalance records are read again",),
    run=run,
    not_on={"4.3.1": _SERVES_NONE, "4.4.0": _SERVES_NONE},
    options={"partition": "which partition of the offsets topic (0)"},
)
