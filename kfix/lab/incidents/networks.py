"""Network partitions between the zones of a lab."""

from itertools import combinations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.roles import SEEN_SECONDS, ZoneRoles, assign_roles, require_successors
from kfix.lab.network import faults
from kfix.lab.nodes.zookeepers import READ_ONLY, zookeeper_mode
from kfix.lab.waiting import wait_for

# A zone is isolated: with or without the controller in it, with or without leaders.

WRITE_SECONDS = 12.0


def isolated(context: IncidentContext, *, with_controller: bool, with_leader: bool) -> IncidentOutcome:
    """`ledger` is led inside or outside; both sides write to it while the zone is cut."""
    roles = assign_roles(context)
    inside = roles.controller if with_controller else roles.one
    outside = roles.other
    if with_leader:
        partitions = roles.ledger(inside, outside)
    else:
        partitions = roles.ledger(outside, roles.one if with_controller else roles.controller)
        roles.lead_nothing(inside)
    acks = str(context.options["acks"])
    writers = {"writer_inside": roles.write_from(inside, WRITE_SECONDS, acks, retries=3)}
    writers["writer_outside"] = roles.write_from(outside, WRITE_SECONDS)
    _wait_written(context, partitions)
    roles.isolate(inside)
    roles.wait_unregistered(inside)
    if with_controller:
        writers["new_controller"] = roles.wait_other_controller()
    if with_leader:
        moved = context.wait_state(FIRST, "another leads", lambda each: each.leader not in {-1, inside}, SEEN_SECONDS)
        _require_two_leaders(context, inside, moved.leader)
        writers["new_leader"] = moved.leader
    context.wait_state(partitions[1], f"{inside} left its ISR", lambda each: inside not in each.isr, SEEN_SECONDS)
    _require_old_belief(context, roles, inside)
    return IncidentOutcome(
        topic=TOPIC,
        partitions=partitions[:1] if with_leader else (),
        hung=None,
        details={"isolated": inside, "zone": roles.zone(inside), "controller_before": roles.controller, **writers},
    )


def _wait_written(context: IncidentContext, partitions: list[TopicPartition]) -> None:
    """Returns when both writers write, so that the cut catches records in flight."""
    before = {tp: _end(context, tp) for tp in partitions}
    wait_for("the writers write", lambda: all(_end(context, tp) > before[tp] for tp in partitions), SEEN_SECONDS)


def _end(context: IncidentContext, tp: TopicPartition) -> int:
    leader = context.live_state(tp).leader
    return context.log_ends(tp, [leader]).get(leader, -1)


def _require_two_leaders(context: IncidentContext, old: int, new: int) -> None:
    # A new leader answers once its followers have fetched with its leader epoch (error 78 until then).
    wait_for(
        f"brokers {old} and {new} both lead {FIRST}",
        lambda: all(context.error_as_leader(broker, FIRST) == 0 for broker in (old, new)),
        SEEN_SECONDS,
    )
    context.report(f"checked: brokers {old} and {new} both answer as leader of {FIRST}")


def _require_old_belief(context: IncidentContext, roles: ZoneRoles, inside: int) -> None:
    seen = context.access.metadata(inside)
    context.require(
        seen is not None
        and len(seen.brokers) == len(context.ids())
        # On KRaft a broker names any live one.
        and (context.lab.quorum is not None or seen.controller == roles.controller),
        f"broker {inside} still names all brokers, and the controller from before",
    )
    context.report(f"checked: the metadata of broker {inside} is that from before the cut")


def _declare(
    name: str, title: str, expect: tuple[str, ...], *, with_controller: bool = False, with_leader: bool = False
) -> Incident:
    return Incident(
        name,
        title=title,
        does="Writes from both sides and drops every packet between a zone and the two others.",
        expect=expect,
        zones=True,
        options={"acks": "acks of the writer in the zone: 1 (default), 0 or all"},
        choices={"acks": ("1", "0", "all")},
        refuse=require_successors if with_controller else lambda _: None,
    )(lambda context: isolated(context, with_controller=with_controller, with_leader=with_leader))


_NO_REMEDY = "only repairing the network helps: no election, reassignment or restart does"
zone_isolated = _declare(
    "zone-isolated",
    "a zone is isolated, with neither controller nor leaders in it",
    ("clients in the zone stop, all others work; its broker is in no ISR of other brokers", _NO_REMEDY),
)
zone_isolated_with_leader = _declare(
    "zone-isolated-with-leader",
    "a zone with a leader in it is isolated: two leaders",
    (
        "both sides take different records at the same offsets; those of the isolated side are cut off when it returns",
        _NO_REMEDY,
    ),
    with_leader=True,
)
controller_zone_isolated = _declare(
    "controller-zone-isolated",
    "the zone of the controller is isolated, leaders are elsewhere: two controllers",
    (
        "brokers name two controllers; clients in the zone stop, all others work",
        "the old controller resigns by itself once the network is repaired; change nothing in Kafka",
    ),
    with_controller=True,
)
controller_zone_isolated_with_leader = _declare(
    "controller-zone-isolated-with-leader",
    "the zone of the controller is isolated with leaders in it: two controllers, two leaders",
    (
        "brokers name two controllers, and two of them lead the same partitions",
        "what only the isolated side took is truncated when it returns; only repairing the network helps",
    ),
    with_controller=True,
    with_leader=True,
)


