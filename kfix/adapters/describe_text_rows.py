"""Single lines of pasted descriptions: what kind of row is it, and what does it say? Nothing is put together here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kfix.model.numbers import LARGEST_PORT, broker_id

#: Longest first: `Adding Replicas` ends in `Replicas`, `LastKnownElr` in `Elr`.
_KEYS = (
    "Adding Replicas",
    "Removing Replicas",
    "AddingReplicas",
    "RemovingReplicas",
    "LiveObservers",
    "Observers",
    "LastKnownElr",
    "LastKnownELR",
    "MarkedForDeletion",
    "ReplicationFactor",
    "PartitionCount",
    "TopicId",
    "Topic",
    "Partition",
    "Leader",
    "Replicas",
    "Isr",
    "ISR",
    "Offline",
    "Elr",
    "ELR",
    "Configs",
)
_KEY = re.compile(rf"(?:(?<=\s)|^)({'|'.join(_KEYS)})\s*:")
_NUMBERS = re.compile(r"-?\d+(?:\s*,\s*-?\d+)*")
_KCAT_TOPIC = re.compile(r'topic "(?P<topic>[^"]+)" with \d+ partitions?:')
_KCAT_BROKER = re.compile(r"broker (?P<id>\d+) at (?P<host>\S+):(?P<port>\d+)(?P<controller> \(controller\))?$")
_KCAT_FROM = re.compile(r"Metadata for .*\(from broker (?P<id>-?\d+):")
_KCAT_ROW = re.compile(
    r"partition (?P<partition>\d+), leader (?P<leader>-?\d+), replicas: ?(?P<replicas>[\d,]*), isrs: ?(?P<isr>[\d,]*)"
)
_STATE_PATH = re.compile(r"/brokers/topics/(?P<topic>[^/\s]+)/partitions/(?P<partition>\d+)/state\b")
_TOPIC_PATH = re.compile(r"/brokers/topics/(?P<topic>[^/\s]+)(?=\s|$)")


class BadRowError(Exception):
    """The row is of a known kind but does not say what it must; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """`topic` is "" where the row does not name it: then the header above it does."""

    topic: str
    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicRow:
    topic: str
    configs: dict[str, str]
    deleting: bool = False


def fields_of(line: str) -> dict[str, str]:
    """`Key: value` pairs; a value reaches to the next known key."""
    keys = list(_KEY.finditer(line))
    ends = [*(k.start() for k in keys[1:]), len(line)]
    return {k[1]: line[k.end() : end].strip() for k, end in zip(keys, ends, strict=False)}


def describe_row(line: str) -> PartitionRow | TopicRow | None:
    """A row of `kafka-topics --describe` in any of its variants; None where the line is no such row."""
    said = fields_of(line)
    if "Partition" in said and "Leader" in said:
        return PartitionRow(
            topic=said.get("Topic", ""),
            partition=_number(said["Partition"], "Partition"),
            leader=-1 if said["Leader"].lower() in {"none", ""} else _number(said["Leader"], "Leader"),
            replicas=_numbers(said, "Replicas"),
            isr=_numbers(said, "Isr", "ISR"),
            offline=_numbers(said, "Offline"),
            adding=_numbers(said, "Adding Replicas", "AddingReplicas"),
            removing=_numbers(said, "Removing Replicas", "RemovingReplicas"),
        )
    if "Partition" in said and ("Replicas" in said or "Isr" in said):
        raise BadRowError("a partition row without a Leader")
    if "Topic" in said:
        return TopicRow(said["Topic"], _configs(said.get("Configs", "")), said.get("MarkedForDeletion") == "true")
    return None


def kcat_row(line: str) -> PartitionRow | None:
    if not (found := _KCAT_ROW.search(line)):
        return None
    lists = [tuple(_number(n, key) for n in found[key].split(",") if n) for key in ("replicas", "isr")]
    return PartitionRow("", _number(found["partition"], "partition"), _number(found["leader"], "leader"), *lists)


def kcat_topic(line: str) -> str | None:
    found = _KCAT_TOPIC.search(line)
    return found["topic"] if found else None


def kcat_broker(line: str) -> tuple[int, str, int, bool] | None:
    """(id, host, port, whether it is named controller)."""
    found = _KCAT_BROKER.search(line.strip())
    if found is None:
        return None
    port = _number(found["port"], "port")
    if port > LARGEST_PORT:
        raise BadRowError(f"port is {port}, wanted at most {LARGEST_PORT}")
    return _number(found["id"], "broker"), found["host"], port, bool(found["controller"])


def kcat_from(line: str) -> int | None:
    found = _KCAT_FROM.search(line)
    return _number(found["id"], "broker") if found else None


def znode_path(line: str) -> tuple[str, int | None] | None:
    """(topic, partition) of a state path, (topic, None) of a topic path, as `zookeeper-shell` commands show them."""
    if found := _STATE_PATH.search(line):
        return found["topic"], _number(found["partition"], "partition")
    if found := _TOPIC_PATH.search(line):
        return found["topic"], None
    return None


def _number(text: str, what: str) -> int:
    found = broker_id(text.removeprefix("-"))
    if found is None:
        raise BadRowError(f"{what} is {text[:40]!r}, wanted a number")
    return -found if text.startswith("-") else found


def _numbers(said: dict[str, str], *keys: str) -> tuple[int, ...]:
    text = next((said[k] for k in keys if k in said), "")
    if not text or text.lower() in {"none", "n/a", "null"}:
        return ()
    if not _NUMBERS.fullmatch(text):
        raise BadRowError(f"{keys[0]} is {text[:40]!r}, wanted broker ids such as 1,2,3")
    return tuple(_number(n.strip(), keys[0]) for n in text.split(","))


def _configs(text: str) -> dict[str, str]:
    return {k.strip(): v.strip() for k, eq, v in (part.partition("=") for part in text.split(",")) if eq}
