"""A pasted description as a snapshot: `kafka-topics --describe`, `kcat -L`, or znodes with their JSON.

A text is one view, of nobody knows when. Only `kcat -L` lists brokers; without a list nobody knows who is alive, and a
failed source says so. It is judged for what it shows and for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from kfix import __version__
from kfix.adapters.describe_text_rows import (
    BadRowError,
    PartitionRow,
    TopicRow,
    describe_row,
    kcat_broker,
    kcat_from,
    kcat_row,
    kcat_topic,
    znode_path,
)
from kfix.adapters.zookeeper import records
from kfix.adapters.zookeeper.wire import NO_STAT, Node
from kfix.documents.opening import read_file
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

NOBODY = -1
NO_BROKER_LIST = "the text has none"
HINT = (
    "kfix reads `kafka-topics --describe`, `kcat -L`, and znodes as a path with its JSON; a snapshot of kfix itself "
    "ends in .json"
)


def read_describe_text(path: Path, taken_at: float) -> Snapshot:
    try:
        text = read_file(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFileError((f"{path}: {error}",), hint=HINT) from error
    return parse_describe_text(text, str(path), taken_at)


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
            self.topic = topic
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
            self.configs[row.topic] = row.configs
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
                self.assigned |= {tp: a.replicas for tp, a in records.assignments(node, topic).items()}
        except records.BadRecordError as error:
            what = "not JSON" if error.not_json else f"not the content of such a znode ({error.why})"
            raise BadRowError(what) from error

    def snapshot(self, taken_at: float) -> Snapshot:
        sources = [Source(f"text {self.name}", ok=True)]
        if not self.brokers:
            sources.append(Source("list of live brokers", ok=False, error=NO_BROKER_LIST))
        # An assignment alone tells nothing of leader and isr, so it only completes what has a state.
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
            topic_configs={topic: configs for topic, configs in self.configs.items() if configs},
            reassignments=self.moves,
            origin=self.name,
        )
        return replace(made, addresses=dict(self.brokers))
