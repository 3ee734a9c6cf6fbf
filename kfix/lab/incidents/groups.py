"""Incidents of consumer groups."""

from __future__ import annotations

import time

from kfix.core.errors import UsageError
from kfix.core.snapshot.group_reading import CLASSIC_GROUP, CONSUMER_GROUP
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.healing.mend import TRANSACTIONAL_ID
from kfix.lab.incidents.setup.content import RECORDS
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.waiting import wait_for
from kfix.lab.workload.readers import CAUSES, LIMITED, LIMITED_CLIENT, PARTITIONS, start_readers

_OFFSET = 5


@Incident(
    "pending-offsets",
    title="a group waits for a transaction that does not end",
    does="Sends an offset of a group within a transaction of 15 minutes, and leaves it without commit or abort.",
    expect=(
        "every coordinator responds; only a request for stable offsets of named partitions shows the fault",
        "other groups work",
    ),
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
def pending_offsets(context: IncidentContext) -> IncidentOutcome:
    """The producer of an open transaction with offsets of a group has died: the group waits until the transaction
    ends.
    """
    groups = context.groups
    committed_in = context.offsets_partition()
    number, where = committed_in.partition, TopicPartition(groups.topic, 0)
    group = groups.by_partition[number]
    context.access.hang_transaction(TRANSACTIONAL_ID, where, group, _OFFSET)
    context.report(f"producer {TRANSACTIONAL_ID} sent an offset of {group} into its transaction and left it open")

    wait_for(f"group {group} is refused its offset of {where}", lambda: groups.refused(number, where), 15)
    return IncidentOutcome(
        f"OffsetFetch refuses {group} the stable offset of {where}; all coordinators respond",
        (f"consumers of group {group} get no record and no error",),
        group=group,
        partitions=[committed_in],
        details={"transactional_id": TRANSACTIONAL_ID, "pending": str(where)},
    )


_BEYOND = 50


@Incident(
    "offset-outside-log",
    title="a committed offset is above the end of the log",
    does="Commits an offset for a group that is 50 records above the end of the log, as after a lost log.",
    expect=(
        "a consumer of the group gets OFFSET_OUT_OF_RANGE, and auto.offset.reset decides where it starts",
        "every coordinator responds",
    ),
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
def offset_outside_log(context: IncidentContext) -> IncidentOutcome:
    """A group has committed an offset that is above the end of the log: its consumers start at auto.offset.reset."""
    groups = context.groups
    number = context.offsets_partition().partition
    where, group, offset = TopicPartition(groups.topic, 0), groups.by_partition[number], RECORDS + _BEYOND
    context.require(groups.commit(number, {where: offset}) == 0, f"group {group} commits offset {offset}")
    context.report(f"group {group} committed offset {offset} of {where}, whose log ends at {RECORDS}")
    return IncidentOutcome(
        "all coordinators respond",
        group=group,
        partitions=[where],
        details={"committed": offset, "log_end": RECORDS},
    )


def _is_modern(context: IncidentContext) -> bool:
    return context.options.get("protocol") == CONSUMER_GROUP


def _refuse(context: IncidentContext) -> None:
    if not _is_modern(context):
        return
    if context.options.get("instance"):
        raise UsageError("instance and protocol=consumer: the lab makes no static member of the consumer protocol")
    context.check_consumer_protocol()


@Incident(
    "rebalance-held",
    title="one member holds its group in a rebalance",
    does="One member joins a group and stops; when another one joins, the coordinator waits 30 minutes for the first.",
    expect=(
        "no member of the group gets a record; the group stays in PreparingRebalance (consumer protocol: Reconciling)",
        "every coordinator responds",
    ),
    options={
        "partition": "which partition of the offsets topic has the group (0)",
        "instance": "group.instance.id of that member (none: a dynamic member; classic protocol only)",
        "protocol": "classic or consumer (KIP-848, Kafka 4 only)",
    },
    choices={"protocol": (CLASSIC_GROUP, CONSUMER_GROUP)},
    refuse=_refuse,
)
def rebalance_held(context: IncidentContext) -> IncidentOutcome:
    """A member of a group does not join again after another one came: the group does not leave its rebalance."""
    instance = context.options.get("instance", "")
    groups, where = context.groups, context.offsets_partition()
    group, leader = groups.by_partition[where.partition], context.live_state(where).leader
    if _is_modern(context):
        held = context.hold_reconciling(group, leader, groups.topic)
    else:
        held = context.hold_rebalance(group, leader, groups.topic, 3, instance)
    return IncidentOutcome(
        group=group,
        partitions=[where],
        details={"member": held, "instance": instance, "coordinator": leader},
        hung=None,
    )


_READ_TOPIC = "mail"
#: Seconds of arriving records that the group is behind.
_BEHIND_SECONDS = 12


@Incident(
    "group-falls-behind",
    title="a group reads more slowly than records arrive",
    does="Starts a producer and the consumers of a group; the option names why they do not keep up.",
    expect=("the coordinator is healthy, and no partition lacks a leader", "the lag of the group grows"),
    options={"cause": "; ".join(f"{name}: {each.does}" for name, each in CAUSES.items())},
    choices={"cause": tuple(CAUSES)},
)
def group_falls_behind(context: IncidentContext) -> IncidentOutcome:
    """The consumers of a group do not keep up with a topic, in one of several ways."""
    cause = context.options.get("cause", next(iter(CAUSES)))
    # Groups of the lab have no members; mending ends these processes, whose places in their group last a moment longer.
    group = f"mailer-{cause}"
    context.access.create_topic(_READ_TOPIC, context.spread(PARTITIONS, 3), {})
    context.report(f"created topic {_READ_TOPIC} with {PARTITIONS} partitions")
    number = start_readers(context.lab, _READ_TOPIC, group, cause)
    context.report(f"workload {number} writes 30 records per second to each of them and reads as {group}")
    time.sleep(_BEHIND_SECONDS)
    return IncidentOutcome(
        CAUSES[cause].does,
        group=group,
        partitions=[TopicPartition(_READ_TOPIC, number) for number in range(PARTITIONS)],
        details={"cause": cause},
        hung=None,
    )


#: Bytes per second that the client id may fetch from each broker: a tenth of what arrives there.
_QUOTA = 2000


@Incident(
    "consumer-throttled",
    title="a quota throttles the consumers of a group",
    does=f"Gives the client id of a group a quota of {_QUOTA} bytes per second, and sends its topic ten times as much.",
    expect=("the coordinator is healthy, and no partition lacks a leader", "the lag of the group grows"),
    options={"quota": f"bytes per second that the client id may fetch from each broker ({_QUOTA}); 10000000 is enough"},
)
def consumer_throttled(context: IncidentContext) -> IncidentOutcome:
    """The brokers throttle the consumers of a group: its client id may fetch less than arrives."""
    quota = context.int_option("quota") or _QUOTA
    group = f"mailer-{LIMITED}"
    context.access.create_topic(_READ_TOPIC, context.spread(PARTITIONS, 3), {})
    context.access.set_quota(LIMITED_CLIENT, quota)
    context.report(f"client id {LIMITED_CLIENT} may fetch {quota} bytes per second from each broker")
    number = start_readers(context.lab, _READ_TOPIC, group, LIMITED)
    context.report(f"workload {number} writes 15 kB per second to each partition of {_READ_TOPIC} and reads as {group}")
    time.sleep(_BEHIND_SECONDS)
    return IncidentOutcome(
        "all coordinators respond",
        group=group,
        partitions=[TopicPartition(_READ_TOPIC, number) for number in range(PARTITIONS)],
        details={"client": LIMITED_CLIENT, "quota": quota},
        hung=None,
    )
