"""Kafka's reassignment JSON, the file that `kafka-reassign-partitions` reads and writes.

Source: ReassignPartitionsCommand.parsePartitionReassignmentData and formatAsReassignmentJson (2.7.1 to 4.x): the
version may be missing and is 1, unknown keys are ignored. `judge` checks the lists themselves.
"""

import json
import re
from collections import Counter
from typing import Final

from kfix.core.errors import InvalidFileError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.placement.world import Assignments

_ANY: Final = "any"
_TOPIC: Final = re.compile(r"(?!\.\.?\Z)[a-zA-Z0-9._-]{1,249}\Z")
_MOST: Final = 2**31 - 1
_HINT: Final = 'wanted: {"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1,2,3]}]}'


class _Odd(str):
    """A value that is not allowed here, as it was written: NaN, or a number too long to be an id."""

    __slots__ = ()


class _Entry(dict[str, object]):
    """An object that keeps the keys that were given twice."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        self.twice = sorted(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)


def parse(text: str | bytes, origin: str) -> tuple[tuple[TopicPartition, tuple[int, ...]], ...]:
    """Returns the lists in the order of the file.

    Lists may be empty or hold a broker twice, and a partition may come twice: `judge` reports those. Raises
    InvalidFileError with all other mistakes, with line and column where the text is not JSON, else with the entry's
    number, counted from 1.
    """
    document = _load(text, origin)
    if not isinstance(document, _Entry):
        raise InvalidFileError((f"{origin}:1:1: {_seen(document)} is not a reassignment",), hint=_HINT)
    problems = [f"the key {_seen(key)} is given more than once" for key in document.twice]
    version = document.get("version", 1)
    if type(version) is not int or version != 1:
        problems.append(f"version is {_seen(version)}, kfix and Kafka know 1")
    entries = document.get("partitions")
    found: list[tuple[TopicPartition, tuple[int, ...]]] = []
    if "partitions" not in document and "topics" in document:
        problems.append("this is the list of topics to move for `--generate`: it names what to move, but not where to")
    elif not isinstance(entries, list):
        problems.append(
            f"partitions is {_seen(entries)}, wanted a list" if "partitions" in document else "no partitions"
        )
    else:
        for number, entry in enumerate(entries, 1):
            wrong = _mistakes(entry)
            problems += [f"partition entry {number}{_name(entry)}: {text}" for text in wrong]
            if not wrong:
                found.append((TopicPartition(entry["topic"], entry["partition"]), tuple(entry["replicas"])))
    if problems:
        raise InvalidFileError(tuple(f"{origin}: {p}" for p in problems), hint=_HINT)
    return tuple(found)


def render(wanted: Assignments) -> str:
    """Returns one line as Kafka writes it, partitions in order: equal moves give equal bytes. `parse` reads it back."""
    entries = [
        {"topic": tp.topic, "partition": tp.partition, "replicas": replicas, "log_dirs": [_ANY] * len(replicas)}
        for tp, replicas in sorted(wanted)
    ]
    return json.dumps({"version": 1, "partitions": entries}, separators=(",", ":")) + "\n"


def _load(text: str | bytes, origin: str) -> object:
    try:
        read = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise InvalidFileError((f"{origin}:1:1: not UTF-8 text (byte {error.start})",), hint=_HINT) from error
    try:
        loaded: object = json.loads(
            read.removeprefix("\ufeff"), object_pairs_hook=_Entry, parse_constant=_Odd, parse_int=_whole
        )
    except json.JSONDecodeError as error:
        raise InvalidFileError((f"{origin}:{error.lineno}:{error.colno}: {error.msg}",), hint=_HINT) from error
    except RecursionError as error:
        raise InvalidFileError((f"{origin}:1:1: nested too deep to be a reassignment",), hint=_HINT) from error
    return loaded


def _whole(digits: str) -> object:
    """Rejects a long number: Python refuses to read thousands of digits, and no id has more than 10."""
    return int(digits) if len(digits) <= 20 else _Odd(digits)


def _mistakes(entry: object) -> list[str]:
    if not isinstance(entry, _Entry):
        return [f"{_seen(entry)} is not an object with topic, partition and replicas"]
    missing = [key for key in ("topic", "partition", "replicas") if key not in entry]
    found = [f"the key {_seen(key)} is given more than once" for key in entry.twice]
    found += [f"{key} is missing" for key in missing]
    topic, partition, replicas = entry.get("topic"), entry.get("partition"), entry.get("replicas")
    if "topic" in entry and (type(topic) is not str or not _TOPIC.match(topic)):
        found.append(f"topic {_seen(topic)} is not a topic name (letters, digits, '.', '_', '-', at most 249)")
    if "partition" in entry and not _id(partition):
        found.append(f"partition is {_seen(partition)}, wanted a number from 0 on")
    if "replicas" in entry and not isinstance(replicas, list):
        found.append(f"replicas is {_seen(replicas)}, wanted a list of broker ids")
    brokers = replicas if isinstance(replicas, list) else []
    found += [f"replicas holds {_seen(b)}, wanted broker ids from 0 on" for b in brokers if not _id(b)]
    if "log_dirs" in entry:
        found += _log_dirs(entry["log_dirs"], len(brokers) if isinstance(replicas, list) else None)
    return found


def _log_dirs(value: object, wanted: int | None) -> list[str]:
    if not isinstance(value, list):
        return [f"log_dirs is {_seen(value)}, wanted a list"]
    odd = [d for d in value if type(d) is not str or d != _ANY]
    found = [f'log_dirs holds {_seen(d)}; kfix moves no directories, write "any" or leave log_dirs out' for d in odd]
    if wanted is not None and len(value) != wanted:
        found.append(f"{wanted} replicas and {len(value)} log_dirs; one each, or leave log_dirs out")
    return found


def _id(value: object) -> bool:
    # In Python `true` equals 1.
    return type(value) is int and 0 <= value <= _MOST


def _name(entry: object) -> str:
    """Returns ` (orders-3)` where the entry names its partition."""
    topic, partition = (entry.get("topic"), entry.get("partition")) if isinstance(entry, _Entry) else (None, None)
    good = type(topic) is str and _TOPIC.match(topic) and _id(partition)
    return f" ({topic}-{partition})" if good else ""


def _seen(value: object) -> str:
    """Returns the value as JSON, shortened to a line and safe for a terminal."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = value if isinstance(value, _Odd) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
