"""Incidents of leaders and of the ISR of a topic."""

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.content import FIRST, RECORDS, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle
from kfix.lab.incidents.setup.throttles import begin_waiting_move, move_roles
from kfix.lab.waiting import wait_for


@Incident(
    "isr-gone",
    title="the ISR shrank to the leader alone, then the leader died",
    does="Makes the followers of a partition lag until they leave the ISR, writes more to the leader, kills it.",
    expect=(
        "only an unclean election could elect a leader now, and it would lose acknowledged records",
        "restarting the dead broker heals it without data loss",
    ),
    options={
        "shorter_first": "yes: the live replica that is first in order has fewer records than the other (default: no)"
    },
    choices={"shorter_first": ("no", "yes")},
)
def isr_gone(context: IncidentContext) -> IncidentOutcome:
    """The ISR shrank to the leader alone, then the leader died. The live replicas lack its last records."""
    # The controller leads: stopped as a follower it would delay every other ISR change.
    leader, *others = context.controller_first()
    followers = tuple(others[:2])
    shorter_first = context.options["shorter_first"] == "yes"
    context.topic(TOPIC, [[leader, *followers]])
    fall_behind(context, [FIRST], followers, one_by_one=shorter_first)
    end = context.log_ends(FIRST, [leader])[leader]
    context.kill(leader)
    context.wait_no_leader(FIRST, (leader,))
    lift_throttle(context, [TOPIC], followers)
    ends = context.log_ends(FIRST, followers)
    first, second = (ends[each] for each in followers)
    context.require(max(first, second) < end, f"both logs, {ends}, are shorter than the leader's, {end}")
    context.require(not shorter_first or first < second, f"the first of {followers} has the shorter log: {ends}")
    return IncidentOutcome(
        f"{TOPIC}-0 has leader -1, ISR [{leader}]; {list(followers)} are alive outside the ISR; groups work",
        (
            f"{TOPIC}-0 cannot be written or read until broker {leader} returns",
            f"log ends: {end} on the dead broker {leader}, {first} on {followers[0]}, {second} on {followers[1]}",
            f"an unclean election elects {followers[0]}, the first in order, and loses {end - first} records",
            f"{end - max(first, second)} records are only on broker {leader}",
        ),
        partitions=[FIRST],
        dead=[leader],
        details={
            **{f"log_end_{broker}": ends[broker] for broker in followers},
            f"log_end_{leader}": end,
            "would_win": followers[0],
            "lost_if_it_wins": end - first,
            "only_on_dead_leader": end - max(first, second),
        },
    )


@Incident(
    "under-min-isr",
    title="a topic has fewer in-sync replicas than min.insync.replicas",
    does="Creates a topic with min.insync.replicas=2 and kills two of its three replicas.",
    expect=(
        "producers with acks=all fail, with acks=1 they work; consumers read",
        "no election helps: there is a leader",
    ),
)
def under_min_isr(context: IncidentContext) -> IncidentOutcome:
    """Fewer in-sync replicas than min.insync.replicas: there is a leader, consumers read, acks=all fails."""
    survivor, *others = context.controller_first()
    first, second = others[-2:]
    context.topic(TOPIC, [[first, second, survivor], [second, survivor, first]], {"min.insync.replicas": "2"})
    context.kill(first, second)
    partitions = [FIRST, TopicPartition(TOPIC, 1)]
    for each in partitions:
        context.wait_state(
            each, f"isr [{survivor}]", lambda state: state.isr == (survivor,) and state.leader == survivor
        )

    def refused() -> bool:
        return context.access.produce_error(TOPIC, 0, "all") == "NOT_ENOUGH_REPLICAS"

    # The leader learns of the smaller ISR a moment after ZooKeeper; until then it answers REQUEST_TIMED_OUT.
    wait_for("acks=all is refused for want of replicas", refused, 30)
    context.require(context.access.readable(*FIRST), f"{FIRST} can still be read")
    return IncidentOutcome(
        f"acks=all on {TOPIC} meets NOT_ENOUGH_REPLICAS, reading works, groups work",
        (f"{TOPIC}: isr [{survivor}], min.insync.replicas 2",),
        partitions=partitions,
        dead=[first, second],
    )


