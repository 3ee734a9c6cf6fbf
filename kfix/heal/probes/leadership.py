"""Probes about leaders of partitions, and about the controller."""

from collections.abc import Iterator

from kfix.core.args import ArgKind, Args
from kfix.core.derive.elections import UNCLEAN
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading, ResourceKind
from kfix.core.snapshot.snapshot import NO_LEADER, ControllerNode
from kfix.heal.model.answer import Answer, Verdict, judge
from kfix.heal.model.facts import ReadFact, about, about_cluster, brokers
from kfix.heal.probes.base import (
    ON_PARTITION,
    gaps,
    partition_probe,
    probe,
    saving_words,
    state_probe,
    state_words,
    view_words,
)
from kfix.heal.probes.logs import followed, holds
from kfix.heal.probes.moves import ids

_WANTED = "no partition that would lose records to a new controller"
_SHOWN = 3


@probe("a new controller would not lose records of any partition: logs and unclean elections")
def reelection_is_safe(_args: Args, reader: ClusterReader) -> Answer:
    """A new controller reads all state from ZooKeeper (docs/facts/controller.md). Every partition on which ZooKeeper
    and the brokers differ switches to ZooKeeper's leader, or to the first live member of its ISR, and all other
    replicas truncate to that one: it must hold what the followed leader holds. The controller elects a leader for every
    partition that has none, outside the ISR where `unclean.leader.election.enable` allows it. The probe reads all
    partitions, not only those of the finding.
    """
    readings = reader.every_partition()
    problems: list[tuple[Verdict, str]] = []
    affected = 0
    for reading in readings.values():
        found = _judged(reading, reader)
        affected += found is not None
        if found is not None and not found.passed:
            problems.append((found.verdict, f"{reading.tp}: {found.observed}"))
    gaps = sorted({error for reading in readings.values() for error in reading.errors})
    failed = [text for verdict, text in problems if verdict is Verdict.FAIL]
    if failed:
        return judge(False, _several(failed), _WANTED)
    if problems or gaps:
        return judge(None, _several([text for _, text in problems] + gaps), _WANTED)
    observed = f"{len(readings)} partitions; {affected} of them without a leader or with two, none would lose records"
    return judge(True, observed, _WANTED)


def _judged(reading: PartitionReading, reader: ClusterReader) -> Answer | None:
    """Returns None where ZooKeeper and the brokers agree, so that a new controller changes nothing."""
    if reading.state is None:
        return None if not reading.errors else judge(None, state_words(reading), _WANTED)
    live_isr, leaderless = reading.live_isr, reading.leaderless
    if live_isr is None or leaderless is None or reading.assignment is None:
        return judge(None, state_words(reading), _WANTED)
    others = followed(reading) - {reading.state.leader}
    alive = others & (reading.registered or frozenset())
    if not leaderless and not others:
        return None
    heir = reading.state.leader
    if leaderless:
        if not live_isr:
            return _without_heir(reading, alive, reader)
        heir = next((b for b in reading.assignment.replicas if b in live_isr), live_isr[0])
    return holds(reader, reading.tp, heir, alive, _WANTED)


def _without_heir(reading: PartitionReading, alive: set[int], reader: ClusterReader) -> Answer:
    """Judges a partition without a live in-sync replica: a new controller leaves it as it is, unless Kafka may elect
    another replica or a working leader is lost.
    """
    if alive:
        dead = f"brokers follow {sorted(alive)}, ZooKeeper's ISR {list(reading.isr or ())} is dead"
        return judge(False, f"{dead}: it would lose its leader", _WANTED)
    allowed = list(_unclean_allowed(reading.tp.topic, reader))
    if any(allowed):
        return judge(False, f"{state_words(reading)}, and {UNCLEAN} is true", _WANTED)
    return judge(True if allowed else None, f"{state_words(reading)}, {UNCLEAN} is false", _WANTED)


