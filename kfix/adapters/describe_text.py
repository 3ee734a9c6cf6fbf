"""A pasted description as a snapshot: `kafka-topics --describe`, `kcat -L`, or znodes with their JSON.

A text is one view of unknown age. Only `kcat -L` lists brokers; without a list broker liveness is unknown, and a failed
source reports that. The diagnosis rests on the text alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from kfix import __version__
from kfix.adapters.zookeeper import records
from kfix.adapters.zookeeper.wire import NO_STAT, Node
from kfix.errors import InvalidFileError
from kfix.model.cluster.snapshot import (
    Assignment,
    BrokerView,
    ClusterIdentity,
    Endpoint,
    Mode,
    PartitionView,
    Snapshot,
    Source,
    TopicPartition,
)
from kfix.model.numbers import LARGEST_PORT, broker_id

NOBODY = -1
NO_BROKER_LIST = "the text has none"
HINT = (
    "kfix reads `kafka-topics --describe`, `kcat -L`, and znodes as a path with its JSON; a snapshot of kfix itself "
    "ends in .json"
)


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
_KCAT_TOPIC = re.compile(r'topic "(?P<topic>[^"]+)" with (?P<count>\d+) partitions?:')
_KCAT_BROKER = re.compile(r"broker (?P<id>\d+) at (?P<host>\S+):(?P<port>\d+)(?P<controller> \(controller\))?$")
_KCAT_FROM = re.compile(r"Metadata for .*\(from broker (?P<id>-?\d+):")
_KCAT_ROW = re.compile(
    r"partition (?P<partition>\d+), leader (?P<leader>-?\d+), replicas: ?(?P<replicas>[\d,]*), isrs: ?(?P<isr>[\d,]*)"
)
_STATE_PATH = re.compile(r"/brokers/topics/(?P<topic>[^/\s]+)/partitions/(?P<partition>\d+)/state\b")
_TOPIC_PATH = re.compile(r"/brokers/topics/(?P<topic>[^/\s]+)(?=\s|$)")


class BadRowError(Exception):
    """A row of a known kind lacks something; the message states what."""


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """`topic` is "" where only the header above the row names it."""

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
    """The header of a topic. `partitions` is the number that it states, None if it states none."""

    topic: str
    configs: dict[str, str]
    deleting: bool = False
    partitions: int | None = None


def parse_describe_text(text: str, name: str, taken_at: float) -> Snapshot:
    """Raises `InvalidFileError` with `name:line` for every row that is broken, and where there is no row at all."""
    reading = _Reading(name)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            reading.take(line)
        except BadRowError as error:
            reading.problems.append(f"{name}:{number}: {error}: {line.strip()[:80]}")
    if not reading.problems and not reading.partitions:
        reading.problems.append(f"{name}:1: no partition in this text")
    if reading.problems:
        raise InvalidFileError(tuple(reading.problems), hint=HINT)
    return reading.snapshot(taken_at)


@dataclass(slots=True)
class _Reading:
    """What was read so far; a row without a topic belongs to the header above it."""

    name: str
    partitions: dict[TopicPartition, PartitionView] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    assigned: dict[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    moves: dict[TopicPartition, Assignment] = field(default_factory=dict)
    stated: dict[str, int] = field(default_factory=dict)
    brokers: dict[int, Endpoint] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    topic: str = ""
    path: tuple[str, int | None] | None = None
    broker: int = NOBODY
    controller: int = NOBODY

    def take(self, line: str) -> None:
        path, brace, rest = line.partition("{")
        self.path = znode_path(path) or self.path
        if brace and line.rstrip().endswith("}"):
            self._znode(brace + rest)
            return
        if (topic := kcat_topic(line)) is not None:
            self._row(topic)
        elif (broker := kcat_broker(line)) is not None:
            self._broker(*broker)
        elif (asked := kcat_from(line)) is not None:
            self.broker = asked
        elif (row := kcat_row(line) or describe_row(line)) is not None:
            self._row(row)

    def _broker(self, broker: int, host: str, port: int, controller: bool) -> None:
        self.brokers[broker] = Endpoint(host, port)
        if controller:
            self.controller = broker

    def _row(self, row: PartitionRow | TopicRow) -> None:
        if row.topic:
            self.topic = row.topic
        if isinstance(row, TopicRow):
            if row.configs:
                self.configs[row.topic] = row.configs
            if row.partitions is not None:
                self.stated[row.topic] = row.partitions
            return
        if not self.topic:
            raise BadRowError("a partition row before any topic")
        tp = TopicPartition(self.topic, row.partition)
        error = 5 if row.leader < 0 else 0
        self.partitions[tp] = PartitionView(row.leader, NOBODY, row.replicas, row.isr, row.offline, error)
        if row.adding or row.removing:
            self.moves[tp] = Assignment(row.replicas, row.adding, row.removing)

    def _znode(self, text: str) -> None:
        if self.path is None:
            raise BadRowError("JSON without its path /brokers/topics/TOPIC/partitions/N/state before it")
        topic, partition = self.path
        node = Node(text.strip().encode("utf-8", "replace"), (), NO_STAT)
        try:
            if partition is not None:
                state = records.partition_state(node, "a state")
                error = 5 if state.leader < 0 else 0
                view = PartitionView(state.leader, state.leader_epoch, (), state.isr, (), error)
                self.partitions[TopicPartition(topic, partition)] = view
            else:
                assigned = records.assignments(node, topic)
                self.assigned |= {tp: a.replicas for tp, a in assigned.items()}
                self.stated[topic] = len(assigned)
        except records.BadRecordError as error:
            what = "not JSON" if error.not_json else f"not the content of such a znode ({error.why})"
            raise BadRowError(what) from error

    def snapshot(self, taken_at: float) -> Snapshot:
        sources = [Source(f"text {self.name}", ok=True)]
        if not self.brokers:
            sources.append(Source("list of live brokers", ok=False, error=NO_BROKER_LIST))
        # An assignment alone shows neither leader nor ISR, so it only completes a partition that has a state.
        partitions = {
            tp: v._replace(replicas=self.assigned[tp]) if not v.replicas and tp in self.assigned else v
            for tp, v in self.partitions.items()
        }
        view = BrokerView(self.broker, self.controller, self.brokers, {}, partitions)
        made = Snapshot(
            taken_at=taken_at,
            kfix=__version__,
            cluster=ClusterIdentity("", Mode.UNKNOWN),
            sources=tuple(sources),
            views={self.broker: view},
            topic_configs=self.configs,
            reassignments=self.moves,
            origin=self.name,
            stated_partitions=self.stated,
        )
        return replace(made, addresses=dict(self.brokers))


def fields_of(line: str) -> dict[str, str]:
    """`Key: value` pairs; a value reaches to the next known key."""
    keys = list(_KEY.finditer(line))
    ends = [*(k.start() for k in keys[1:]), len(line)]
    return {k[1]: line[k.end() : end].strip() for k, end in zip(keys, ends, strict=False)}


def describe_row(line: str) -> PartitionRow | TopicRow | None:
    """A row of `kafka-topics --describe` in any of its variants; None where the line is no such row."""
    fields = fields_of(line)
    if "Partition" in fields and "Leader" in fields:
        return PartitionRow(
            topic=fields.get("Topic", ""),
            partition=_number(fields["Partition"], "Partition"),
            leader=-1 if fields["Leader"].lower() in {"none", ""} else _number(fields["Leader"], "Leader"),
            replicas=_numbers(fields, "Replicas"),
            isr=_numbers(fields, "Isr", "ISR"),
            offline=_numbers(fields, "Offline"),
            adding=_numbers(fields, "Adding Replicas", "AddingReplicas"),
            removing=_numbers(fields, "Removing Replicas", "RemovingReplicas"),
        )
    if "Partition" in fields and ("Replicas" in fields or "Isr" in fields):
        raise BadRowError("a partition row without a Leader")
    if "Topic" in fields:
        count = _number(fields["PartitionCount"], "PartitionCount") if fields.get("PartitionCount") else None
        configs = _configs(fields.get("Configs", ""))
        return TopicRow(fields["Topic"], configs, fields.get("MarkedForDeletion") == "true", count)
    return None


def kcat_row(line: str) -> PartitionRow | None:
    if not (found := _KCAT_ROW.search(line)):
        return None
    lists = [tuple(_number(n, key) for n in found[key].split(",") if n) for key in ("replicas", "isr")]
    return PartitionRow("", _number(found["partition"], "partition"), _number(found["leader"], "leader"), *lists)


def kcat_topic(line: str) -> TopicRow | None:
    found = _KCAT_TOPIC.search(line)
    return TopicRow(found["topic"], {}, partitions=_number(found["count"], "partitions")) if found else None


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


def _numbers(fields: dict[str, str], *keys: str) -> tuple[int, ...]:
    text = next((fields[k] for k in keys if k in fields), "")
    if not text or text.lower() in {"none", "n/a", "null"}:
        return ()
    if not _NUMBERS.fullmatch(text):
        raise BadRowError(f"{keys[0]} is {text[:40]!r}, wanted broker ids such as 1,2,3")
    return tuple(_number(n.strip(), keys[0]) for n in text.split(","))


def _configs(text: str) -> dict[str, str]:
    return {k.strip(): v.strip() for k, eq, v in (part.partition("=") for part in text.split(",")) if eq}
