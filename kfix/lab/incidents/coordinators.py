"""Incidents of group coordinators."""

from dataclasses import dataclass

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import LabError, UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.commits import NOT_COORDINATOR, NOT_LEADER, Groups, name_for
from kfix.lab.definition.recipes import KRAFT, ZK
from kfix.lab.incidents.setup.content import CONTENT_TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import ZNODES, Incident, IncidentOutcome
from kfix.lab.process.logs import read_lines
from kfix.lab.waiting import wait_for

OPTIONS = {"partition": "which partition of the offsets topic"}


@dataclass(frozen=True)
class DivergedPartition:
    """ZooKeeper records another leader of an offsets partition than the controller has in memory.

    Up to Kafka 2.0 a superseded controller wrote such a state; from 2.1 on its writes are fenced, so the lab
    writes it. No process watches the state znode, so nothing happens until the recorded leader dies.
    """

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
def metadata_divergence(context: IncidentContext) -> IncidentOutcome:
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


@Incident(
    "coordinator-stuck",
    title="an offsets partition has no leader, although an in-sync replica is alive",
    does="Does what metadata-divergence does, then kills the broker that ZooKeeper names as leader.",
    expect=(
        "groups of other offsets partitions work; OfflinePartitionsCount stays 0, so no alert fires",
        "starting the dead broker again does not heal it",
    ),
    not_on={KRAFT: ZNODES},
    options=OPTIONS,
)
def coordinator_stuck(context: IncidentContext) -> IncidentOutcome:
    """The leader recorded in ZooKeeper dies; the partition has no leader, and the controller elects none.

    The controller believes that the leader is another, living broker, so it only takes the dead one out of the
    ISR. It re-reads ZooKeeper for that, finds the dead one as leader and writes leader -1; but in its memory the
    partition never went offline, so no election follows.
    """
    diverged = diverge(context)
    where = diverged.where
    context.kill(diverged.written)
    state = context.wait_state(where, "leader -1 in ZooKeeper", lambda each: each.leader == -1)
    context.require(state.isr == diverged.survivors, f"its ISR is {list(diverged.survivors)}, all alive")
    context.wait_leaderless_everywhere(where)
    context.report(f"{where} has leader -1 and isr {list(state.isr)} in ZooKeeper and at every broker")
    context.wait_groups({where.partition})
    context.wait_no_coordinator(context.groups, where.partition)
    context.require(context.live_state(where).leader == -1, "it stays without a leader")
    return IncidentOutcome(
        f"no broker names a coordinator for group {diverged.group}; groups of other partitions work",
        (
            f"consumers of group {diverged.group} hang",
            f"in-sync replica {state.isr[0]} is alive, so an election loses no data",
        ),
        group=diverged.group,
        partitions=[where],
        dead=[diverged.written],
        hung=None,
    )


@Incident(
    "coordinator-silent",
    title="an offsets partition has a leader, but the coordinator there does not answer",
    does="Writes another leader into the state of an offsets partition and makes the controller announce it.",
    expect=(
        "ZooKeeper and every broker agree on the leader; only a request to the coordinator shows the fault",
        "groups of other offsets partitions work",
    ),
    not_on={KRAFT: ZNODES},
    options={
        "partition": "which partition of the offsets topic (default: the first suitable one)",
        "leader": "which follower is written as leader (default: the first in-sync one)",
    },
)
def coordinator_silent(context: IncidentContext) -> IncidentOutcome:
    """Every broker names a leader of an offsets partition, and that broker answers NOT_COORDINATOR.

    The lab writes the state and notifies the controller, which reads it again and sends UpdateMetadata to every
    broker, but no LeaderAndIsr: the broker that all name never becomes leader. The former leader continues, and no
    client asks it.
    """
    groups = context.groups
    where, leader, phantom = context.with_follower(context.int_option("leader"))
    group = groups.by_partition[where.partition]
    before = context.live_state(where)
    context.znodes.forge_state(*where, phantom, before.isr)
    context.znodes.poke(*where)
    context.report(
        f"wrote leader {phantom} into ZooKeeper's state of {where}, led by {leader}, and notified the controller"
    )
    for broker in context.lab.broker_ids:
        wait_for(
            f"broker {broker} names {phantom} as leader and as coordinator",
            lambda via=broker: (
                _named(context, where, via) == (phantom, before.leader_epoch + 1)  # type: ignore[misc]
                and groups.coordinator(where.partition, via) == (0, phantom)
            ),
            20,
        )
    answer, _ = groups.fetch(where.partition, phantom)
    context.require(
        answer == NOT_COORDINATOR, f"broker {phantom} answers group {group} with {NOT_COORDINATOR}: {answer}"
    )
    disowned = context.error_as_leader(phantom, where)
    context.require(disowned == NOT_LEADER, f"broker {phantom} answers {NOT_LEADER} for {where}: {disowned}")
    return IncidentOutcome(
        f"all brokers name {phantom}, which answers NOT_COORDINATOR to group {group}; other groups work",
        (f"consumers of group {group} hang: broker {phantom} is named as coordinator and refuses",),
        group=group,
        partitions=[where],
        details={"named": phantom, "led_before": leader, "leader_epoch": before.leader_epoch + 1},
        hung={where.partition},
    )


