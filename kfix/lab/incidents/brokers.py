"""Incidents of single brokers and their disks."""

from collections.abc import Sequence

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import LabError, UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import ZK
from kfix.lab.definition.state import BrokerDef
from kfix.lab.incidents.setup import throttles
from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle
from kfix.lab.incidents.setup.throttles import Throttle
from kfix.lab.nodes.failures import add_disk, cluster_at, fail_disk, start_elsewhere
from kfix.lab.waiting import wait_for
from kfix.lab.workload.background import start_in_background

#: Records of 200 kB, and bytes a second: a minute's work and more for a replica that moves at all.
_BACKLOG = {"stuck": 25, "slow": 60, "catching-up": 120}
_RATE = {"slow": 150_000, "catching-up": 400_000}
_STEP_SECONDS = 20.0


@Incident(
    "replica-lagging",
    title="a live replica is out of sync: stuck, slow, or catching up",
    does="Makes a replica lag, then lets it fetch nothing, slowly, or fast enough to catch up.",
    expect=(
        "no client is blocked while min.insync.replicas is 1",
        "two snapshots show which: stuck makes no progress, slow keeps its distance, catching up gets closer",
    ),
    options={"kind": "stuck (default), slow or catching-up"},
    choices={"kind": ("stuck", "slow", "catching-up")},
)
def replica_lagging(context: IncidentContext) -> IncidentOutcome:
    """A live replica is out of sync: stuck, too slow, or catching up. Only its log end over time shows which."""
    kind = str(context.options["kind"])
    leader, late, third = context.controller_first()[:3]
    context.topic(TOPIC, [[leader, late, third]])
    fall_behind(context, [FIRST], (late,), backlog_records=_BACKLOG[kind])
    if kind in _RATE:
        throttles.put(context, Throttle(_RATE[kind], {FIRST: (late,)}))
        context.report(f"broker {late} may fetch {_RATE[kind]} bytes per second of {FIRST}")
    if kind == "slow":
        _write(context)
    # A throttled replica fetches once, then pauses for 11 s: what is measured now is its rate.
    before = _end(context, late)
    wait_for(f"broker {late} takes a step", lambda: _end(context, late) > before, _STEP_SECONDS)
    state = context.live_state(FIRST)
    context.require(late not in state.isr, f"{late} is out of sync")
    return IncidentOutcome(
        f"broker {late} is out of sync on {FIRST}",
        partitions=[FIRST],
        details={"lagging": late, "leader": leader, "kind": kind},
        hung=None,
    )


def _end(context: IncidentContext, broker: int) -> int:
    return context.log_ends(FIRST, [broker]).get(broker, -1)


def _write(context: IncidentContext) -> None:
    from kfix.lab.workload.workload import WorkloadPlan  # noqa: PLC0415 - brings the client library

    lab = context.lab
    plan = WorkloadPlan(lab.bootstrap_servers, TOPIC, acks="1", rate=50, seconds=60, consume=False)
    context.report(f"workload {start_in_background(lab, plan)} writes 50 records per second to {TOPIC}")


REPLICATED = TopicPartition(TOPIC, 1)
_FAILS_SECONDS = 40.0


