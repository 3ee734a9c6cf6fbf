"""Probes about a KRaft quorum without a majority, and about what it is recovered with."""

from collections.abc import Iterator, Mapping
from typing import Final

from kfix.core.args import ArgKind, Args
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.recovery import MISSING, NewLog, is_written, offsets_text, parsed_offsets, parsed_partitions
from kfix.core.snapshot.snapshot import NO_LEADER, TopicPartition
from kfix.core.wording import several, some
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact, about_cluster
from kfix.heal.probes.base import probe

_SHOWN = 5
#: What a new log directory is made of; `new_log` reads it.
NEW_LOG: Final[Mapping[str, ArgKind]] = {
    "into": ArgKind.TEXT,
    "seed": ArgKind.TEXT,
    "node": ArgKind.BROKER,
    "epoch": ArgKind.INT,
    "end": ArgKind.INT,
    "fence": ArgKind.INT,
}


def new_log(args: Args) -> NewLog:
    numbers = (args.number(name) for name in ("node", "epoch", "end", "fence"))
    return NewLog(args.text("into"), args.text("seed"), *numbers)


@probe("no KRaft controller is active")
def no_active_controller(_args: Args, reader: ClusterReader) -> Answer:
    """No controller answers as the active one, neither at its own listener nor through a broker, although brokers do.

    Where no broker answers either, nothing is known.
    """
    try:
        node = reader.controller()
    except UnreachableError as error:
        applied = offsets_text(reader.applied().offsets)
        return judge(True, f"{error}; applied by the brokers: {applied}", "no active controller")
    return judge(False, f"controller {node.broker} is active in epoch {node.epoch}", "no active controller")


@probe("this node is the active controller", {"node": ArgKind.BROKER})
def quorum_led_by(args: Args, reader: ClusterReader) -> Answer:
    node, wanted = reader.controller(), args.number("node")
    return judge(node.broker == wanted, f"controller {node.broker} is active", f"controller {wanted} is active")


@probe("the log directory was written, and makes this node the only voter", NEW_LOG)
def metadata_log_written(args: Args, reader: ClusterReader) -> Answer:
    wanted = new_log(args)
    [found] = reader.metadata_copies((wanted.into,))
    observed = f"{wanted.into}: voters {list(found.voters)}, epoch {found.seen_epoch}, log end {found.end}"
    if found.unread:
        return judge(False if found.unread == MISSING else None, f"{wanted.into} {found.unread}", "a metadata log")
    what = f"voters [{wanted.node}], epoch {wanted.fence} or later, log end {wanted.end} or later"
    return judge(is_written(found, wanted), observed, what)


def _as_now(args: Args, read: ReadFact) -> Args:
    if "before" in args:
        return args
    applied, partitions = (read(key).value for key in about_cluster("applied", "partitions"))
    running = tuple(broker for broker, offset in parsed_offsets(str(applied)).items() if offset >= 0)
    return args.with_(brokers=running, before=str(partitions))


@probe(
    "a controller is active, the brokers are registered, and every partition has its replicas, ISR and leader",
    optional={"brokers": ArgKind.BROKERS, "before": ArgKind.TEXT},
    freeze=_as_now,
)
def partitions_as_before(args: Args, reader: ClusterReader) -> Answer:
    """The active controller's record has the partitions that the brokers had when the plan was made.

    The brokers that ran then are registered. The replicas are the same, no replica that is alive has left the ISR, and
    a partition with one in the ISR has a leader.
    """
    now, before = reader.every_partition(), parsed_partitions(args.text("before"))
    wanted = f"{several(len(before), 'partition')} as before, brokers {list(args.brokers('brokers'))} registered"
    if lost := sorted(set(args.brokers("brokers")) - reader.registered_brokers()):
        return judge(False, f"not registered: {lost}", wanted)
    wrong = tuple(_differences(before, now))
    return judge(not wrong, some(wrong, _SHOWN) if wrong else f"{several(len(now), 'partition')}, as before", wanted)


def _differences(
    before: Mapping[TopicPartition, tuple[tuple[int, ...], tuple[int, ...]]],
    now: Mapping[TopicPartition, PartitionReading],
) -> Iterator[str]:
    yield from (f"{tp} is gone" for tp in before if tp not in now)
    yield from (f"{tp} is new" for tp in now if tp not in before)
    for tp, (replicas, isr) in before.items():
        found = now.get(tp)
        if found is None or found.assignment is None or found.state is None:
            continue
        alive = set(isr) & (found.registered or frozenset())
        if found.assignment.replicas != replicas:
            yield f"{tp}: replicas {list(found.assignment.replicas)}, not {list(replicas)}"
        if left := sorted(alive - set(found.state.isr)):
            yield f"{tp}: {left} left the ISR"
        if alive and found.state.leader == NO_LEADER:
            yield f"{tp} has no leader"