@Incident(
    "leader-cut-from-followers",
    title="the leader is cut from its followers: they leave the ISR, or another broker leads",
    does="Drops Kafka's packets between the controller's zone, which leads, and others; or isolates a leader's zone.",
    expect=(
        "followers dropped: the leader is the only in-sync replica and accepts acks=all while min.insync.replicas is 1",
        "leader moved: two leaders; records that only the old leader has are truncated when it returns",
        "the ISR recovers by itself once the network is healed",
    ),
    zones=True,
    options={
        "outcome": "followers-dropped (default) or leader-moved",
        "acks": "acks of the writer in the isolated zone: 1 (default), 0 or all",
    },
    choices={"outcome": ("followers-dropped", "leader-moved"), "acks": ("1", "0", "all")},
)
def leader_cut_from_followers(context: IncidentContext) -> IncidentOutcome:
    """The leader is cut from all its followers: either they leave the ISR, or another broker becomes leader."""
    if context.options["outcome"] == "leader-moved":
        return isolated(context, with_controller=False, with_leader=True)
    roles = assign_roles(context)
    leader = roles.controller  # it reaches ZooKeeper, or the controller, so it can remove its followers from the ISR
    kraft = context.lab.quorum is not None
    # On KRaft only writes in both directions show that it is the leader that is cut off.
    partitions = roles.ledger(leader, *((roles.one, roles.other) if kraft else ()))
    writer = roles.write_from(leader, 14)
    if kraft:
        roles.write_from(roles.one, 14)
    roles.isolate(leader, "brokers" if kraft else "kafka")
    context.wait_state(FIRST, f"its ISR is [{leader}]", lambda each: each.isr == (leader,), SEEN_SECONDS)
    for each in partitions[1:]:
        context.wait_state(each, f"{leader} left its ISR", lambda state: leader not in state.isr, SEEN_SECONDS)
    context.require(context.access.live_ids() == frozenset(context.ids()), "all brokers are registered")
    context.require(context.access.controller() == roles.active, f"node {roles.active} is the controller still")
    return IncidentOutcome(
        f"broker {leader} is the only in-sync replica of {TOPIC}-0; all brokers are registered",
        partitions=partitions,
        details={"leader": leader, "zone": roles.zone(leader), "writer_inside": writer},
        hung=None,
    )


_SEEN_SECONDS = 30.0


@Incident(
    "zookeeper-node-cut",
    title="a ZooKeeper server is cut from the other servers",
    does="Drops the traffic of the ensemble between one zone and the others.",
    expect=("that server has no quorum; its clients move to the others, and Kafka continues",),
    zones=True,
    not_on={KRAFT: "it cuts ZooKeeper servers from each other, and KRaft has none"},
)
def zookeeper_node_cut(context: IncidentContext) -> IncidentOutcome:
    """One ZooKeeper server is cut from the others: it has no quorum; the ensemble and Kafka continue."""
    roles = assign_roles(context)
    zone = roles.zone(roles.one)
    roles.isolate(roles.one, "quorum")
    state = context.lab.state
    node = next(each for each in state.zookeepers if each.zone == zone)
    wait_for(
        f"zookeeper {node.id} has no quorum",
        lambda: zookeeper_mode(state.host_of(node).address, node.port) in {"", READ_ONLY},
        _SEEN_SECONDS,
    )
    wait_for("all brokers are registered", lambda: context.access.live_ids() == frozenset(context.ids()), _SEEN_SECONDS)
    return IncidentOutcome(
        f"zookeeper {node.id} has no quorum, all brokers are registered with the others",
        details={"zookeeper": node.id, "zone": zone},
        hung=None,
    )


@Incident(
    "zookeeper-quorum-lost",
    title="ZooKeeper has lost its quorum",
    does="Drops the traffic of the ensemble between all zones.",
    expect=(
        "clients work; nothing can be elected, created or reassigned, and no ISR can change",
        "heal the ensemble; Kafka needs no remedy",
    ),
    zones=True,
    not_on={KRAFT: "it cuts ZooKeeper servers from each other, and KRaft has none"},
)
def zookeeper_quorum_lost(context: IncidentContext) -> IncidentOutcome:
    """No ZooKeeper server reaches another, so there is no quorum. Kafka serves clients, and no metadata can change."""
    lab = context.lab
    for one, other in combinations([each.name for each in faults.network_of(lab.store).zones], 2):
        faults.cut(lab.store, one, other, only="quorum")
    context.report("all ZooKeeper servers are cut from each other")
    state = lab.state

    def lost() -> bool:
        modes = [zookeeper_mode(state.host_of(each).address, each.port) for each in state.zookeepers]
        return all(mode in {"", READ_ONLY} for mode in modes)

    wait_for("no server has a quorum", lost, _SEEN_SECONDS)
    return IncidentOutcome(
        "no ZooKeeper server has a quorum",
        hung=None,
    )