@Incident(
    "log-dir-failed",
    title="a log directory of a live broker failed",
    does="Gives a broker a second log directory and makes it unusable, with the only in-sync replica of a partition.",
    expect=(
        "the broker leads all its other partitions, so it looks healthy",
        "repairing the directory and restarting the broker heals it without data loss",
    ),
)
def log_dir_failed(context: IncidentContext) -> IncidentOutcome:
    """A log directory of a broker failed: the broker is alive, and the only in-sync replica of a partition is
    offline.
    """
    lab = context.lab
    # Any broker but the active controller of a ZooKeeper cluster, which stays the same.
    failing, follower = [each for each in context.ids() if each != context.access.controller()][:2]
    add_disk(lab, failing)
    context.wait_well()
    context.report(f"restarted broker {failing} with a second, empty log directory")
    context.topic(TOPIC, [[failing, follower], [follower, failing]])
    fall_behind(context, [FIRST], (follower,))
    end, behind = (context.log_ends(FIRST, [each])[each] for each in (failing, follower))
    fail_disk(lab, failing)
    context.report(f"put a file in the place of the second log directory of broker {failing}")
    context.wait_no_leader(FIRST, (failing,), _FAILS_SECONDS)
    context.wait_state(REPLICATED, f"{failing} left its ISR", lambda each: each.isr == (follower,), _FAILS_SECONDS)
    lift_throttle(context, [TOPIC], (follower,))
    context.require(failing in context.access.live_ids(), f"broker {failing} is alive")
    return IncidentOutcome(
        f"broker {failing} is alive, {FIRST} has no leader, {REPLICATED} is led by broker {follower}",
        (
            f"{FIRST} cannot be written or read until the log directory of broker {failing} is repaired",
            f"{end - behind} records are only there; an election of broker {follower} would lose them",
        ),
        partitions=[FIRST, REPLICATED],
        details={"broker": failing, "follower": follower, "log_end": end, "log_end_of_follower": behind},
    )


ARCHIVE = "archive"
_ONLY_REPLICA = "no election helps: the only assigned replica cannot come back"


@Incident(
    "broker-ids-gone",
    title="replicas are assigned to a broker id that no longer exists",
    does="Puts a topic and an offsets partition on one broker, kills it, starts it under a new id with an empty disk.",
    expect=(
        _ONLY_REPLICA,
        "partitions with other replicas work, with one replica fewer",
    ),
    options={
        "new_id": "the new broker id (default: one above the highest)",
        "copies": "how many replicas the topic has; with 2 or 3 the others remain, unnoticed by clients (default: 1)",
    },
    ranges={"copies": range(1, 4)},
)
def broker_ids_gone(context: IncidentContext) -> IncidentOutcome:
    """Replicas are assigned to a broker id that no longer exists: the broker came back with a new id and an empty
    disk.
    """
    victim, partition = _choose(context)
    new_id = context.int_option("new_id") or max(context.ids()) + 1
    if new_id in context.ids():
        raise UsageError(f"option new_id={new_id}: this broker exists", hint="choose an id that no broker has")
    copies = context.int_option("copies") or 1
    others = [each for each in context.ids() if each != victim][: copies - 1]
    context.topic(ARCHIVE, [[victim, *others], [victim, *others]])
    if copies == 1:
        context.reassign({TopicPartition(OFFSETS_TOPIC, partition): (victim,)})
    context.kill(victim)
    context.replace(victim, new_id)
    affected = [TopicPartition(ARCHIVE, 0), TopicPartition(ARCHIVE, 1), TopicPartition(OFFSETS_TOPIC, partition)]
    for each in affected:
        _check(context, each, victim, lost=copies == 1)
    context.require(
        new_id in context.access.live_ids() and victim not in context.access.live_ids(),
        f"{new_id} runs in place of {victim}",
    )
    alone = "alone, which no longer exists" if copies == 1 else "among others; it no longer exists"
    group = context.groups.by_partition[partition]
    return IncidentOutcome(
        f"{TOPIC} and {OFFSETS_TOPIC}-{partition} are assigned to {victim} {alone}",
        (
            f"consumers of group {group} hang" if copies == 1 else "clients notice nothing",
            f"broker {new_id} is empty and has no replica",
        ),
        group=group,
        partitions=affected,
        dead=[victim],
        details={"new_id": new_id, "copies": copies},
        hung=() if copies > 1 else {partition},
        untrue={_ONLY_REPLICA} if copies > 1 else (),
    )


def _check(context: IncidentContext, where: TopicPartition, victim: int, *, lost: bool) -> None:
    if lost:
        context.wait_no_leader(where, (victim,))
    else:
        context.wait_state(
            where, f"works without {victim}", lambda each: victim not in each.isr and each.leader in each.isr
        )