_SECOND = TopicPartition(TOPIC, 1)


@Incident(
    "packed-replicas",
    title="the replicas of a topic are on too few brokers, and two of these die",
    does="Places two partitions on overlapping pairs of brokers, makes one replica lag, kills two brokers.",
    expect=("topics spread over all brokers survive the same two deaths",),
)
def packed_replicas(context: IncidentContext) -> IncidentOutcome:
    """The replicas of a topic are on too few brokers: partition 0 on [a, b], partition 1 on [b, c]; a and b die."""
    # The third is not the controller: frozen it would hold up every other change of an ISR.
    first, second, third = context.controller_first()[:3]
    context.topic(TOPIC, [[first, second], [second, third]])
    fall_behind(context, [_SECOND], (third,))
    context.kill(first, second)
    for each in (FIRST, _SECOND):
        context.wait_state(each, "no recorded leader", lambda state: state.leader == -1)
        context.wait_leaderless_everywhere(each)
    lift_throttle(context, [TOPIC], [third])
    context.require(context.live_state(_SECOND).heirs == (second,), f"{third} is outside the isr of {_SECOND}")
    return IncidentOutcome(
        f"{TOPIC}-0 has no live replica, {TOPIC}-1 only {third}, outside the ISR; groups work",
        (
            f"{TOPIC}-0: only starting {first} or {second} helps",
            f"{TOPIC}-1: {third} is alive but lags",
        ),
        partitions=[FIRST, _SECOND],
        dead=[first, second],
    )


MIRROR = "journal"


@Incident(
    "whole-isr-dead",
    title="the whole ISR is dead, a replica outside it is alive; and the same with RF 2, where it came back first",
    does="Makes one replica of two topics lag behind, kills all their brokers, starts the lagging one again.",
    expect=("the live replica lacks records: an unclean election would lose them",),
)
def whole_isr_dead(context: IncidentContext) -> IncidentOutcome:
    """Every in-sync replica is dead, another replica is alive. Second case: RF 2, both were down, one is back."""
    # Not the controller: frozen it would hold up every other change of an ISR.
    first, second, late = context.controller_first()[:3]
    context.topic(TOPIC, [[first, second, late]])
    context.topic(MIRROR, [[first, late]])
    affected = [FIRST, TopicPartition(MIRROR, 0)]
    fall_behind(context, affected, (late,))
    # One after the other: else chance decides which of them the controllers of KRaft remember as the last leader.
    context.kill(second)
    context.wait_state(FIRST, f"isr of {first} only", lambda state: state.isr == (first,))
    context.kill(first)
    # Only now: of other partitions the last one in the ISR could else be one that stays dead.
    context.wait_dead_left_isr(frozenset(affected))
    context.kill(late)
    context.start(late)
    for each in affected:
        heirs = context.wait_state(each, "no recorded leader", lambda state: state.leader == -1).heirs
        context.wait_leaderless_everywhere(each)
        context.require(bool(heirs) and late not in heirs, f"{late} is outside the isr {list(heirs)} of {each}")
    lift_throttle(context, [TOPIC, MIRROR], [late])
    return IncidentOutcome(
        f"{TOPIC}-0 and {MIRROR}-0 have leader -1; their only live replica {late} is outside the ISR",
        (
            f"{TOPIC}-0: isr [{first}], dead as {second} is, which left it before",
            f"{MIRROR}-0: {late} came back, {first} did not",
        ),
        partitions=affected,
        dead=[first, second],
    )


_UNCLEAN = "unclean.leader.election.enable"


