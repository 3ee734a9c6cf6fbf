"""Probes about the logs of replicas."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import LogTail, PartitionReading, ResourceKind
from kfix.core.snapshot.snapshot import NO_LEADER, TopicPartition
from kfix.heal.model.answer import Answer, Verdict, judge
from kfix.heal.model.facts import about
from kfix.heal.probes.base import ON_PARTITION, gaps, partition_probe, probe, state_words
from kfix.heal.probes.moves import ids

# Whether one replica's log holds all of others' logs: it reaches as far, and its last record is of no older epoch.
#
# The replica with the higher (epoch, end) holds more, and a log that is as long but older ends with records of its own
# (docs/facts/data-loss.md). Log ends of a busy partition move between two reads, so the future leader's is read last,
# and again: a follower that has reached the offset at which the leader *was* holds all of it.

_REREADS = 5


def holds(reader: ClusterReader, tp: TopicPartition, heir: int, others: Collection[int], wanted: str) -> Answer:
    """Judges whether the log of `heir` holds those of the others; an unread log makes the answer inconclusive."""
    goals = _tails(reader, tp, tuple(sorted(set(others) - {heir})))
    unread = [b for b, tail in goals.items() if tail is None]
    if unread:
        return judge(None, f"the log end of broker {unread[0]} is unknown", wanted)
    known = {b: tail for b, tail in goals.items() if tail is not None and tail.end > tail.start}
    goal = max((tail.end for tail in known.values()), default=0)
    end = _end(reader, tp, heir)
    for _ in range(_REREADS):
        if end is None or end >= goal:
            break
        end = _end(reader, tp, heir)
    if end is None:
        return judge(None, f"the log end of broker {heir} is unknown", wanted)
    if end < goal:
        furthest = next(b for b, tail in known.items() if tail.end == goal)
        return judge(False, f"broker {heir} ends at {end}, broker {furthest} at {goal}", wanted)
    return _of_no_older_epoch(reader, tp, heir, known, wanted)


def _of_no_older_epoch(
    reader: ClusterReader, tp: TopicPartition, heir: int, known: Mapping[int, LogTail], wanted: str
) -> Answer:
    """Where no epoch at all is known, as for records from before Kafka 0.11, the log ends alone decide."""
    own = _tails(reader, tp, (heir,))[heir] if known else None
    if known and own is None:
        return judge(None, f"the last epoch of broker {heir} is unknown", wanted)
    epochs = {b: tail.epoch for b, tail in known.items()} | ({} if own is None else {heir: own.epoch})
    dark = [b for b, epoch in epochs.items() if epoch < 0]
    if dark and len(dark) < len(epochs):
        return judge(None, f"the epoch of the last record of broker {dark[0]} is unknown", wanted)
    newer = [b for b in epochs if epochs[b] > epochs[heir]]
    if newer:
        text = f"the last record of broker {heir} is of epoch {epochs[heir]}, that of broker {newer[0]} of epoch "
        return judge(False, f"{text}{epochs[newer[0]]}: the logs differ", wanted)
    return judge(True, f"broker {heir} holds what {sorted({heir, *known})} hold", wanted)


def _tails(reader: ClusterReader, tp: TopicPartition, brokers: tuple[int, ...]) -> dict[int, LogTail | None]:
    try:
        found = reader.log_tails(tp, brokers) if brokers else {}
    except UnreachableError:
        found = {}
    return {b: None if (tail := found.get(b)) is None or tail.error else tail for b in brokers}


def _end(reader: ClusterReader, tp: TopicPartition, broker: int) -> int | None:
    try:
        found = reader.log_ends(tp, (broker,)).get(broker)
    except UnreachableError:
        return None
    return None if found is None or found.error else found.end


@partition_probe("the broker's log holds that of every other live replica", broker=ArgKind.BROKER)
def holds_longest_log(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    """The broker's log holds that of every other live replica, so that no follower of it truncates a record away."""
    broker = args.number("broker")
    wanted = f"the log of broker {broker} holds those of all live replicas"
    if reading.assignment is None or reading.registered is None:
        return judge(None, state_words(reading), wanted)
    return holds(reader, args.tp(), broker, set(reading.assignment.replicas) & reading.registered, wanted)


@probe(
    "the recorded leader holds the whole log of the leader that brokers follow, and of every live replica",
    ON_PARTITION,
    reads=lambda args: about(args.tp(), "leader", "leader_epoch", "isr"),
)
def isr_holds_leader_log(args: Args, reader: ClusterReader) -> Answer:
    """Where ZooKeeper and the brokers differ, both remedies make ZooKeeper's leader the real one and all other replicas
    truncate to it. A "phantom" leader is one that all metadata names, but that was never instructed to lead
    (docs/facts/controller.md): the broker that really leads appears in no metadata, only its log shows it. So the probe
    compares every live replica.

    Is inconclusive where a registered broker gives no view: it may follow yet another leader.
    """
    wanted = "the log of the recorded leader reaches the end of the followed leader's log"
    tp = args.tp()
    reading = reader.partition(tp)
    believed = followed(reading)
    if reading.state is None or reading.registered is None or not believed:
        return Answer(Verdict.INCONCLUSIVE, state_words(reading), wanted)
    heir = reading.state.leader
    if heir == NO_LEADER or heir not in reading.registered:
        return judge(False, f"the recorded leader {heir} is not registered", wanted)
    silent = sorted(reading.registered - reading.views.keys())
    if silent:
        return judge(None, f"broker {silent[0]} does not report which leader it follows", wanted)
    assigned = () if reading.assignment is None else reading.assignment.replicas
    return holds(reader, tp, heir, believed | (set(assigned) & reading.registered), wanted)


