"""Probes about the coordinator of an offsets partition, and the records that it cannot load."""

from collections.abc import Callable, Mapping
from itertools import count

from kfix.core.args import ArgKind, Args
from kfix.core.derive.coordinator import partition_of_group
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.load_conflicts import KeyLeft, LoadConflict, parse_conflicts
from kfix.core.snapshot.snapshot import CoordinatorProbe, TopicPartition
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact, about
from kfix.heal.probes.base import ON_PARTITION, Probe, probe

#: What a plan says about the key: the group, the key in hexadecimal, and the offset of its first record.
KEY: Mapping[str, ArgKind] = {"group": ArgKind.TEXT, "key": ArgKind.TEXT, "first": ArgKind.INT}


_BY_HAND = "kfix explain KFX118 describes the manual steps"


def only_conflict(tp: TopicPartition, read: ReadFact) -> LoadConflict:
    """Returns the only record on which a load fails. Raises RefusedError if there is none, or not only this one."""
    (name,) = about(tp, "load_conflicts")
    text = read(name).value
    if not isinstance(text, str):
        text = f"{tp}: kfix recognizes no record on which its load fails"
        raise RefusedError(f"{text}; if it was deleted and compacted away already, move the leadership", hint=_BY_HAND)
    found = parse_conflicts(text)
    if found.unknown:
        raise RefusedError(f"{tp}: {found.unknown}: its load may fail on that one", hint=_BY_HAND)
    if found.count > 1:
        first = found.named[0]
        why = f"{tp}: records of {found.count} keys contradict what comes before them; the first: {first.words}"
        raise RefusedError(f"{why}. Which of them are wrong is unknown", hint=_BY_HAND)
    return found.named[0]


def freeze_key(args: Args, read: ReadFact) -> Args:
    """Uses the key that the runbook names; without one, that of the only record on which a load fails."""
    if KEY.keys() <= args.keys():
        return args
    found = only_conflict(args.tp(), read)
    return args.with_(group=found.group, key=found.key, first=found.first)


def key_of(args: Args) -> bytes:
    """Returns the key. Raises RefusedError for a text that is not hexadecimal."""
    try:
        return bytes.fromhex(args.text("key"))
    except ValueError:
        raise RefusedError(f"{args.tp()}: {args.text('key')[:60]!r} is not a key in hexadecimal") from None


def key_probe(summary: str, wanted: str) -> Callable[[Callable[[KeyLeft], bool]], Probe]:
    """A probe about what every replica still has of the key."""

    def declare(rule: Callable[[KeyLeft], bool]) -> Probe:
        def ask(args: Args, reader: ClusterReader) -> Answer:
            left = reader.key_left(args.tp(), key_of(args), args.number("first"))
            observed = "; ".join(f"broker {b}: {each.words}" for b, each in sorted(left.items()))
            if any(not each.error and not rule(each) for each in left.values()):
                return judge(False, observed, wanted)
            return judge(None if not left or any(each.error for each in left.values()) else True, observed, wanted)

        return Probe(rule.__name__, summary, ask, ON_PARTITION, KEY, freeze=freeze_key)

    return declare


@key_probe(
    "no replica has a record with a value and the key that cannot be loaded",
    "no record with this key and a value, on every replica",
)
def key_is_compacted(left: KeyLeft) -> bool:
    """No replica has a record with the key and a value; the one that deleted it may still be there."""
    return left.values == 0


@key_probe(
    "on every replica, the last record with the key that cannot be loaded has no value",
    "a record without a value is the last one with this key, on every replica",
)
def key_is_deleted(left: KeyLeft) -> bool:
    """On every replica, the last record with the key has no value: the next compaction removes those before it."""
    return left.deleted


@key_probe(
    "no replica has a record with the key that cannot be loaded, with or without a value",
    "no record with this key, on every replica",
)
def key_is_gone(left: KeyLeft) -> bool:
    """No replica has any record with the key: whichever replica leads next, its coordinator does not read one.

    Every replica compacts its own log. On Kafka 4.3.1 the leader's log was clean, and the next leader still had the
    record that deletes the key, on which its load failed, too (docs/facts/consumer-groups.md).
    """
    return left.values + left.tombstones == 0


# No answer, or the coordinator is loading: the next attempt may succeed, so the answer is still open.
_NOT_YET = frozenset({-1, 14, None})