@Incident(
    "last-known-leader-gone",
    title="the last known leader of a leaderless partition is no longer one of its replicas",
    does="Cancels a reassignment whose original replica is dead, with unclean elections allowed.",
    expect=(
        "starting the dead broker makes the controllers resign one after another, and it never registers",
        "with eligible.leader.replicas.version=0 it registers and leads, and no record is lost",
    ),
    not_on={
        ZK: "last known leaders are of KRaft",
        "3.9.2": "Kafka 3.9 keeps no last known leaders",
    },
    elr=True,
)
def last_known_leader_gone(context: IncidentContext) -> IncidentOutcome:
    """A partition without a leader remembers a last leader that is no replica of it: its only replica cannot
    register.

    A reassignment was cancelled with unclean elections allowed (KAFKA-14424). The controller fails on the
    registration of the replica, and gives its leadership up at each attempt.
    """
    roles = move_roles(context)
    kept, origin, target = roles
    begin_waiting_move(context, FIRST, roles, [origin])
    context.kill(target, origin)
    context.wait_state(FIRST, f"led by {kept}", lambda each: each.leader == kept)
    context.set_config("topics", TOPIC, {_UNCLEAN: "true"})
    context.begin_move(FIRST, None)
    context.report(f"cancelled it with {_UNCLEAN}=true: broker {kept}, which led, deletes its copy")
    context.wait_state(FIRST, f"no leader, last {kept}", lambda each: (each.leader, each.last_known) == (-1, (kept,)))
    replicas = context.access.assignment(TOPIC)[FIRST.partition]
    context.require(replicas == (origin,), f"its only replica is {origin}: {replicas}")
    context.set_config("topics", TOPIC, {_UNCLEAN: "false"})
    context.start(target)
    return IncidentOutcome(
        f"{FIRST} has no leader; replicas [{origin}], last known leader {kept}, no replica of it",
        (f"when broker {origin} starts, the controller fails on its registration, again and again",),
        partitions=[FIRST],
        dead=[origin],
        details={"last_known": kept, "replica": origin},
    )


_MORE = 5


@Incident(
    "elr-struck",
    title="the last leader is alive with all records and may not lead; the eligible replica is dead",
    does="Shuts down one of three replicas, writes more, kills the other two, starts all but the eligible one.",
    expect=(
        "a preferred election is refused",
        "setting min.insync.replicas on the topic makes it worse: it removes the eligible replicas",
    ),
    not_on={
        ZK: "eligible leader replicas are of KRaft",
        "3.9.2": "Kafka 3.9 keeps no eligible leader replicas",
    },
    elr=True,
)
def elr_struck(context: IncidentContext) -> IncidentOutcome:
    """The last leader is alive and has every record, and may not lead, as it was killed: another may, which is dead.

    Kafka 4 removes a broker from the eligible leader replicas when it was not shut down cleanly.
    """
    behind, eligible, last = context.ids()[:3]
    context.topic(TOPIC, [[behind, eligible, last]], {"min.insync.replicas": "2"})
    context.shut_down(behind)
    context.access.produce(TOPIC, {0: [(f"late-{number}", b"acknowledged by all") for number in range(_MORE)]})
    context.report(f"wrote {_MORE} more records with acks=all to brokers {eligible} and {last}")
    context.kill(eligible)
    context.kill(last)
    context.start(behind)
    context.start(last)
    state = context.wait_state(
        FIRST,
        f"no leader, and only {eligible} may lead",
        lambda each: (each.leader, each.eligible) == (-1, (eligible,)),
    )
    context.require(state.isr == (), "its ISR is empty")
    context.wait_leaderless_everywhere(FIRST)
    ends = context.log_ends(FIRST, [behind, last])
    context.require(
        ends == {behind: RECORDS, last: RECORDS + _MORE}, f"broker {last} has all records, broker {behind} not: {ends}"
    )
    return IncidentOutcome(
        f"{TOPIC}-0 has no leader and an empty ISR, eligible is {eligible}, which is dead; log ends {ends}",
        (
            f"starting broker {eligible} gives {TOPIC}-0 a leader and loses nothing",
            f"an unclean election elects {behind}, the first live one in order, and loses {_MORE} records",
        ),
        partitions=[FIRST],
        dead=[eligible],
        details={
            "eligible": eligible,
            "last_leader": last,
            "would_win": behind,
            "lost_if_it_wins": _MORE,
            f"log_end_{behind}": ends[behind],
            f"log_end_{last}": ends[last],
        },
    )
