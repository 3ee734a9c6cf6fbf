"""What is known of a KRaft quorum without a majority: copies of its metadata log, and what the brokers have applied."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kfix.core.snapshot.snapshot import PartitionView, TopicPartition

#: The remark about a folder that does not exist.
MISSING = "does not exist"


class CopyRead(NamedTuple):
    """One copy of the metadata log, in the log directory `folder` of a node (-1: unknown).

    `epoch` is that of its last batch and `end` the offset after it, `seen_epoch` the newest one that its node has seen.
    `own` are offsets that the longest copy does not have. `held` is whether a process uses the log directory.
    `changeable` is whether records of the log name the voters (KIP-853). `unread` states what could not be read.
    """

    folder: str
    cluster: str = ""
    node: int = -1
    epoch: int = -1
    end: int = 0
    seen_epoch: int = -1
    own: int = 0
    held: bool = False
    voters: tuple[int, ...] = ()
    changeable: bool = False
    unread: str = ""


class NewLog(NamedTuple):
    """A log directory to write into the folder `into`, which must not exist: that of the only voter `node`.

    It gets the copy in `folder` up to the offset `end`, whose last epoch is `epoch`, and begins with the epoch `fence`.
    """

    into: str
    folder: str
    node: int
    epoch: int
    end: int
    fence: int


def is_written(copy: CopyRead, wanted: NewLog) -> bool:
    """Whether a log directory is the wanted one, also after its controller has started and written more."""
    grown = copy.seen_epoch >= wanted.fence and copy.end >= wanted.end + copy.changeable
    return grown and copy.node == wanted.node and copy.voters == (wanted.node,)


@dataclass(frozen=True, slots=True)
class AppliedMetadata:
    """`offsets` is {broker: offset of the last metadata record that it has applied; -1: it does not answer}.

    `partitions` are those of the broker that has applied most.
    """

    offsets: Mapping[int, int]
    partitions: Mapping[TopicPartition, PartitionView]


def copies_text(copies: Iterable[CopyRead]) -> str:
    """Returns one line that `parsed_copies` reads, as a fact of a plan."""
    return json.dumps([list(each) for each in copies], separators=(",", ":"))


def parsed_copies(text: str) -> tuple[CopyRead, ...]:
    rows = (CopyRead(*row) for row in json.loads(text))
    return tuple(each._replace(voters=tuple(each.voters)) for each in rows)


def offsets_text(offsets: Mapping[int, int]) -> str:
    return " ".join(f"{broker}:{offset}" for broker, offset in sorted(offsets.items()))


def parsed_offsets(text: str) -> dict[int, int]:
    pairs = (each.split(":") for each in text.split())
    return {int(broker): int(offset) for broker, offset in pairs}


def partitions_text(partitions: Mapping[TopicPartition, PartitionView]) -> str:
    """Returns replicas and ISR of every partition as one line of JSON: {topic: {partition: [replicas, ISR]}}."""
    topics: dict[str, dict[str, Any]] = {}
    for tp, view in sorted(partitions.items()):
        topics.setdefault(tp.topic, {})[str(tp.partition)] = [list(view.replicas), list(view.isr)]
    return json.dumps(topics, separators=(",", ":"))


def parsed_partitions(text: str) -> dict[TopicPartition, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Returns {partition: (replicas, ISR)}."""
    return {
        TopicPartition(topic, int(number)): (tuple(replicas), tuple(isr))
        for topic, found in json.loads(text).items()
        for number, (replicas, isr) in found.items()
    }