def _choose(context: IncidentContext) -> tuple[int, int]:
    """Returns a broker that leads an offsets partition, preferably not the controller, and the partition."""
    controller = context.access.controller()
    leaders = {
        number: context.live_state(TopicPartition(OFFSETS_TOPIC, number)).leader
        for number in context.access.assignment(OFFSETS_TOPIC)
    }
    for partition, leader in sorted(leaders.items(), key=lambda item: (item[1] == controller, item[0])):
        return leader, partition
    raise LabError(f"{OFFSETS_TOPIC} has no partition", hint="kfix lab down and up")


def _unfit(brokers: Sequence[BrokerDef]) -> str:
    return "it has zones" if any(each.zone is not None for each in brokers) else ""


def _refuse(context: IncidentContext) -> None:
    lab = context.lab
    if lab.state.spec.is_keeper_secured or lab.state.spec.is_secured:
        raise UsageError(f"lab {lab.name!r} is secured: the other cluster would be, too", hint="kfix lab up without it")
    if lab.state.spec.combined:
        raise UsageError(
            f"wrong-cluster-id stops a broker, those of lab {lab.name!r} are controllers, too",
            hint="kfix lab up without --combined",
        )


@Incident(
    "wrong-cluster-id",
    title="the address of a broker answers as another cluster",
    does="Kills a broker and starts it with an empty disk as a cluster of its own, at its old address.",
    expect=(
        "clients that bootstrap from that address find none of their topics and groups",
        "the replicas of the broker are missing in its own cluster",
    ),
    needs=3,
    suits=_unfit,
    refuse=_refuse,
)
def wrong_cluster_id(context: IncidentContext) -> IncidentOutcome:
    """A broker was started as a broker of another cluster: its disk or its settings are not those of this one."""
    lab = context.lab
    # Any broker but the active controller of a ZooKeeper cluster: a failover is not part of this.
    lost = next(each for each in reversed(context.ids()) if each != context.access.controller())
    address = lab.address(lost)
    own = cluster_at(address)
    context.require(bool(own), f"broker {lost} names its cluster")
    context.kill(lost)
    context.wait_groups()
    other, controller = start_elsewhere(lab, lost, own)
    context.report(f"started broker {lost} with an empty disk as a cluster of its own, {other}")
    context.require(lost not in context.access.live_ids(), f"broker {lost} is not registered in cluster {own}")
    return IncidentOutcome(
        f"{address} answers as cluster {other}, the other brokers are of cluster {own}",
        dead=[lost],
        details={"address": address, "cluster": own, "other": other, "controller": controller},
        hung=None,
    )


@Incident(
    "ghost-registration",
    title="a broker without replicas is gone for good and stays registered",
    does="Adds a broker, which gets no replica, and kills it.",
    expect=(
        "clients notice nothing",
        "metadata.version cannot be raised above what the broker supported, until it is unregistered",
    ),
    not_on={ZK: "with ZooKeeper the registration of a broker ends with its session"},
)
def ghost_registration(context: IncidentContext) -> IncidentOutcome:
    """A broker that holds no replica is gone for good, and stays registered with the quorum."""
    ghost = max(context.ids()) + 1
    context.add(ghost)
    context.kill(ghost)
    holding = [topic for topic in context.access.topics() if _holds(context, topic, ghost)]
    context.require(not holding, f"broker {ghost} holds no replica: {holding}")
    context.require(ghost not in context.access.live_ids(), f"broker {ghost} is fenced")
    return IncidentOutcome(
        f"broker {ghost} is registered and fenced, and holds no replica; all groups work",
        dead=[ghost],
        details={"ghost": ghost},
    )


def _holds(context: IncidentContext, topic: str, broker: int) -> bool:
    return any(broker in replicas for replicas in context.access.assignment(topic).values())
