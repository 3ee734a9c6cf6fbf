"""Kafka's checkpoint files: a version, a count, then one line per entry. Kafka replaces them atomically by renaming.

Source: `CheckpointFile`, `OffsetCheckpointFile`, `LeaderEpochCheckpointFile` of Kafka 2.7.1; the same in 3.9. A file
is empty for a moment after it was created.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kfix.core.disk.model import Epoch, Oddity
from kfix.core.disk.opening import read_small, shown
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import several

# Reads `meta.properties` of a log directory and `partition.metadata` of a partition folder.
#
# Source: `BrokerMetadataCheckpoint`, `PartitionMetadataFile` of Kafka 2.7.1, 2.8 and 3.9.

META = "meta.properties"
PARTITION = "partition.metadata"
_MOST_BYTES = 1 << 20
_BROKER = {"0": "broker.id", "1": "node.id"}


@dataclass(frozen=True, slots=True)
class Meta:
    """`broker` is None and `cluster` is "" if missing; `directory` is the directory id (3.7 and later)."""

    broker: int | None = None
    cluster: str = ""
    directory: str = ""


def read_meta(path: Path) -> tuple[Meta, list[Oddity]]:
    """Reads version 0 (ZooKeeper) and 1 (KRaft). Raises NotReadError if the file cannot be read."""
    values = _properties(read_small(path, _MOST_BYTES))
    version = values.get("version", "")
    if version not in _BROKER:
        return Meta(), [
            Oddity(shown(path), None, f"version {version[:40]!r}: only versions 0 and 1 are supported, not read")
        ]
    odd = []
    key = _BROKER[version]
    broker = values.get(key, "")
    if not re.fullmatch(r"[0-9]{1,10}", broker) or int(broker) >= 1 << 31:
        odd.append(Oddity(shown(path), None, f"{key} is {broker[:40]!r}, not a broker id"))
        broker = ""
    if not values.get("cluster.id"):
        odd.append(Oddity(shown(path), None, "has no cluster.id"))
    return Meta(int(broker) if broker else None, values.get("cluster.id", ""), values.get("directory.id", "")), odd


def read_topic_id(path: Path) -> tuple[str, list[Oddity]]:
    """Returns the topic id ("" if missing) and remarks. Raises NotReadError if the file cannot be read."""
    raw = read_small(path, _MOST_BYTES)
    if not raw.strip():
        return "", []
    values = _properties(raw)
    if values.get("version") != "0" or not re.fullmatch(r"[A-Za-z0-9_-]{22}", values.get("topic_id", "")):
        return "", [Oddity(shown(path), None, "has no topic id in version 0")]
    return values["topic_id"], []


def _properties(raw: bytes) -> dict[str, str]:
    """Parses Java properties as far as brokers write them: without line continuation."""
    found: dict[str, str] = {}
    for line in raw.decode("utf-8", "backslashreplace").splitlines():
        key, *value = re.split("[=:]", line.strip(), maxsplit=1)
        if value and not key.startswith(("#", "!")):
            found[key.strip()] = re.sub(r"\\(.)", r"\1", value[0].strip())
    return found


HIGH_WATERMARK = "replication-offset-checkpoint"
RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
CLEANER = "cleaner-offset-checkpoint"
LEADER_EPOCH = "leader-epoch-checkpoint"
OFFSET_CHECKPOINTS = (HIGH_WATERMARK, RECOVERY_POINT, LOG_START, CLEANER)

#: More than any real checkpoint file.
MOST_BYTES = 64 << 20
_NUMBER = re.compile(r"-?[0-9]{1,19}\Z")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}\Z")
_MOST_MISTAKES = 5

T = TypeVar("T")
Entries = tuple[list[T], list[Oddity]]


def read_offsets(path: Path) -> tuple[dict[TopicPartition, int], list[Oddity]]:
    """Returns offsets and remarks.

    A line is `topic partition offset`. Raises NotReadError if the file cannot be read.
    """
    entries, odd = _parse(shown(path), read_small(path, MOST_BYTES), _offset_entry)
    found = dict(entries)
    if len(found) < len(entries):
        count = len(entries) - len(found)
        odd.append(Oddity(shown(path), None, f"has {several(count, 'duplicate partition')}"))
    return found, odd


def read_epochs(path: Path) -> tuple[tuple[Epoch, ...], list[Oddity]]:
    """Returns epochs and remarks. A line is `epoch startOffset`, both ascending.

    Raises NotReadError if the file cannot be read.
    """
    entries, odd = _parse(shown(path), read_small(path, MOST_BYTES), _epoch_entry)
    readable: list[Epoch] = []
    for entry in entries:
        if readable and (entry.epoch <= readable[-1].epoch or entry.start < readable[-1].start):
            what = (
                f"epoch {entry.epoch} from offset {entry.start} follows {readable[-1].epoch} from {readable[-1].start}"
            )
            odd.append(Oddity(shown(path), None, what))
            break
        readable.append(entry)
    return tuple(readable), odd


def _offset_entry(words: list[str]) -> tuple[TopicPartition, int] | None:
    if len(words) != 3 or not _TOPIC.match(words[0]):
        return None
    partition, offset = _number(words[1]), _number(words[2])
    if partition is None or not 0 <= partition < 1 << 31 or offset is None or offset < 0:
        return None
    return TopicPartition(words[0], partition), offset


def _epoch_entry(words: list[str]) -> Epoch | None:
    epoch, start = (_number(w) for w in words) if len(words) == 2 else (None, None)
    if epoch is None or not 0 <= epoch < 1 << 31 or start is None or start < 0:
        return None
    return Epoch(epoch, start)


def _number(word: str) -> int | None:
    value = int(word) if _NUMBER.match(word) else None
    return value if value is not None and -(1 << 63) <= value < 1 << 63 else None


def _parse(name: str, raw: bytes, entry_of: Callable[[list[str]], T | None]) -> Entries[T]:
    """Returns the valid entries and the remarks; none if the file is not a checkpoint."""
    lines = list(_lines(raw))
    if not lines:
        return [], []
    if lines[0][1] != ["0"]:
        return [], [Oddity(name, 0, f"version {_quoted(lines[0][1])}: only version 0 is supported, not read")]
    count = _number(lines[1][1][0]) if len(lines) > 1 and len(lines[1][1]) == 1 else None
    if count is None or count < 0:
        at = lines[1][0] if len(lines) > 1 else len(raw)
        return [], [Oddity(name, at, "the second line is not the number of entries")]
    entries: list[T] = []
    odd: list[Oddity] = []
    for at, words in lines[2:]:
        entry = entry_of(words)
        if entry is not None:
            entries.append(entry)
        elif len(odd) < _MOST_MISTAKES:
            odd.append(Oddity(name, at, f"not an entry: {_quoted(words)}"))
    if count != len(lines) - 2:
        odd.append(Oddity(name, lines[1][0], f"states {several(count, 'entry', 'entries')}, but has {len(lines) - 2}"))
    return entries, odd


def _lines(raw: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yields (byte offset, words) of each line, without blank lines at the end."""
    at = 0
    body = raw.rstrip(b" \t\r\n")
    if not body:
        return
    for line in body.split(b"\n"):
        yield at, line.decode("utf-8", "backslashreplace").split()
        at += len(line) + 1


def _quoted(words: list[str]) -> str:
    text = " ".join(words)
    return repr(text if len(text) <= 60 else f"{text[:60]}...")
