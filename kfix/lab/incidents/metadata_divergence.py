"""ZooKeeper records another leader of an offsets partition than the controller has in memory.

Up to Kafka 2.0 a superseded controller wrote such a state; from 2.1 on its writes are fenced, so the lab writes it.
No process watches the state znode, so nothing happens until the recorded leader dies.
"""

from __future__ import annotations

from dataclasses import dataclass

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import LabError, UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import ZNODES, Incident, IncidentOutcome

OPTIONS = {"partition": "which partition of the offsets topic"}


@dataclass(frozen=True)
class DivergedPartition:
    where: TopicPartition
    leader: int  # in the controller's memory and the brokers' metadata
    written: int  # the leader in ZooKeeper
    survivors: tuple[int, ...]
    group: str


def diverge(context: IncidentContext) -> DivergedPartition:
    diverged = _choose(context)
    isr = (diverged.written, *diverged.survivors)
    context.znodes.forge_state(*diverged.where, diverged.written, isr)
    context.report(
        f"wrote leader {diverged.written}, ISR {list(isr)} into ZooKeeper's state of {diverged.where}, whose leader is "
        f"{diverged.leader}"
    )
    return diverged


def _choose(context: IncidentContext) -> DivergedPartition:
    wanted = context.int_option("partition")
    controller = context.controller_first()[0]
    candidates = []
    for number, replicas in context.access.assignment(OFFSETS_TOPIC).items():
        where = TopicPartition(OFFSETS_TOPIC, number)
        state = context.live_state(where)
        # If the controller died, a new one would read ZooKeeper and so heal the partition.
        written = [broker for broker in state.isr if broker not in {state.leader, controller}]
        survivors = [broker for broker in state.isr if broker != state.leader and broker not in written[:1]]
        if written and survivors and wanted in {None, number}:
            diverged = DivergedPartition(
                where, state.leader, written[0], tuple(survivors), context.groups.by_partition[number]
            )
            candidates.append((state.leader == controller, len(replicas), number, diverged))
    if not candidates:
        raise UsageError(
            f"no {'such ' if wanted is not None else ''}partition of {OFFSETS_TOPIC} has three in-sync replicas",
            hint="kfix lab up --offsets-rf 3 (or more brokers)",
        )
    return min(candidates)[3]


@Incident(
    "metadata-divergence",
    title="ZooKeeper and the controller disagree about the leader of an offsets partition",
    does="Writes another leader into the state znode of one offsets partition, behind the controller's back.",
    expect=(
        "clients notice nothing: commits and reads work",
        "when the leader recorded in ZooKeeper dies, the partition loses its leader and no broker elects another",
    ),
    not_on={KRAFT: ZNODES},
    options=OPTIONS,
)
def run(context: IncidentContext) -> IncidentOutcome:
    diverged = diverge(context)
    state = context.live_state(diverged.where)
    context.require(state.leader == diverged.written, f"ZooKeeper names leader {diverged.written}")
    for broker in context.lab.broker_ids:
        seen = context.access.metadata(broker)
        if seen is None:
            raise LabError(f"broker {broker} does not answer", hint="kfix lab mend")
        context.require(
            seen.partitions[diverged.where].leader == diverged.leader, f"broker {broker} still names {diverged.leader}"
        )
    return IncidentOutcome(
        f"every broker still names leader {diverged.leader}, and all groups work",
        (f"{diverged.where}: ZooKeeper names {diverged.written}, brokers {diverged.leader}",),
        group=diverged.group,
        partitions=[diverged.where],
    )
