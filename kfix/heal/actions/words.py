"""Amounts and moves in words, and the commands that do the same by hand."""

from __future__ import annotations

import json
import re
import shlex

from kfix.core.args import ABSENT
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import rate_text


def rate_words(value: str) -> str:
    """Returns a throttle's rate, which Kafka keeps in bytes per second, in words."""
    return rate_text(int(value)) if re.fullmatch(r"[0-9]{1,19}", value) else "none" if value == ABSENT else value


def throttle_words(kind: ResourceKind, value: str) -> str:
    """Returns a broker's rate, or a topic's list of throttled replicas, in words."""
    return rate_words(value) if kind is ResourceKind.BROKER else "none" if value == ABSENT else value


def reassign_command(tp: TopicPartition, replicas: tuple[int, ...], name: str, *options: str) -> str:
    """Returns `kafka-reassign-partitions.sh` with its file, for one partition."""
    entry = {"topic": tp.topic, "partition": tp.partition, "replicas": list(replicas)}
    body = json.dumps({"version": 1, "partitions": [entry]}, separators=(",", ":"))
    more = "".join(f" {option}" for option in options)
    return (
        f"echo '{body}' > {name}.json && kafka-reassign-partitions.sh --bootstrap-server HOST:PORT "
        f"--reassignment-json-file {name}.json{more}"
    )


def configs_command(kind: str, name: str, changes: dict[str, str]) -> str:
    """Returns `kafka-configs.sh` that sets these keys, and removes those that are ABSENT."""
    head = f"kafka-configs.sh --bootstrap-server HOST:PORT --entity-type {kind}s --entity-name {name} --alter"
    # Square brackets keep a list with commas in one value.
    added = [
        f"{key}=[{value}]" if "," in value else f"{key}={value}" for key, value in changes.items() if value != ABSENT
    ]
    gone = [key for key, value in changes.items() if value == ABSENT]
    adds = f" --add-config {shlex.quote(','.join(added))}" if added else ""
    return head + adds + (f" --delete-config {','.join(gone)}" if gone else "")
