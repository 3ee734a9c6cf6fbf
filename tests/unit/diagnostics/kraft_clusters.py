"""KRaft clusters on paper: a healthy quorum of three controllers, and what goes wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.quorum import ControllerAnswer, EligibleLeaders, OldLeader, QuorumReplica, QuorumView
from kfix.core.snapshot.snapshot import Assignment, Endpoint, EpochEnd, Mode, Snapshot, TopicPartition
from tests.unit.diagnostics.build import NOW, Paper
from tests.unit.diagnostics.clusters import base

UNCLEAN = "unclean.leader.election.enable"
HIGH = 1000
ADDRESS = {100: "localhost:9193", 101: "localhost:9194", 102: "localhost:9195"}
REFUSED = "connection refused, nothing listens there"
SILENT = "no answer in time"


def kraft(paper: Paper | None = None) -> Paper:
    made = paper or base()
    made.zookeeper, made.mode = False, Mode.KRAFT
    return made


def answer(node: int, *, active: bool = False, error: str = "") -> ControllerAnswer:
    return ControllerAnswer(node, ADDRESS[node], active, "refused" in error, error)


def quorum(ages: Mapping[int, float] = {}, **changes: Any) -> QuorumView:
    """Controller 100 is active; `ages` are seconds since the last fetch of a voter or broker."""
    fields: dict[str, Any] = {
        "leader": 100,
        "epoch": 4,
        "high_watermark": HIGH,
        "voters": tuple(_replica(node, ages) for node in ADDRESS),
        "observers": tuple(_replica(broker, ages) for broker in (1, 2, 3)),
        "controllers": (answer(100, active=True), answer(101), answer(102)),
        "offsets": dict.fromkeys((1, 2, 3), HIGH),
        "configured": ADDRESS,
        "features": {"metadata.version": 30, "eligible.leader.replicas.version": 1},
        "fenced": (),
        "controller_settings": {node: {UNCLEAN: "false"} for node in ADDRESS},
    }
    return QuorumView(**(fields | changes))


def _replica(node: int, ages: Mapping[int, float]) -> QuorumReplica:
    age = ages.get(node, 0.2)
    return QuorumReplica(node, HIGH if 0 <= age < 1 else HIGH - 100, age, age)


def move_never_ends(
    *, adding: tuple[int, ...] = (1, 3), removing: tuple[int, ...] = (2, 3), dead: int = 0, partitions: int = 1
) -> Snapshot:
    """Partitions of ledger were on [2] and were reassigned to [1,3], then to [1]; broker 2 leads, all are in sync."""
    paper = kraft(base().topic("ledger", partitions, replicas=[[1, 2, 3]] * partitions))
    if dead:
        paper.kill(dead)
    move = Assignment((1, 2, 3), adding, removing)
    moves = {TopicPartition("ledger", number): move for number in range(partitions)}
    return paper.snapshot(quorum=quorum({dead: 600.0}), reassignments=moves)


def replicas_still_added() -> Snapshot:
    """ledger-0 was on [1] and is being reassigned to [1,2,3], below min.insync.replicas of 2 until then."""
    paper = kraft(base().topic("ledger", 1, replicas=[[1, 2, 3]]))
    paper.min_isr = 2
    tp = TopicPartition("ledger", 0)
    paper.parts[tp].isr = (1,)
    return paper.snapshot(quorum=quorum(), reassignments={tp: Assignment((1, 2, 3), (2, 3), ())})


def lost(*, later: Mapping[int, int] | None = None, **errors: str) -> QuorumView:
    """No controller is active; `errors` are those of the controllers that do not answer, as c100=..."""
    answers = tuple(answer(node, error=errors.get(f"c{node}", "")) for node in ADDRESS)
    return QuorumView(
        controllers=answers,
        forwarded=SILENT,
        offsets=dict.fromkeys((1, 2, 3), HIGH),
        later=dict.fromkeys((1, 2, 3), HIGH) if later is None else later,
        apart=1.6,
        configured=ADDRESS,
    )


def healthy() -> Snapshot:
    return kraft().snapshot(quorum=quorum())


def two_controllers_dead() -> Snapshot:
    return kraft().snapshot(quorum=lost(c100=REFUSED, c101=REFUSED))


def controllers_apart() -> Snapshot:
    return kraft().snapshot(quorum=lost())


def controllers_unreachable_and_nothing_moves() -> Snapshot:
    return kraft().snapshot(quorum=lost(c100=SILENT, c101=SILENT, c102=SILENT))


def controllers_unreachable_and_a_refusal() -> Snapshot:
    """Nothing is written where metadata.max.idle.interval.ms is 0, and the active controller may have refused."""
    view = replace(lost(c100=SILENT, c101=SILENT, c102=SILENT), forwarded="CLUSTER_AUTHORIZATION_FAILED")
    return kraft().snapshot(quorum=view)


def controllers_unreachable_and_read_twice_at_once() -> Snapshot:
    """The deadline left no time between the two readings of the metadata offsets."""
    return kraft().snapshot(quorum=replace(lost(c100=SILENT, c101=SILENT, c102=SILENT), apart=0.3))


def controllers_unreachable_and_metadata_moves() -> Snapshot:
    moved = dict.fromkeys((1, 2, 3), HIGH + 3)
    return kraft().snapshot(quorum=lost(later=moved, c100=SILENT, c101=SILENT, c102=SILENT))


def metadata_is_not_applied(*, later: int = HIGH - 500, apart: float = 1.6) -> Snapshot:
    """Broker 2 fetches metadata and was 500 records behind at the first reading."""
    offsets = {1: HIGH, 2: HIGH - 500, 3: HIGH}
    return kraft().snapshot(quorum=quorum(offsets=offsets, later={2: later}, apart=apart))


def never_fetched(*nodes: int) -> Snapshot:
    """These voters answer at their addresses and have not fetched since the active controller was elected."""
    voters = tuple(QuorumReplica(n, -1, -1.0, -1.0) if n in nodes else _replica(n, {}) for n in ADDRESS)
    return kraft().snapshot(quorum=quorum(voters=voters))


def no_fetch_is_dated() -> Snapshot:
    """DescribeQuorum version 0, before Kafka 3.3, has no times."""
    undated = [tuple(QuorumReplica(n, HIGH, -1.0, -1.0) for n in nodes) for nodes in (tuple(ADDRESS), (1, 2, 3))]
    return kraft().snapshot(quorum=quorum(voters=undated[0], observers=undated[1]))


def last_known_is_no_replica() -> Snapshot:
    """Partition logs-0 has its only replica on the dead broker 2, and remembers broker 1, which led it last."""
    paper = kraft(base().topic("logs", 1, replicas=[[2]])).kill(2)
    tp = TopicPartition("logs", 0)
    return paper.snapshot(quorum=quorum({2: 60.0}, eligible={tp: EligibleLeaders((), (1,))}))


def one_controller_dead() -> Snapshot:
    controllers = (answer(100, active=True), answer(101), answer(102, error=REFUSED))
    return kraft().snapshot(quorum=quorum({102: 600.0}, controllers=controllers))


def one_controller_has_just_died() -> Snapshot:
    """It fetched two seconds ago, which alone would be a pause; nothing listens at its address."""
    controllers = (answer(100, active=True), answer(101), answer(102, error=REFUSED))
    return kraft().snapshot(quorum=quorum({102: 2.0}, controllers=controllers))


def one_controller_pauses() -> Snapshot:
    return kraft().snapshot(quorum=quorum({102: 2.0}))


def one_controller_gone_since_the_election() -> Snapshot:
    controllers = (answer(100, active=True), answer(101), answer(102, error=SILENT))
    return kraft().snapshot(quorum=quorum({102: -1.0}, controllers=controllers))


def one_controller_does_not_follow() -> Snapshot:
    return kraft().snapshot(quorum=quorum({102: 60.0}))


def one_controller_lags() -> Snapshot:
    voters = (*quorum().voters[:2], QuorumReplica(102, HIGH - 500, 0.1, 40.0))
    return kraft().snapshot(quorum=quorum(voters=voters))


def one_controller_on_another_disk(*, removed: bool = False) -> Snapshot:
    """Controller 102 fetches with a new directory id, and the voter has the old one; `removed`: it was removed since,
    and the controller was added with the new one.
    """
    voters = [r._replace(directory=f"disk-{r.node}") for r in quorum().voters]
    old, new = voters[-1]._replace(fetched=60.0, caught_up=60.0), voters[-1]._replace(directory="new-disk")
    last, observer = (new, old) if removed else (old, new)
    return kraft().snapshot(quorum=quorum(voters=(*voters[:-1], last), observers=(*quorum().observers, observer)))


def nothing_listens_where_a_controller_is_said_to_be(*, other: str = "") -> Snapshot:
    """Controller 102 fetches, and its address refuses connections; `other` is the error of controllers 100 and 101."""
    controllers = (
        answer(100, active=not other, error=other), answer(101, error=other), answer(102, error=REFUSED),
        ControllerAnswer(102 if not other else -1, "localhost:9999", error=other),
    )  # fmt: skip
    return kraft().snapshot(quorum=quorum(controllers=controllers))


def one_controller_not_reached_but_alive() -> Snapshot:
    controllers = (answer(100, active=True), answer(101), answer(102, error=SILENT))
    return kraft().snapshot(quorum=quorum(controllers=controllers))


def single_controller() -> Snapshot:
    only = quorum().voters[:1]
    return kraft().snapshot(quorum=quorum(voters=only, controllers=(answer(100, active=True),)))


def two_voters(controllers: int = 3, *, unknown: bool = False) -> Snapshot:
    """Of dynamic voters the ids of those that are not active may be unknown."""
    view = quorum()
    answers = [each._replace(node=-1) if unknown and not each.active else each for each in view.controllers]
    return kraft().snapshot(quorum=replace(view, voters=view.voters[:2], controllers=tuple(answers[:controllers])))


def broker_cut_from_controllers(answer_to_epoch: str | None = "UNKNOWN_LEADER_EPOCH") -> Snapshot:
    """Broker 1 leads orders-0 in its own frozen metadata, where broker 2 has been elected."""
    paper = kraft()
    tp = TopicPartition("orders", 0)
    part = paper.parts[tp]
    part.seen_by[1] = (1, 8, (1, 2, 3))
    part.leader, part.epoch, part.isr = 2, 9, (2, 3)
    paper.registered.pop(1)
    paper.log_ends = {tp: {1: 60, 2: 50}}
    offsets = {1: HIGH - 80, 2: HIGH, 3: HIGH}
    view = quorum({1: 50.0}, offsets=offsets, later={1: HIGH - 80}, apart=1.6, fenced=(1,))
    view = replace(view, old_leaders={tp: OldLeader(1, 9, answer_to_epoch)} if answer_to_epoch is not None else {})
    return paper.snapshot(quorum=view, epoch_ends={tp: EpochEnd(2, 8, 45)})


def broker_that_hangs(seconds: float = 50.0) -> Snapshot:
    """The controllers hear the heartbeats of broker 1, which applies no metadata; at first it may be cut off, too."""
    offsets = {1: HIGH - 80, 2: HIGH, 3: HIGH}
    return kraft().snapshot(quorum=quorum({1: seconds}, offsets=offsets, later={1: HIGH - 80}, apart=1.6))


def broker_fenced_but_alive(paper: Paper | None = None, **changes: Any) -> Snapshot:
    paper = kraft(paper).kill(1)
    paper.answering.add(1)
    return paper.snapshot(quorum=quorum(fenced=(1,)), **changes)


def heartbeats_too_rare() -> Snapshot:
    paper = base()
    paper.broker_settings = {1: {"broker.heartbeat.interval.ms": "20000", "broker.session.timeout.ms": "9000"}}
    return broker_fenced_but_alive(paper)


def broker_fenced_and_not_asked() -> Snapshot:
    """Before Kafka 4.0 no broker has the address of a fenced one, but the active controller knows that it fetches."""
    return kraft(base().kill(1)).snapshot(quorum=quorum(offsets={2: HIGH, 3: HIGH}, fenced=None))


def unsteady(*, epoch: int = 12, epochs: Mapping[int, float], dead: Mapping[int, float] = {}) -> Snapshot:
    """`epochs` and `dead` are {leader epoch, or node: seconds since an earlier snapshot last found it so}."""
    return kraft().snapshot(
        quorum=quorum(epoch=epoch),
        memory=Memory(
            epochs={each: NOW - age for each, age in epochs.items()},
            dead={each: NOW - age for each, age in dead.items()},
        ),
    )


def broker_caught_up_late() -> Snapshot:
    """Broker 1 was a record behind when it was read, and was not at the second reading."""
    return kraft().snapshot(quorum=quorum(offsets={1: HIGH - 5, 2: HIGH, 3: HIGH}, later={1: HIGH}, apart=1.6))


def broker_dead_for(seconds: float) -> Snapshot:
    paper = kraft(Paper().topic("thin", 3, rf=1).topic("orders", 6)).kill(1)
    for part in paper.parts.values():
        if part.leader == -1:
            part.isr = ()
    view = quorum({1: seconds}, offsets={2: HIGH, 3: HIGH}, fenced=(1,))
    return paper.snapshot(quorum=view)


def coordinator_failed(*, new: bool = True, error: int = 16) -> Snapshot:
    """The leader of __consumer_offsets-43 refuses group g2, of a cluster with the new coordinator."""
    paper = kraft()
    paper.broken_groups = {"g2": (0, error)}
    features = {"metadata.version": 30} | ({"group.version": 1} if new else {})
    return paper.snapshot(quorum=quorum(features=features))


def waits(elr: tuple[int, ...], last_known: tuple[int, ...], *dead: int) -> Snapshot:
    """orders-0 on [1, 2, 3] has no leader and an empty ISR; these are eligible, and these brokers are dead."""
    paper = kraft(Paper().topic("orders", 1))
    for broker in dead:
        paper.kill(broker)
    tp = TopicPartition("orders", 0)
    part = paper.parts[tp]
    part.leader, part.isr = -1, ()
    paper.log_ends = {tp: {b: 20 + b for b in (1, 2, 3) if b not in dead}}
    view = quorum(dict.fromkeys(dead, 60.0), fenced=dead, eligible={tp: EligibleLeaders(elr, last_known)})
    return paper.snapshot(quorum=view)


def eligible_dead() -> Snapshot:
    return waits((2,), (1,), 2)


def eligible_dead_and_unclean_allowed() -> Snapshot:
    """The start of broker 2 elects broker 1, the first that is alive, which may lack records."""
    return replace(eligible_dead(), topic_configs={"orders": {"unclean.leader.election.enable": "true"}})


def last_known_dead() -> Snapshot:
    return waits((), (3,), 3)


def two_eligible_dead() -> Snapshot:
    return waits((1, 2), (2,), 1, 2)


def in_sync_and_fenced(replicas: tuple[int, ...] = (2, 1, 3), *, asked: bool = True) -> Snapshot:
    """Partition ledger-0 of Kafka 3.9 has no leader: broker 2, its whole ISR, runs, and the controllers fenced it.

    It answers to kfix, or was not `asked` and only fetches the metadata.
    """
    paper = kraft(base().topic("ledger", 1, replicas=[[*replicas]])).kill(2)
    part = paper.parts[TopicPartition("ledger", 0)]
    part.leader, part.isr = -1, (2,)
    if asked:
        paper.answering.add(2)
    return paper.snapshot(quorum=quorum(features={"metadata.version": 21}, fenced=None))


def eligible_fenced(*dead: int) -> Snapshot:
    """orders-0 has no leader and an empty ISR; broker 2, which is eligible, runs, and is fenced."""
    made = waits((2, *dead), (2,), 2, *dead)
    assert made.quorum is not None
    observers = quorum(dict.fromkeys(dead, 60.0)).observers
    return replace(made, quorum=replace(made.quorum, observers=observers))


def eligible_alive() -> Snapshot:
    return waits((2,), (2,))


def only_replica_dead() -> Snapshot:
    """Partition logs-0 has its only replica on the dead broker 2, which is eligible to lead it."""
    paper = kraft(base().topic("logs", 1, replicas=[[2]])).kill(2)
    tp = TopicPartition("logs", 0)
    paper.parts[tp].leader, paper.parts[tp].isr = -1, ()
    return paper.snapshot(quorum=quorum({2: 60.0}, fenced=(2,), eligible={tp: EligibleLeaders((2,), ())}))


def nobody_eligible() -> Snapshot:
    return waits((), (), 2)


def ghost(
    *, fetched: float = 6000, reported: bool = True, runs: bool = False, node: int = 4, **changes: Any
) -> Snapshot:
    """Node 4 is registered, fenced and gone; it fetched so many seconds ago, -1: the controller has forgotten it.

    `reported` is False before Kafka 4.0. If it `runs`, it accepts connections, and does not answer.
    """
    known = quorum()
    observers = (
        known.observers if fetched < 0 else (*known.observers, QuorumReplica(node, HIGH - 500, fetched, fetched))
    )
    view = quorum(observers=observers, fenced=(node,) if reported else None)
    return kraft().snapshot(quorum=view, silent={node: "no answer"} if runs else {}, **changes)


def featured(
    level: int,
    supported: Mapping[int, int | None] = {},
    *,
    elr: int = 1,
    ghost: bool = False,
    dead: bool = False,
) -> Snapshot:
    """This metadata.version is in force, of nodes that support 30 unless `supported` has another level, or None."""
    known = dict.fromkeys((1, 2, 3, *ADDRESS), 30) | dict(supported)
    paper = kraft()
    if dead:
        paper.kill(3)
        known.pop(3)
    view = quorum(
        features={"metadata.version": level, "eligible.leader.replicas.version": elr},
        supported={node: found for node, found in known.items() if found is not None},
        fenced=(4,) if ghost else (3,) if dead else (),
    )
    return paper.snapshot(quorum=view)


def two_clusters(other: str) -> Snapshot:
    """A broker and a controller of another cluster were given as well."""
    return kraft().snapshot(quorum=quorum(), foreign={"localhost:9999": other, "localhost:9998": other})


def broker_elsewhere(*, known: bool = True, given: bool = True) -> Snapshot:
    """Broker 3 is dead, and its address answers as a broker of another cluster; `known`: it is known to be its."""
    paper = kraft(base().topic("orders", 3, replicas=[[1, 2, 3]] * 3)).kill(3)
    addresses = {b: Endpoint("localhost", 9090 + b) for b in ((1, 2, 3) if known else (1, 2))}
    foreign = {"localhost:9093": "other"} if given else {}
    return paper.snapshot(quorum=quorum({3: 600.0}, fenced=(3,)), addresses=addresses, foreign=foreign)
