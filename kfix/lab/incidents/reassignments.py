"""Incidents of reassignments and their throttles."""

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup import throttles
from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.lagging import fall_behind
from kfix.lab.incidents.setup.options import MEGABYTES
from kfix.lab.incidents.setup.throttles import Throttle, begin_waiting_move, move_roles
from kfix.lab.waiting import wait_for


@Incident(
    "stuck-reassignment",
    title="a reassignment waits for a broker that is dead",
    does="Begins to move a partition to a frozen broker, then kills that; with cancel=unsafe also the original one.",
    expect=(
        "clients work; the move ends only when the broker it waits for comes back, or when it is changed or cancelled",
    ),
    options={"cancel": "safe: the original replicas are alive; unsafe: they are dead, KAFKA-14424 (default: safe)"},
    choices={"cancel": ("safe", "unsafe")},
)
def stuck_reassignment(context: IncidentContext) -> IncidentOutcome:
    """KFX501: a reassignment waits for a broker that is dead, so that it never ends.

    The broker is frozen before the move begins: its session is still alive, so the controller accepts it, and it
    fetches nothing before it is killed.
    """
    roles = move_roles(context)
    kept, origin, target = roles
    safe = context.options["cancel"] == "safe"
    before = [kept, origin] if safe else [origin]
    dead = [target] if safe else [origin, target]
    begin_waiting_move(context, FIRST, roles, before)
    context.kill(*dead)
    context.wait_state(FIRST, f"led by {kept}", lambda each: each.leader == kept and not set(each.isr) & set(dead))
    move = context.wait_move(FIRST)
    context.require(target in move.adding, f"{FIRST} waits for broker {target}")
    context.wait_groups()
    context.require(context.access.readable(*FIRST), f"{FIRST} can be read")
    outcome = (
        f"the original replicas {before} are alive: cancelling the reassignment loses no data"
        if safe
        else f"the original replicas {before} are dead: cancelling the move leaves {FIRST} without a leader, and "
        f"no election gives it a leader while broker {kept} is alive, in its ISR but no longer a replica"
    )
    return IncidentOutcome(
        f"{FIRST} works, led by {kept}, and its move waits for broker {target}, which is dead",
        (outcome,),
        partitions=[FIRST],
        dead=dead,
        details={"cancel": context.options["cancel"], "waits_for": target, "leader": kept},
        hung=None,
    )


_RATE, _MEGABYTES = 10, 2
# A throttled replica fetches at most a segment each time its quota's 11 s are over: 2 MB in these last ten minutes.
_SEGMENT_BYTES = "45000"


@Incident(
    "foreign-reassignment",
    title="a slow reassignment of another operator is under way",
    does="Reassigns a partition with a throttle of a few bytes per second; all brokers are alive.",
    expect=(
        "nothing is to be healed; a reassignment, election or throttle there would interfere with the other operator",
    ),
    options={
        "rate": f"bytes a second ({_RATE})",
        "megabytes": f"how much data is to be moved ({_MEGABYTES}; each MB takes five minutes)",
    },
    ranges={"rate": range(1, 1001), "megabytes": MEGABYTES},
)
def foreign_reassignment(context: IncidentContext) -> IncidentOutcome:
    """Another operator moves a partition under a throttle of a few bytes per second. No broker is dead."""
    rate, megabytes = context.int_option("rate") or _RATE, context.int_option("megabytes") or _MEGABYTES
    leader, leaving, coming = context.ids()[:3]
    context.topic(TOPIC, [[leader, leaving], [leaving, coming]], {context.small_segments: _SEGMENT_BYTES})
    context.fill(TOPIC, 1, megabytes)
    throttles.put(context, Throttle(rate, {FIRST: (coming,)}, {FIRST: (leader, leaving)}))
    context.begin_move(FIRST, (leader, coming))
    context.report(
        f"began to reassign {FIRST} from {[leader, leaving]} to {[leader, coming]}, at {rate} bytes per second"
    )
    move = context.wait_move(FIRST)
    context.require(
        (move.adding, move.removing) == ((coming,), (leaving,)), f"{FIRST} moves from {leaving} to {coming}"
    )
    context.wait_groups()
    state = context.live_state(FIRST)
    context.require(coming not in state.isr and state.leader == leader, f"broker {coming} is still far from in sync")
    return IncidentOutcome(
        f"the move of {FIRST} is under way, all brokers live, groups work",
        (f"{FIRST} stays under way for minutes, and {TOPIC} and its brokers have throttles",),
        partitions=[FIRST],
        details={"from": leaving, "to": coming, "rate": rate, "megabytes": megabytes},
        hung=None,
    )


