"""The offsets topic is under its min.insync.replicas: groups read their offsets but cannot commit."""

from __future__ import annotations

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import RECORDS
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.waiting import wait_for

_SERVES_NONE = "a new leader below min.insync.replicas serves no committed offsets there, so groups do not read"


@Incident(
    "offsets-under-min-isr",
    title="the offsets topic has fewer in-sync replicas than min.insync.replicas",
    does="Sets min.insync.replicas=2 on the offsets topic and kills all but one replica of one of its partitions.",
    expect=("reading works, every commit fails; after a rebalance records are read again",),
    not_on={"4.3.1": _SERVES_NONE, "4.4.0": _SERVES_NONE},
    options={"partition": "which partition of the offsets topic (0)"},
)
def run(context: IncidentContext) -> IncidentOutcome:
    groups = context.groups
    partition = context.int_option("partition") or 0
    replicas = context.access.assignment(OFFSETS_TOPIC).get(partition, ())
    if len(replicas) < 2:
        raise UsageError(f"{OFFSETS_TOPIC}-{partition} has no two replicas", hint="kfix lab up --offsets-rf 3")
    controller = context.controller_first()[0]
    survivor = controller if controller in replicas else replicas[0]
    doomed = [broker for broker in replicas if broker != survivor]
    context.set_config("topics", OFFSETS_TOPIC, {"min.insync.replicas": "2"})
    context.report(f"set min.insync.replicas=2 on {OFFSETS_TOPIC}")
    context.kill(*doomed)
    where = TopicPartition(OFFSETS_TOPIC, partition)
    context.wait_state(where, f"isr [{survivor}]", lambda each: (each.leader, each.isr) == (survivor, (survivor,)))
    # Reading first: a coordinator that has loaded its partition fails commits for the right reason only.
    context.wait_groups()
    group = groups.by_partition[partition]
    read = TopicPartition(groups.topic, 0)
    wait_for(f"commits of {group} fail", lambda: groups.commit(partition, {read: RECORDS}) != 0, 30)
    context.require(context.access.readable(*read), f"{read} can still be read")
    context.require(groups.works(partition), f"group {group} still reads its committed offset")
    under = [where for where, state in context.access.states([OFFSETS_TOPIC]).items() if state and len(state.isr) < 2]
    return IncidentOutcome(
        f"group {group} reads its offsets and cannot commit; {len(under)} offsets partitions are like that",
        (f"group {group} reads {groups.topic}, but its commits fail",),
        group=group,
        partitions=under,
        dead=doomed,
        hung=None,
    )
