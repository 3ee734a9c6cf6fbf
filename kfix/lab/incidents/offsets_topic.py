"""Incidents of the offsets topic."""

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.commits import name_for
from kfix.lab.definition.properties import DEFAULTS
from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup import single_replicas
from kfix.lab.incidents.setup.content import RECORDS
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.waiting import wait_for

_REFUSES = "its coordinator refuses such a partition altogether: coordinator-failed"


@Incident(
    "offsets-not-loaded",
    title="the leader of an offsets partition could not load it and serves no committed offset",
    does="Writes a record of a newer version into an offsets partition, then moves its leadership.",
    expect=(
        "every request succeeds; only the log of the partition shows that offsets are missing",
        "groups of other offsets partitions work",
    ),
    not_on={
        "3.9.2": "its coordinator skips records of a type that it does not know",
        "4.3.1": _REFUSES,
        "4.4.0": _REFUSES,
    },
    options={"partition": "which partition of the offsets topic (default: the first suitable one)"},
)
def offsets_not_loaded(context: IncidentContext) -> IncidentOutcome:
    """A record that the brokers cannot read is in an offsets partition: its next leader serves no committed offset."""
    groups = context.groups
    where, leader, heir = context.with_follower()
    group = groups.by_partition[where.partition]
    context.access.write_newer_group(where.partition, f"{group}-next")
    context.report(f"wrote a record of a newer version into {where}; brokers do not read it yet")
    replicas = context.access.assignment(OFFSETS_TOPIC)[where.partition]
    context.reassign({where: (heir, *(broker for broker in replicas if broker != heir))})
    context.access.elect([where], unclean=False)
    context.wait_state(where, f"led by {heir}", lambda state: state.leader == heir)
    wait_for(
        f"broker {heir} serves no offset of {group}", lambda: groups.fetch(where.partition, heir) == (0, 0) or None, 15
    )
    return IncidentOutcome(
        f"broker {heir} leads {where} and has no offset of {group}; the other groups work",
        (f"consumers of group {group} start at auto.offset.reset, without an error",),
        group=group,
        partitions=[where],
        details={"leader": heir, "led_before": leader},
        hung={where.partition},
    )


#: The smallest segments that every line of Kafka permits in segment.bytes, and enough records for four of them.
_SEGMENT_BYTES, _COMMITS = 1 << 20, 50_000
#: The records have the times of these hours, in which a cleaner would have been there.
_HOURS = 2
_CLEANER = "log.cleaner.enable"


def _refuse(context: IncidentContext) -> None:
    set_to = {**DEFAULTS, **context.lab.state.spec.settings}[_CLEANER]
    context.require(set_to == "false", f"{_CLEANER} of the lab's brokers is false, as it is without --set")


@Incident(
    "offsets-uncompacted",
    title="the log cleaner does not compact an offsets partition",
    does="Sets small segments and writes 50,000 commits of one group, on brokers without a log cleaner.",
    expect=(
        "every coordinator responds, and every group works",
        "the next leader of the partition reads 50,000 records for 3 committed offsets",
    ),
    options={"partition": "which partition of the offsets topic is written to (0)"},
    refuse=_refuse,
)
def offsets_uncompacted(context: IncidentContext) -> IncidentOutcome:
    """No log cleaner compacts an offsets partition: it grows with every commit, and the next coordinator reads it
    all.
    """
    groups, where = context.groups, context.offsets_partition()
    group = groups.by_partition[where.partition]
    context.set_config("topics", OFFSETS_TOPIC, {"segment.bytes": str(_SEGMENT_BYTES)})
    offsets = {TopicPartition(groups.topic, each): RECORDS // 2 for each in range(3)}
    size = context.write_commits(where, group, offsets, _COMMITS, _HOURS)
    context.require(size >= 3 * _SEGMENT_BYTES, f"{where} has three segments or more")
    context.report(f"wrote {_COMMITS} commits of {group} to {where}: {size} bytes in segments of {_SEGMENT_BYTES}")
    return IncidentOutcome(
        "all coordinators respond",
        group=group,
        partitions=[where],
        details={"bytes": size, "commits": _COMMITS},
    )


@Incident(
    "offsets-rf1",
    title="the offsets topic has replication factor 1 and one of its brokers dies",
    does="Reassigns every offsets partition to a single replica, then kills a broker that holds some.",
    expect=(
        "groups of the other offsets partitions work, other topics are healthy",
        "no election of any kind helps: no other replica is assigned; the broker must come back",
    ),
    refuse=single_replicas.chosen_brokers,
    options={**single_replicas.OPTIONS, "brokers": "where the single replicas go, like 1,2 (default: with the leader)"},
)
def offsets_rf1(context: IncidentContext) -> IncidentOutcome:
    """The offsets topic has replication factor 1, and a broker with some of its partitions dies."""
    chosen = single_replicas.chosen_brokers(context)
    partitions = [TopicPartition(OFFSETS_TOPIC, number) for number in context.access.assignment(OFFSETS_TOPIC)]
    # Where nothing is asked for, each partition stays with its leader: no record moves.
    holders = {
        each: chosen[each.partition % len(chosen)] if chosen else context.live_state(each).leader for each in partitions
    }
    victim = single_replicas.victim(context, holders)
    context.reassign({each: (broker,) for each, broker in holders.items()})
    context.wait_groups()
    if victim is not None:
        return _one_dead(context, holders, victim)
    return IncidentOutcome(
        "each offsets partition has one replica, all brokers live, all groups work",
        ("clients notice nothing; when one of these brokers dies, its groups hang",),
        partitions=holders,
        hung=None,
    )


def _one_dead(context: IncidentContext, holders: dict[TopicPartition, int], victim: int) -> IncidentOutcome:
    lost = sorted(each for each, broker in holders.items() if broker == victim)
    hung = {each.partition: context.groups.by_partition[each.partition] for each in lost}
    context.kill(victim)
    for each in lost:
        heirs = context.wait_state(each, "no recorded leader", lambda state: state.leader == -1).heirs
        context.require(heirs == (victim,), f"the isr of {each} is [{victim}]")
    context.wait_groups(hung)
    context.wait_no_coordinator(context.groups, lost[0].partition)
    return IncidentOutcome(
        f"groups {', '.join(hung.values())} have no coordinator, the other {len(holders) - len(lost)} work",
        (f"consumers of groups {', '.join(hung.values())} hang",),
        group=hung[lost[0].partition],
        partitions=lost,
        dead=[victim],
        hung=None,
    )


_SERVES_NONE = "a new leader below min.insync.replicas serves no committed offsets there, so groups do not read"


@Incident(
    "offsets-under-min-isr",
    title="the offsets topic has fewer in-sync replicas than min.insync.replicas",
    does="Sets min.insync.replicas=2 on the offsets topic and kills all but one replica of one of its partitions.",
    expect=("reading works, every commit fails; after a rebalance records are read again",),
    not_on={"4.3.1": _SERVES_NONE, "4.4.0": _SERVES_NONE},
    options={"partition": "which partition of the offsets topic (0)"},
)
def offsets_under_min_isr(context: IncidentContext) -> IncidentOutcome:
    """The offsets topic is under its min.insync.replicas: groups read their offsets but cannot commit."""
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
def offsets_withheld(context: IncidentContext) -> IncidentOutcome:
    """A new leader of an offsets partition is below min.insync.replicas, and serves old committed offsets or none.

    It took the partition over with records above its high watermark, which it cannot advance, and a coordinator of
    Kafka 4 serves what is below it: every request succeeds.
    """
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
