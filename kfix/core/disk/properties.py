"""Reads `meta.properties` of a log directory and `partition.metadata` of a partition folder.

Source: `BrokerMetadataCheckpoint`, `PartitionMetadataFile` of Kafka 2.7.1, 2.8 and 3.9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kfix.core.disk.model import Oddity
from kfix.core.disk.opening import read_small, shown

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
