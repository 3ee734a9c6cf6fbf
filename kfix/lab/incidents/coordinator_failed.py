"""A group coordinator that could not load its partition, and refuses every group of it forever.

The new coordinator of Kafka 4 gives up a partition where one record contradicts another: here a consumer-protocol
record of a group that is a classic one. Brokers read such a record only when another leader loads the partition.
"""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.commits import Groups
from kfix.lab.clients.groups import NOT_COORDINATOR, name_for
from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.content import CONTENT_TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.process.logs import read_lines
from kfix.lab.waiting import wait_for

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
def run(context: IncidentContext) -> IncidentOutcome:
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