def followed(reading: PartitionReading) -> set[int]:
    """Returns the leaders that the brokers report."""
    return {v.leader for v in reading.views.values() if v.leader != NO_LEADER}


@partition_probe("every live replica reports its log end and the epoch of its last record")
def log_tails_known(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    """Without the epochs it is unknown which log holds more: a longer log of an older epoch may end with records of its
    own (docs/facts/data-loss.md). An empty log has no last record and needs no epoch.
    """
    wanted = "log end and last epoch of every live replica"
    if reading.assignment is None or reading.registered is None:
        return judge(None, gaps(reading, "assignment or registrations unknown"), wanted)
    live = tuple(b for b in reading.assignment.replicas if b in reading.registered)
    if not live:
        return judge(False, "no assigned replica is registered", wanted)
    tails = reader.log_tails(args.tp(), live)
    known = all(b in tails and _known(tails[b]) for b in live)
    shown = "; ".join(f"broker {b}: {_tail_words(tails.get(b))}" for b in live)
    return judge(True if known else None, shown, wanted)


def _known(tail: LogTail) -> bool:
    return not tail.error and (tail.epoch >= 0 or tail.end <= tail.start)


def _tail_words(tail: LogTail | None) -> str:
    if tail is None or tail.error:
        return "no answer" if tail is None else tail.error
    return f"end {tail.end}, " + ("empty" if tail.end <= tail.start else f"last epoch {_epoch(tail)}")


def _epoch(tail: LogTail) -> str:
    return "unknown" if tail.epoch < 0 else str(tail.epoch)


@probe("no transaction is open: consumers with read_committed get every record", ON_PARTITION)
def no_open_transactions(args: Args, reader: ClusterReader) -> Answer:
    """Consumers with read_committed are not held up: the last stable offset is the high watermark.

    After an unclean election a transaction may hang forever, because its end was in the lost part of the log
    (KAFKA-20716), until the runbook end-hanging-transaction ends it. A running transaction looks the same for a while,
    so ask again.
    """
    end = reader.stable_end(args.tp())
    observed = f"last stable offset {end.stable}, high watermark {end.high_watermark}"
    if end.stable < end.high_watermark:
        observed += f": a transaction is open from offset {end.stable} on; if kfix diagnose reports that it hangs "
        observed += "(KFX122), the runbook end-hanging-transaction ends it"
    # The two are read one after the other: on a busy partition the later one may be ahead.
    return judge(end.stable >= end.high_watermark, observed, "last stable offset = high watermark")


CLEANER, POLICY = "log.cleaner.enable", "cleanup.policy"


@partition_probe("every replica is alive and in sync, and its broker has a log cleaner")
def compaction_possible(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    """Every replica is in sync and its broker compacts the partition, by the settings that brokers show.

    A replica that is behind may never receive a record that deletes a key, if the others compact it away first. Whether
    the threads of the log cleaner are alive is not shown by any setting.
    """
    wanted = f"every replica alive and in sync, {CLEANER} true, and {POLICY} compact"
    live, assigned = reading.live_isr, reading.assignment
    if live is None or assigned is None:
        return judge(None, gaps(reading, "state or assignment unknown"), wanted)
    out = tuple(b for b in assigned.replicas if b not in live)
    if out:
        text = f"{ids(out)} of {ids(assigned.replicas)} not alive or not in sync: {args.tp()} cannot be compacted there"
        return judge(False, text, wanted)
    for kind, name, key, good in _needed_settings(args.tp().topic, assigned.replicas):
        found = reader.configs(kind, name, (key,)).get(key)
        if found is None or found.value is None:
            return judge(None, f"{key} of {kind} {name} is unknown", wanted)
        if good not in found.value.split(","):
            return judge(False, f"{kind} {name} has {key}={found.value}: it compacts no log", wanted)
    return judge(True, f"{ids(assigned.replicas)} in sync, each with a log cleaner", wanted)


def _needed_settings(topic: str, replicas: Iterable[int]) -> Iterator[tuple[ResourceKind, str, str, str]]:
    """Yields (kind, name, key, the value that compaction needs)."""
    yield ResourceKind.TOPIC, topic, POLICY, "compact"
    for broker in replicas:
        yield ResourceKind.BROKER, str(broker), CLEANER, "true"
