"""ZooKeeper records another leader of an offsets partition than the controller has in memory.

Up to Kafka 2.0 a superseded controller wrote such a state; from 2.1 on its writes are fenced, so the lab writes it.
No process watches the state znode, so nothing happens until the recorded leader dies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import LabError, UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.incident import ZNODES, Incident
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.clients.commits import Groups
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

OPTIONS = {"partition": "which partition of the offsets topic"}


@dataclass(frozen=True)
class DivergedPartition:
    partition: int
    leader: int  # in the controller's memory and the brokers' metadata
    written: int  # the leader in ZooKeeper
    survivors: tuple[int, ...]
    group: str


def diverge(context: IncidentContext) -> tuple[DivergedPartition, Groups]:
    groups = context.content()
    diverged = _choose(context, groups)
    context.znodes.forge_state(
        OFFSETS_TOPIC, diverged.partition, diverged.written, (diverged.written, *diverged.survivors)
    )
    context.report(
        f"wrote leader {diverged.written}, ISR {[diverged.written, *diverged.survivors]} into ZooKeeper's state of "
        f"{OFFSETS_TOPIC}-{diverged.partition}, whose leader is {diverged.leader}"
    )
    return diverged, groups


def _choose(context: IncidentContext, groups: Groups) -> DivergedPartition:
    wanted = context.int_option("partition")
    controller = wait_for("there is a controller", context.access.controller, 10)
    candidates = []
    for number, replicas in context.access.assignment(OFFSETS_TOPIC).items():
        state = context.live_state(OFFSETS_TOPIC, number)
        # If the controller died, a new one would read ZooKeeper and so heal the partition.
        written = [broker for broker in state.isr if broker not in {state.leader, controller}]
        survivors = [broker for broker in state.isr if broker != state.leader and broker not in written[:1]]
        if written and survivors and wanted in {None, number}:
            diverged = DivergedPartition(
                number, state.leader, written[0], tuple(survivors), groups.by_partition[number]
            )
            candidates.append((state.leader == controller, len(replicas), number, diverged))
    if not candidates:
        raise UsageError(
            f"no {'such ' if wanted is not None else ''}partition of {OFFSETS_TOPIC} has three in-sync replicas",
            hint="kfix lab up --offsets-rf 3 (or more brokers)",
        )
    return min(candidates)[3]


def run(context: IncidentContext) -> Broken:
    diverged, groups = diverge(context)
    state = context.live_state(OFFSETS_TOPIC, diverged.partition)
    context.require(state.leader == diverged.written, f"ZooKeeper names leader {diverged.written}")
    for broker in context.lab.broker_ids:
        seen = context.access.metadata(broker)
        if seen is None:
            raise LabError(f"broker {broker} does not answer", hint="kfix lab mend")
        context.require(
            seen.partitions[TopicPartition(OFFSETS_TOPIC, diverged.partition)].leader == diverged.leader,
            f"broker {broker} still names {diverged.leader}",
        )
    context.wait_groups(groups, groups.by_partition)
    context.report(f"checked: every broker still names leader {diverged.leader}, and all groups work")
    return context.broken(
        INCIDENT.name,
        (
            f"{OFFSETS_TOPIC}-{diverged.partition}: ZooKeeper names {diverged.written}, brokers {diverged.leader}",
            *INCIDENT.expect,
        ),
        group=diverged.group,
        topic=OFFSETS_TOPIC,
        partitions=[TopicPartition(OFFSETS_TOPIC, diverged.partition)],
    )


INCIDENT = Incident(
    name="metadata-divergence",
    title="ZooKeeper and the controller disagree about the leader of an offsets partition",
    does="Writes another leader into the state znode of one offsets partition, behind the controller's back.",
    expect=(
        "clients notice nothing: commits and reads work",
        "when the leader recorded in ZooKeeper dies, the partition loses its leader and no broker elects another",
    ),
    run=run,
    not_on={KRAFT: ZNODES},
    options=OPTIONS,
)