def _named(context: IncidentContext, where: TopicPartition, via: int) -> tuple[int, int] | None:
    seen = context.access.metadata(via)
    view = seen.partitions.get(where) if seen else None
    return (view.leader, view.leader_epoch) if view else None


#: Reserved by RFC 6761: no resolver knows it.
_HOST = "nowhere.invalid"


@Incident(
    "coordinator-unreachable",
    title="a broker advertises a host name that does not resolve",
    does="Sets advertised.listeners of the broker that leads an offsets partition to a host name without an address.",
    expect=(
        "the broker is registered, leads, and answers at its real address",
        "groups of other brokers work",
    ),
    not_on={KRAFT: "a running broker changes its advertised.listeners only with ZooKeeper"},
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
def coordinator_unreachable(context: IncidentContext) -> IncidentOutcome:
    """A broker advertises a host name that does not resolve: clients are sent to a coordinator that they cannot
    reach.
    """
    groups = context.groups
    where = context.offsets_partition()
    group, leader = groups.by_partition[where.partition], context.live_state(where).leader
    others = [broker for broker in context.lab.broker_ids if broker != leader]
    port = context.access.addresses()[leader].rpartition(":")[2]
    context.set_config("brokers", str(leader), {"advertised.listeners": f"PLAINTEXT://{_HOST}:{port}"})
    context.report(f"broker {leader} advertises {_HOST}:{port}, by a dynamic setting")
    wait_for(
        f"every other broker names broker {leader} as the coordinator, at that address",
        lambda: all(groups.coordinator_address(where.partition, via) == f"{_HOST}:{port}" for via in others),
        15,
    )
    return IncidentOutcome(
        expect=(f"clients of group {group} are sent to {_HOST}:{port}",),
        group=group,
        partitions=[where],
        details={"coordinator": leader, "address": f"{_HOST}:{port}"},
        hung=None,
    )


_OLD = "its coordinator skips records of a type that it does not know"


@Incident(
    "coordinator-failed",
    title="the coordinator of an offsets partition failed to load it and refuses its groups forever",
    does="Writes a consumer-protocol record for a classic group into its offsets partition, then moves the leader.",
    expect=(
        "every broker names a coordinator; it answers NOT_COORDINATOR to every group, a made-up one too",
        "neither another leader nor a restart helps; brokers no longer list the groups of that partition",
        "groups of other offsets partitions work",
    ),
    options={"partition": "which partition of the offsets topic (default: the first suitable one)"},
    not_on={ZK: _OLD, "3.9.2": _OLD},
)
def coordinator_failed(context: IncidentContext) -> IncidentOutcome:
    """A group coordinator that could not load its partition, and refuses every group of it forever.

    The new coordinator of Kafka 4 gives up a partition where one record contradicts another: here a
    consumer-protocol record of a group that is a classic one. Brokers read such a record only when another leader
    loads the partition.
    """
    groups = context.groups
    where, leader, successor = context.with_follower()
    group = groups.by_partition[where.partition]
    context.access.join_and_leave(group, CONTENT_TOPIC)
    context.report(f"a member of the classic protocol joined group {group}, committed and left")
    context.access.write_newer_group(where.partition, group)
    context.report(f"wrote a record of the consumer protocol for group {group} into {where}")
    _lead(context, where, successor)
    failure = f"Failed to load metadata from {where.topic}-{where.partition} with epoch"
    log = context.lab.store.log_file("broker", successor)
    wait_for(f"broker {successor} fails to load {where}", lambda: any(failure in line for line in read_lines(log)), 20)
    _check_refused(context, groups, where, successor)
    return IncidentOutcome(
        f"all brokers name {successor}, which failed to load {where} and refuses its groups; others work",
        (f"consumers of group {group}, and of every other group of {where}, hang",),
        group=group,
        partitions=[where],
        details={"named": successor, "led_before": leader, "poisoned_group": group},
        hung={where.partition},
    )


def _lead(context: IncidentContext, where: TopicPartition, successor: int) -> None:
    replicas = context.access.assignment(where.topic)[where.partition]
    context.reassign({where: (successor, *(each for each in replicas if each != successor))})
    context.access.elect([where], unclean=False)
    context.wait_state(where, f"broker {successor} leads", lambda each: each.leader == successor)
    context.report(f"made broker {successor} the leader of {where}: it loads the partition")


def _check_refused(context: IncidentContext, groups: Groups, where: TopicPartition, successor: int) -> None:
    partitions = len(groups.by_partition)
    known = groups.by_partition[where.partition]
    for group in (known, name_for(where.partition, partitions, "never-seen")):
        asked = type(groups)(context.access, {where.partition: group}, groups.topic)
        for broker in context.lab.broker_ids:
            found = asked.coordinator(where.partition, broker)
            context.require(found == (0, successor), f"broker {broker} names {successor} for {group}: {found}")
        answer, _ = asked.fetch(where.partition, successor)
        context.require(
            answer == NOT_COORDINATOR, f"broker {successor} answers {group} with {NOT_COORDINATOR}: {answer}"
        )