def _unclean_allowed(topic: str, reader: ClusterReader) -> Iterator[bool]:
    """Yields the topic's own value, or where it has none that of every broker: each may become the controller."""
    found = reader.configs(ResourceKind.TOPIC, topic, (UNCLEAN,)).get(UNCLEAN)
    if found is not None and found.own:
        yield _is_true(found.value, f"topic {topic}")
        return
    for broker in sorted(reader.registered_brokers()):
        own = reader.configs(ResourceKind.BROKER, str(broker), (UNCLEAN,)).get(UNCLEAN)
        yield _is_true(None if own is None else own.value, f"broker {broker}")


def _is_true(value: str | None, whose: str) -> bool:
    if value is None:
        raise UnreachableError(f"{whose} does not report {UNCLEAN}")
    return value.lower() == "true"


def _several(texts: list[str]) -> str:
    more = len(texts) - _SHOWN
    return "; ".join(texts[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


@state_probe("the recorded leader is registered and in the ISR", "a registered leader that is in the ISR")
def partition_has_leader(_args: Args, reading: PartitionReading) -> bool | None:
    if reading.leaderless is None or reading.state is None:
        return None
    return not reading.leaderless and reading.state.leader in reading.state.isr


@state_probe(
    "the broker is the recorded leader and is registered",
    "broker {broker} registered and leader",
    broker=ArgKind.BROKER,
)
def leader_is(args: Args, reading: PartitionReading) -> bool | None:
    if reading.state is None or reading.leaderless is None:
        return None
    return not reading.leaderless and reading.state.leader == args.number("broker")


@partition_probe("the leader is the preferred replica and is registered")
def leader_is_preferred(_args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    order = () if reading.assignment is None else reading.assignment.replicas
    good = None
    if reading.state is not None and reading.leaderless is not None and order:
        good = not reading.leaderless and reading.state.leader == order[0]
    observed = f"{state_words(reading)}, assignment {ids(order) if order else 'unknown'}"
    return judge(good, observed, "the first replica of the assignment registered and leader")


@partition_probe("the broker is the first of the assignment", broker=ArgKind.BROKER)
def preferred_is(args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    """The broker is the preferred replica, the first of the assignment: the one that a preferred election elects."""
    broker = args.number("broker")
    wanted = f"broker {broker} first in the assignment"
    if reading.assignment is None or not reading.assignment.replicas:
        return judge(None, gaps(reading, "no assignment"), wanted)
    return judge(reading.assignment.replicas[0] == broker, f"assignment {ids(reading.assignment.replicas)}", wanted)


def _isr_at_plan(args: Args, read: ReadFact) -> Args:
    (key,) = about(args.tp(), "isr")
    return args if "isr" in args else args.with_(isr=brokers(read(key)))


@partition_probe(
    "the leader was a member of the ISR when the plan was made", optional={"isr": ArgKind.BROKERS}, freeze=_isr_at_plan
)
def leader_from_isr(args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    """The leader is one of the replicas that were in sync when the plan was made.

    After an election through the API called "unclean" this proves that it was clean: had the last in-sync replica died
    in the same instant, Kafka would have elected a replica that is not in sync. The answer then says how the records
    that it lacks can still be saved: a replica truncates its log to the leader's only when its broker starts.
    """
    isr, words = args.brokers("isr"), state_words(reading)
    wanted = f"a leader among {ids(isr)}"
    if reading.state is None or reading.leaderless is None:
        return judge(None, words, wanted)
    leader = reading.state.leader
    if leader == NO_LEADER or leader in isr:
        return judge(leader != NO_LEADER and not reading.leaderless, words, wanted)
    return judge(False, f"{words}; {leader} was not in sync: {saving_words(isr)}", wanted)


@partition_probe(
    "the broker is the first live replica in assignment order",
    facts=("assignment", "live_replicas"),
    broker=ArgKind.BROKER,
)
def unclean_winner_is(args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    """The broker is the one that an unclean election elects: the first live replica in assignment order.

    Kafka does not compare the logs: only the order of the assignment decides which replica wins
    (docs/facts/controller.md).
    """
    broker = args.number("broker")
    wanted = f"broker {broker} the first registered one of the assignment"
    if reading.assignment is None or reading.registered is None:
        return judge(None, gaps(reading, "assignment or registrations unknown"), wanted)
    live = [b for b in reading.assignment.replicas if b in reading.registered]
    observed = f"assignment {ids(reading.assignment.replicas)}, registered of them {ids(live)}"
    return judge(live[:1] == [broker], observed, wanted)


@partition_probe(
    "the broker that an unclean election was to elect leads, so the stated loss is the one that happened",
    broker=ArgKind.BROKER,
)
def unclean_winner_leads(args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    """The broker that an unclean election was to elect leads the partition.

    If it died between the last reading and the election, Kafka elected the next live replica, which may lack records
    that the plan counted as kept: the stated loss is then not the loss that happened. Kafka has no election that names
    its winner (docs/facts/controller.md), so this is found out afterwards, and the answer says how the records can
    still be saved. If it is a member of the ISR that came back in that moment, nothing is lost.
    """
    winner, words = args.number("broker"), state_words(reading)
    wanted = f"broker {winner} registered and leader"
    if reading.state is None or reading.leaderless is None:
        return judge(None, words, wanted)
    leader = reading.state.leader
    if leader in {winner, NO_LEADER}:
        return judge(leader == winner and not reading.leaderless, words, wanted)
    other = f"Kafka elected {leader} instead of {winner}: unless {leader} was in sync, more may be lost than planned"
    return judge(False, f"{words}; {other}: {saving_words((winner,))}", wanted)


@probe("all registered brokers report the recorded leader and epoch", ON_PARTITION)
def views_agree(args: Args, reader: ClusterReader) -> Answer:
    """A broker that does not answer makes this inconclusive: its view is unknown, and a client may be using it."""
    wanted = "every registered broker reports the recorded leader and epoch"
    reading = reader.partition(args.tp())
    if reading.state is None or reading.registered is None:
        return Answer(Verdict.INCONCLUSIVE, state_words(reading), wanted)
    truth = (reading.state.leader, reading.state.leader_epoch)
    others = {b: v for b, v in sorted(reading.views.items()) if (v.leader, v.leader_epoch) != truth or v.error}
    silent = sorted(reading.registered - reading.views.keys())
    shown = [view_words(b, v) for b, v in others.items()]
    shown += [f"broker {b} did not answer" for b in silent]
    observed = f"recorded: leader {truth[0]} epoch {truth[1]}; " + ("; ".join(shown) or "all agree")
    return judge(False if others else None if silent else True, observed, wanted)


@probe("the controller is this broker", {"broker": ArgKind.BROKER})
def controller_is(args: Args, reader: ClusterReader) -> Answer:
    """The controller is still this broker: a new one has its own list of moves and its own cached state."""
    node, broker = reader.controller(), args.number("broker")
    return judge(node.broker == broker, controller_words(node), f"controller {broker}")


def controller_words(node: ControllerNode) -> str:
    return f"controller {'none' if node.broker is None else node.broker}, epoch {node.epoch}"


def _epoch_at_plan(args: Args, read: ReadFact) -> Args:
    (key,) = about_cluster("controller_epoch")
    epoch = read(key).value
    return args.with_(after=epoch) if "after" not in args and isinstance(epoch, int) else args


@probe("a new controller was elected since the plan was made", optional={"after": ArgKind.INT}, freeze=_epoch_at_plan)
def controller_reelected(args: Args, reader: ClusterReader) -> Answer:
    node, after = reader.controller(), args.number("after")
    good = node.broker is not None and node.epoch > after
    return judge(good, controller_words(node), f"a controller with an epoch above {after}")
