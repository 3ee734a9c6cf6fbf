"""A new leader of an offsets partition is below min.insync.replicas, and serves old committed offsets or none.

It took the partition over with records above its high watermark, which it cannot advance, and a coordinator of Kafka 4
serves what is below it: every request succeeds.
"""

from __future__ import annotations

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.groups import name_for
from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.content import RECORDS
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.waiting import wait_for

_OLD = "the coordinators of its brokers serve what they have loaded"


@Incident(
    "offsets-withheld",
    title="a new leader below min.insync.replicas serves old committed offsets, or none",
    does="Sets min.insync.replicas=2 on the offsets topic, freezes a follower, commits, kills that one and the leader.",
    expect=(
        "every request succeeds, OffsetFetch without the last commits; new commits fail",
        "starting one of the dead brokers brings the offsets back",
    ),
    options={"partition": "which partition of the offsets topic (0)"},
    not_on={ZK: _OLD, "3.9.2": _OLD},
)
def run(context: IncidentContext) -> IncidentOutcome:
    groups = context.groups
    partition = context.int_option("partition") or 0
    replicas = context.access.assignment(OFFSETS_TOPIC).get(partition, ())
    if len(replicas) < 3:
        raise UsageError(f"{OFFSETS_TOPIC}-{partition} has no three replicas", hint="kfix lab up --offsets-rf 3")
    where = TopicPartition(OFFSETS_TOPIC, partition)
    leader = context.live_state(where).leader
    survivor, frozen = [each for each in replicas if each != leader][:2]
    context.wait_groups()
    context.set_config("topics", OFFSETS_TOPIC, {"min.insync.replicas": "2"})
    context.report(f"set min.insync.replicas=2 on {OFFSETS_TOPIC}")
    group = name_for(partition, len(groups.by_partition), "latecomers")
    before = context.log_ends(where, [survivor])[survivor]
    # A frozen follower holds the high watermark back, and not the other follower.
    context.lab.nodes.stop(context.lab.state, frozen)
    context.commit_unanswered(leader, group, TopicPartition(groups.topic, 0), RECORDS)
    end = wait_for(
        f"broker {survivor} has the commit of {group}", lambda: context.grown_end(where, survivor, before), 3
    )
    context.kill(frozen, leader)
    state = context.wait_state(where, f"broker {survivor} leads", lambda each: each.leader == survivor)
    context.require(state.isr == (survivor,), f"its ISR is [{survivor}]: {state.isr}")
    late = type(groups)(context.access, {partition: group}, groups.topic)
    wait_for(f"broker {survivor} serves {partition}", lambda: late.fetch(partition, survivor) == (0, 0), 20)
    return IncidentOutcome(
        f"broker {survivor} serves no offset of group {group}, and its log of {where} ends at {end}",
        (f"a consumer of group {group} begins where auto.offset.reset points",),
        group=group,
        partitions=[where],
        dead=[frozen, leader],
        details={"coordinator": survivor, "log_end": end},
        hung=None,
    )