def group_on(partition: int, partitions: int) -> str:
    """Returns a group name that hashes to the partition; on average `partitions` names are tried.

    The number comes early in the name: the hash multiplies by 31, so a number at the end would never reach some
    partitions where 31 divides the partition count (31, 62, 93, ...).
    """
    if not 0 <= partition < partitions:
        raise ValueError(f"there is no partition {partition} of {partitions}")
    return next(
        name for n in count() if partition_of_group(name := f"kfix-{n}-coordinator-probe", partitions) == partition
    )


def freeze(args: Args, read: ReadFact) -> Args:
    """Uses the group that the finding names where it belongs to this partition, else makes up one."""
    tp = args.tp()
    (key,) = about(tp, "partition_count")
    partitions = read(key).value
    if not isinstance(partitions, int):
        raise RefusedError(f"{tp.topic} does not exist, so it has no groups")
    if not 0 <= tp.partition < partitions:
        raise RefusedError(f"{tp.topic} has {partitions} partitions, so no group can be on {tp}")
    group = str(args.get("group", ""))
    if not group or partition_of_group(group, partitions) != tp.partition:
        group = group_on(tp.partition, partitions)
    return args.with_(group=group)


@probe(
    "FindCoordinator and OffsetFetch answer for a group of the offsets partition",
    ON_PARTITION,
    {"group": ArgKind.TEXT},
    freeze=freeze,
)
def coordinator_answers(args: Args, reader: ClusterReader) -> Answer:
    """The group coordinator of an offsets partition answers, and the offsets committed there can be read.

    Leadership proves neither: a coordinator that is still loading its log answers 14 (COORDINATOR_LOAD_IN_PROGRESS), a
    phantom leader 16 (NOT_COORDINATOR). Where no group of the partition is known, the probe makes up a group name that
    hashes to the partition: a request for it changes nothing, and only a working coordinator can answer it.
    """
    found = reader.probe_group(args.text("group"))
    wanted = "FindCoordinator and OffsetFetch answer without an error"
    # The topic may have grown since the plan was made: then the answer is about another partition.
    if found.partition != args.tp().partition:
        observed = f"group {found.group} is now on {TopicPartition(args.tp().topic, found.partition)}"
        return judge(None, observed, wanted)
    return judge(_good(found), _words(found), wanted)


def _good(found: CoordinatorProbe) -> bool | None:
    if found.answers:
        return True
    error = found.find_error if found.find_error != 0 else found.fetch_error
    return None if error in _NOT_YET else False


def _words(found: CoordinatorProbe) -> str:
    if found.answers:
        offset = "no offset" if found.committed is None else f"offset {found.committed}"
        return f"group {found.group}: broker {found.coordinator} answers, {offset} read"
    where = "" if found.coordinator is None else f" of broker {found.coordinator}"
    why = f" ({found.error})" if found.error else ""
    return f"group {found.group}: FindCoordinator {found.find_error}, OffsetFetch{where} {found.fetch_error}{why}"


_NOT_COORDINATOR = 16


@probe(
    "the leader of the offsets partition refuses its groups, although it is their coordinator",
    ON_PARTITION,
    {"group": ArgKind.TEXT},
    freeze=freeze,
)
def coordinator_gave_up(args: Args, reader: ClusterReader) -> Answer:
    """The leader of an offsets partition refuses its groups although every broker names it as their coordinator.

    Only the coordinator of Kafka 4 gives a whole partition up. Shortly after a leader has moved, it answers the same;
    the finding of this runbook has seen it in two snapshots.
    """
    found = reader.probe_group(args.text("group"))
    wanted = "FindCoordinator names the leader, and it answers OffsetFetch with NOT_COORDINATOR (16)"
    if found.partition != args.tp().partition:
        there = TopicPartition(args.tp().topic, found.partition)
        return judge(None, f"group {found.group} is now on {there}", wanted)
    state = reader.recorded(args.tp()).state
    observed = f"FindCoordinator {found.find_error}, OffsetFetch {found.fetch_error}"
    if state is None or found.fetch_error in {None, -1}:
        return judge(None, observed, wanted)
    same = (found.find_error, found.fetch_error, found.coordinator) == (0, _NOT_COORDINATOR, state.leader)
    return judge(same, observed, wanted)