@Incident(
    "move-never-ends",
    title="a reassignment adds and removes the same replica, and never ends",
    does="Reassigns a partition to a part of the target of a reassignment that waits for a stopped broker.",
    expect=(
        "all brokers are alive and clients work; the move never ends by itself",
        "reassigned to the target of the first move, it ends",
    ),
    not_on={
        ZK: "the controller of a ZooKeeper cluster replaces the reassignment, which then ends",
        "3.9.2": "Kafka 3.9 ends a reassignment to a part of the target at once",
    },
)
def move_never_ends(context: IncidentContext) -> IncidentOutcome:
    """KFX504: a reassignment to a subset of the target of one under way: it never ends, with all brokers alive.

    Kafka 4.3 keeps the replicas that the first reassignment was adding, although the second removes one of them.
    """
    roles = move_roles(context)
    kept, origin, target = roles
    begin_waiting_move(context, FIRST, roles, [origin])
    context.begin_move(FIRST, (kept,))
    context.report(f"reassigned {FIRST} to [{kept}], a part of the target of the move under way")
    context.lab.nodes.cont(context.lab.state, target)
    wait_for("all brokers are alive", lambda: context.access.live_ids() == set(context.ids()), 20)
    context.wait_groups()
    move = context.wait_move(FIRST)
    context.require(
        target in move.adding and target in move.removing, f"broker {target} is both added and removed: {move}"
    )
    return IncidentOutcome(
        f"all brokers are alive, and {FIRST} is still moved: broker {target} is added and removed",
        partitions=[FIRST],
        details={"kept": kept, "origin": origin, "both": target},
        hung=None,
    )


_LEFT_OVER_RATE = 1000


@Incident(
    "left-over-throttles",
    title="replication throttles are on, though nothing moves",
    does="Sets throttled rates on brokers and throttled replicas on a topic, and moves nothing.",
    expect=("a replica that falls behind catches up very slowly: after the next restart it is out of sync for hours",),
    options={
        "rate": f"bytes a second ({_RATE})",
        "lagging": "yes: a replica lags and catches up very slowly (default: no)",
    },
    choices={"lagging": ("no", "yes")},
    ranges={"rate": range(1, 1_000_001)},
)
def left_over_throttles(context: IncidentContext) -> IncidentOutcome:
    """Left-over replication throttles: no reassignment is in progress, and a lagging replica catches up very slowly."""
    rate = context.int_option("rate") or _LEFT_OVER_RATE
    lagging = context.options["lagging"] == "yes"
    replicas = tuple(context.controller_first()[:3])
    where = [TopicPartition(TOPIC, number) for number in range(2)]
    context.topic(TOPIC, [list(replicas) for _ in where])
    slow = replicas[-1]
    if lagging:
        fall_behind(context, where, (slow,))
    everywhere = dict.fromkeys(where, replicas)
    throttles.put(context, Throttle(rate, everywhere, everywhere))
    context.report(f"left throttles of {rate} bytes per second on brokers {list(replicas)} and on topic {TOPIC}")
    for each in where:
        state = context.live_state(each)
        context.require((slow not in state.isr) == lagging, f"{slow} is {'out of' if lagging else 'in'} sync on {each}")
    context.require(not context.access.being_reassigned(TOPIC), "nothing moves")
    return IncidentOutcome(
        f"broker {slow} lags behind on {TOPIC}, nothing moves, groups work"
        if lagging
        else "all replicas in sync, nothing moves, groups work",
        (f"broker {slow} is alive and stays outside the ISR of {TOPIC}",) if lagging else (),
        partitions=where,
        details={"rate": rate, "brokers": ",".join(map(str, replicas)), **({"lagging": slow} if lagging else {})},
    )
