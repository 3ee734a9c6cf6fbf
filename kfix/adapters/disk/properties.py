"""`meta.properties` of a log directory and `partition.metadata` of a partition's folder.

Source: `BrokerMetadataCheckpoint`, `PartitionMetadataFile` of Kafka 2.7.1, 2.8 and 3.9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kfix.adapters.disk.opening import read_small, shown
from kfix.model.disk import Oddity

META = "meta.properties"
PARTITION = "partition.metadata"
_MOST_BYTES = 1 << 20
_BROKER = {"0": "broker.id", "1": "node.id"}


@dataclass(frozen=True, slots=True)
class Meta:
    """broker is None and cluster "" where the file does not tell them; directory is its own id (3.7 and later)."""

    broker: int | None = None
    cluster: str = ""
    directory: str = ""


def read_meta(path: Path) -> tuple[Meta, list[Oddity]]:
    """Version 0 of ZooKeeper's time, version 1 of KRaft. NotReadError where the file cannot be read."""
    said = _properties(read_small(path, _MOST_BYTES))
    version = said.get("version", "")
    if version not in _BROKER:
        return Meta(), [
            Oddity(shown(path), None, f"version {version[:40]!r}: only versions 0 and 1 are known, not read")
        ]
    odd = []
    key = _BROKER[version]
    broker = said.get(key, "")
    if not re.fullmatch(r"[0-9]{1,10}", broker) or int(broker) >= 1 << 31:
        odd.append(Oddity(shown(path), None, f"{key} is {broker[:40]!r}, no broker's id"))
        broker = ""
    if not said.get("cluster.id"):
        odd.append(Oddity(shown(path), None, "tells no cluster.id"))
    return Meta(int(broker) if broker else None, said.get("cluster.id", ""), said.get("directory.id", "")), odd


def read_topic_id(path: Path) -> tuple[str, list[Oddity]]:
    """`version: 0` and `topic_id: ...`. NotReadError where the file cannot be read."""
    raw = read_small(path, _MOST_BYTES)
    if not raw.strip():
        return "", []
    said = _properties(raw)
    if said.get("version") != "0" or not re.fullmatch(r"[A-Za-z0-9_-]{22}", said.get("topic_id", "")):
        return "", [Oddity(shown(path), None, "does not tell a topic id in version 0")]
    return said["topic_id"], []


def _properties(raw: bytes) -> dict[str, str]:
    """Java's properties, as far as brokers write them: no line goes on in the next."""
    found: dict[str, str] = {}
    for line in raw.decode("utf-8", "backslashreplace").splitlines():
        key, *value = re.split("[=:]", line.strip(), maxsplit=1)
        if value and not key.startswith(("#", "!")):
            found[key.strip()] = re.sub(r"\\(.)", r"\1", value[0].strip())
    return found
