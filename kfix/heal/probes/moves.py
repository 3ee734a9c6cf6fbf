"""Probes about assignments and reassignments."""

from collections.abc import Iterable

from kfix.core.args import ArgKind, Args, parse_partition
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact, about, show_value
from kfix.heal.probes.base import ON_PARTITION, partition_probe, probe, state_words

# The controller drops a finished move from its list a moment before or after the record is rewritten: a move is under
# way as long as either of them lists it.


def standing(reader: ClusterReader, tp: TopicPartition) -> Assignment | None:
    """Returns the assignment, None where the partition does not exist.

    Raises UnreachableError where the record or the list of moves cannot be read.
    """
    return moved(reader.recorded(tp), reader.reassignments().get(tp))


def moved(reading: PartitionReading, move: Assignment | None) -> Assignment | None:
    recorded = reading.assignment
    if recorded is None and reading.errors:
        raise UnreachableError(f"{reading.tp}: the assignment could not be read: {'; '.join(reading.errors)}")
    return recorded if recorded is None or move is None or under_way(recorded) else move


def under_way(assignment: Assignment) -> bool:
    return bool(assignment.adding or assignment.removing)


def target_of(assignment: Assignment) -> tuple[int, ...]:
    """Returns the replicas after the move."""
    return tuple(b for b in assignment.replicas if b not in assignment.removing)


def original_of(assignment: Assignment) -> tuple[int, ...]:
    """Returns the replicas after a cancel. Kafka does not keep their order (ReplicaAssignment.originReplicas)."""
    return tuple(b for b in assignment.replicas if b not in assignment.adding)


def ids(brokers: Iterable[int]) -> str:
    return show_value(tuple(brokers))


def move_words(assignment: Assignment | None) -> str:
    if assignment is None:
        return "the partition does not exist"
    if not under_way(assignment):
        return f"replicas {ids(assignment.replicas)}, no move under way"
    parts = (("adding", assignment.adding), ("removing", assignment.removing))
    doing = ", ".join(f"{word} {ids(brokers)}" for word, brokers in parts if brokers)
    return f"moving from {ids(original_of(assignment))} to {ids(target_of(assignment))}: {doing}"


@probe(
    "the replicas are exactly these, in this order, and no move is under way",
    {**ON_PARTITION, "replicas": ArgKind.BROKERS},
)
def assignment_is(args: Args, reader: ClusterReader) -> Answer:
    wanted, now = args.brokers("replicas"), standing(reader, args.tp())
    good = now is not None and not under_way(now) and now.replicas == wanted
    return judge(good, move_words(now), f"replicas {ids(wanted)}, no move under way")


@probe("every partition of the topic has exactly rf replicas", {"topic": ArgKind.TOPIC, "rf": ArgKind.INT})
def rf_is(args: Args, reader: ClusterReader) -> Answer:
    topic, rf = args.text("topic"), args.number("rf")
    wanted = f"every partition of {topic} with {rf} replicas, no move under way"
    found, moves = reader.assignments(topic), reader.reassignments()
    if not found:
        return judge(False, f"{topic} does not exist", wanted)
    now = {tp: a if under_way(a) else moves.get(tp, a) for tp, a in found.items()}
    odd = sorted(tp for tp, a in now.items() if under_way(a) or len(a.replicas) != rf)
    if not odd:
        return judge(True, f"all {len(now)} partitions have {rf} replicas", wanted)
    first: TopicPartition = odd[0]
    return judge(False, f"{len(odd)} of {len(now)} do not; {first}: {move_words(now[first])}", wanted)


@probe(
    "no reassignment of the partition is under way", ON_PARTITION, reads=lambda args: about(args.tp(), "reassigning")
)
def no_reassignment(args: Args, reader: ClusterReader) -> Answer:
    """No reassignment of this partition is under way: a no-op reassignment would cancel or replace it."""
    move = reader.reassignments().get(args.tp())
    observed = "none" if move is None else f"to {list(move.replicas)}, adding {list(move.adding)}"
    return judge(move is None, observed, "no reassignment of this partition under way")


_SHOWN = 3


def _freeze(args: Args, _read: ReadFact) -> Args:
    for text in args.text("partitions").split():
        try:
            parse_partition(text)
        except ValueError as error:
            raise RefusedError(f"no_foreign_reassignment: {error}; separate several by spaces") from error
    return args


@probe(
    "no partition is being moved except the named ones (separated by spaces)",
    {"partitions": ArgKind.TEXT},
    freeze=_freeze,
)
def no_foreign_reassignment(args: Args, reader: ClusterReader) -> Answer:
    """No reassignment of other partitions is under way: every move under way is of one of the plan's own partitions."""
    own = set(args.text("partitions").split())
    foreign = sorted(tp for tp in reader.reassignments() if str(tp) not in own)
    wanted = "no move under way" + (f" except of {', '.join(sorted(own))}" if own else "")
    if not foreign:
        return judge(True, "none", wanted)
    named = ", ".join(map(str, foreign[:_SHOWN])) + (", ..." if len(foreign) > _SHOWN else "")
    return judge(False, f"{len(foreign)} under way: {named}", wanted)


@partition_probe("a move is under way, and one of the original replicas is alive and in sync")
def cancel_is_safe(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    """After a cancel the partition can have a leader: one of the original replicas is registered and in sync.

    A cancel discards the added copies. Where the leader is one of them, leadership goes to an original replica that is
    in sync; where there is none the partition is left without a leader, and with `unclean.leader.election.enable` even
    without its only good copy (KAFKA-14424, docs/facts/kraft.md).
    """
    wanted = "a replica from before the move registered and in sync"
    now = moved(reading, reader.reassignments().get(args.tp()))
    if now is None or not under_way(now):
        return judge(False, move_words(now), wanted)
    if reading.live_isr is None:
        return judge(None, state_words(reading), wanted)
    heirs = tuple(b for b in original_of(now) if b in reading.live_isr)
    observed = f"{move_words(now)}; {state_words(reading)}; of the originals alive and in sync: {ids(heirs)}"
    return judge(bool(heirs), observed, wanted)
