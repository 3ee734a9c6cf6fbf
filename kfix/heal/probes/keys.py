"""The record of an offsets partition that its coordinator cannot load, and what each replica still has of its key."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.load_conflicts import KeyLeft, LoadConflict, parse_conflicts
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact, about
from kfix.heal.probes.base import ON_PARTITION, Probe

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


def freeze(args: Args, read: ReadFact) -> Args:
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

        return Probe(rule.__name__, summary, ask, ON_PARTITION, KEY, freeze=freeze)

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
