"""A1 before the fall: ZooKeeper names another leader of an offsets partition than the controller remembers.

On clusters up to 2.0 a superseded controller wrote such a state; from 2.1 on its writes are fenced, so the lab
writes it itself. Nobody watches the state znode, so nothing happens - until a broker dies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.errors import LabError, UsageError
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.waiting import wait_for
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.clients.commits import Groups
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

OPTIONS = {"partition": "which partition of the offsets topic"}


@dataclass(frozen=True)
class Roles:
    partition: int
    leader: int  # in the memory of controller and brokers
    written: int  # the leader in ZooKeeper
    survivors: tuple[int, ...]
    group: str


def diverge(context: IncidentContext) -> tuple[Roles, Groups]:
    groups = context.content()
    roles = _choose(context, groups)
    context.access.forge_state(OFFSETS_TOPIC, roles.partition, roles.written, (roles.written, *roles.survivors))
    context.say(
        f"wrote leader {roles.written}, isr {[roles.written, *roles.survivors]} into ZooKeeper's state of "
        f"{OFFSETS_TOPIC}-{roles.partition}, whose leader is {roles.leader}"
    )
    return roles, groups


def _choose(context: IncidentContext, groups: Groups) -> Roles:
    wanted = context.int_option("partition")
    controller = wait_for("there is a controller", context.access.controller, 10)
    candidates = []
    for number, replicas in context.access.assignment(OFFSETS_TOPIC).items():
        state = context.live_state(OFFSETS_TOPIC, number)
        # The death of the controller would make a new one read ZooKeeper and so heal it.
        written = [broker for broker in state.isr if broker not in {state.leader, controller}]
        survivors = [broker for broker in state.isr if broker != state.leader and broker not in written[:1]]
        if written and survivors and wanted in {None, number}:
            roles = Roles(number, state.leader, written[0], tuple(survivors), groups.by_partition[number])
            candidates.append((state.leader == controller, len(replicas), number, roles))
    if not candidates:
        raise UsageError(
            f"no {'such ' if wanted is not None else ''}partition of {OFFSETS_TOPIC} has three replicas in sync",
            hint="kfix lab up --offsets-rf 3 (or more brokers)",
        )
    return min(candidates)[3]


def run(context: IncidentContext) -> Broken:
    roles, groups = diverge(context)
    state = context.live_state(OFFSETS_TOPIC, roles.partition)
    context.require(state.leader == roles.written, f"ZooKeeper names leader {roles.written}")
    for broker in context.lab.broker_ids:
        seen = context.access.metadata(broker)
        if seen is None:
            raise LabError(f"broker {broker} does not answer", hint="kfix lab mend")
        context.require(
            seen.partitions[TopicPartition(OFFSETS_TOPIC, roles.partition)].leader == roles.leader,
            f"broker {broker} still sees {roles.leader}",
        )
    context.wait_groups(groups, groups.by_partition)
    context.say(f"checked: every broker still says leader {roles.leader}, and all groups work")
    return context.broken(
        INCIDENT.name,
        (
            f"{OFFSETS_TOPIC}-{roles.partition}: ZooKeeper says leader {roles.written}, all brokers say {roles.leader}",
            *INCIDENT.expect,
        ),
        group=roles.group,
        topic=OFFSETS_TOPIC,
        partitions=[TopicPartition(OFFSETS_TOPIC, roles.partition)],
    )


INCIDENT = Incident(
    name="coordinator-latent",
    title="A1, latent: ZooKeeper and the controller disagree about the leader of an offsets partition",
    does="Writes another leader into the state znode of one offsets partition, behind the controller's back.",
    expect=(
        "clients notice nothing: commits and reads work",
        "the day the leader named in ZooKeeper dies, the partition loses its leader and does not get one again",
    ),
    run=run,
    options=OPTIONS,
)