@Incident(
    "link-to-leader-cut",
    title="the link between a leader and a follower is cut",
    does="Drops Kafka's packets between two zones, neither with the controller; writes from both sides.",
    expect=(
        "leaders and controller stay; each of the two removes the other from the ISR of its partitions",
        "only repairing the network helps; change nothing in Kafka",
    ),
    zones=True,
)
def link_to_leader_cut(context: IncidentContext) -> IncidentOutcome:
    """A follower and a leader do not reach each other; ZooKeeper, the controller and the third zone are fine."""
    roles = assign_roles(context)
    leader, follower = roles.one, roles.other
    partitions = roles.ledger(leader, follower, roles.controller)
    inside = roles.write_from(follower, 14, acks="all", retries=1)
    outside = roles.write_from(roles.controller, 14)
    roles.cut(leader, follower, "kafka" if context.lab.quorum is None else "brokers")
    first, second, third = partitions
    context.wait_state(first, f"{follower} left its isr", lambda each: follower not in each.isr, SEEN_SECONDS)
    context.wait_state(second, f"{leader} left its isr", lambda each: leader not in each.isr, SEEN_SECONDS)
    context.require(set(context.live_state(third).isr) == set(context.ids()), "the third broker has all in sync")
    context.require(context.access.live_ids() == frozenset(context.ids()), "all brokers are registered")
    return IncidentOutcome(
        f"the ISR of {TOPIC}-0 lacks {follower}, that of {TOPIC}-1 lacks {leader}; all others are full",
        (
            f"clients in {roles.zone(follower)} cannot use {TOPIC}-0",
            f"clients in {roles.zone(leader)} cannot use {TOPIC}-1",
        ),
        partitions=partitions,
        details={"leader": leader, "follower": follower, "inside": inside, "outside": outside},
        hung=None,
    )


NEWS = "news"


@Incident(
    "link-to-controller-cut",
    title="the link between a broker and the controller is cut",
    does="Drops Kafka's packets between a zone and the controller's; then a topic is created.",
    expect=(
        "its metadata is stale; its partitions keep their ISR, and acks=all stalls there once a replica lags",
        "only repairing the network helps; change nothing in Kafka",
    ),
    zones=True,
    not_on={
        KRAFT: "brokers connect to the controllers, which fence one that they do not hear: broker-cut-from-controllers"
    },
    options={
        "only": "kafka: all of Kafka between the two (default), controller: only the controller's own connections"
    },
    choices={"only": ("kafka", "controller")},
)
def link_to_controller_cut(context: IncidentContext) -> IncidentOutcome:
    """A broker and the controller do not reach each other. Nothing breaks until something changes."""
    roles = assign_roles(context)
    cut_off, third = roles.one, roles.other
    only = context.options["only"]
    partitions = roles.ledger(cut_off, third, roles.controller)
    roles.cut(cut_off, roles.controller, only)
    roles.write_from(third, 14)
    if only == "kafka":
        context.wait_state(partitions[2], f"{cut_off} left its isr", lambda each: cut_off not in each.isr, SEEN_SECONDS)
    # A change that the cut broker does not hear of: a topic without it.
    hearing = (third, roles.controller)
    context.access.create_topic(NEWS, [list(hearing)], {}, known_to=hearing)
    context.report(f"created topic {NEWS} on {list(hearing)}")
    _wait_stale(context, roles, cut_off)
    context.require(context.access.live_ids() == frozenset(context.ids()), "all brokers are registered")
    context.require(context.access.controller() == roles.controller, "the controller is the same")
    return IncidentOutcome(
        f"broker {cut_off} has not heard of {NEWS}, the others have; all are registered",
        (f"broker {cut_off} gives its clients the metadata from before the cut",),
        partitions=partitions,
        details={"cut_off": cut_off, "controller": roles.controller},
        hung=None,
    )


def _wait_stale(context: IncidentContext, roles: ZoneRoles, cut_off: int) -> None:
    def knows(broker: int) -> bool:
        seen = context.access.metadata(broker)
        return seen is not None and TopicPartition(NEWS, 0) in seen.partitions

    wait_for("the others know the new topic", lambda: knows(roles.other) and knows(roles.controller), SEEN_SECONDS)
    context.require(not knows(cut_off), f"broker {cut_off} does not know {NEWS}")
