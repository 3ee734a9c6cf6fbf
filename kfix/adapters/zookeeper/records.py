"""Kafka's JSON in znodes, turned into the model. Key order is not fixed, hand-edited nodes have spaces: parse all."""

from __future__ import annotations

import json
from typing import Any

from kfix.adapters.zookeeper.wire import Node
from kfix.errors import UnreachableError
from kfix.model.snapshot import (
    Assignment,
    ControllerNode,
    Endpoint,
    PartitionState,
    Registration,
    TopicPartition,
)


def as_json(node: Node, path: str) -> dict[str, Any]:
    try:
        value = json.loads(node.data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UnreachableError(f"zookeeper: {path} does not hold the JSON that Kafka writes: {node.data[:60]!r}")
    return value


def partition_state(node: Node, path: str) -> PartitionState:
    raw = as_json(node, path)
    try:
        return PartitionState(
            leader=int(raw["leader"]),
            leader_epoch=int(raw["leader_epoch"]),
            isr=tuple(map(int, raw["isr"])),
            controller_epoch=int(raw["controller_epoch"]),
            version=node.stat.version,
            mzxid=node.stat.mzxid,
            mtime_ms=node.stat.mtime,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UnreachableError(f"zookeeper: {path} is not a partition state: {error}") from None


def assignments(node: Node, topic: str) -> dict[TopicPartition, Assignment]:
    path = f"/brokers/topics/{topic}"
    raw = as_json(node, path)
    adding, removing = raw.get("adding_replicas") or {}, raw.get("removing_replicas") or {}
    try:
        return {
            TopicPartition(topic, int(p)): Assignment(
                tuple(map(int, replicas)),
                tuple(map(int, adding.get(p, ()))),
                tuple(map(int, removing.get(p, ()))),
            )
            for p, replicas in raw["partitions"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreachableError(f"zookeeper: {path} is not a topic's assignment: {error}") from None


def registration(node: Node, broker: int, protocol: str) -> Registration:
    """The endpoint of the listener with `protocol`; the first one where none matches (kafka-facts A)."""
    raw = as_json(node, f"/brokers/ids/{broker}")
    names = raw.get("listener_security_protocol_map") or {}
    found: list[tuple[bool, Endpoint]] = []
    for text in raw.get("endpoints") or ():
        name, _, address = str(text).partition("://")
        host, _, port = address.rpartition(":")
        if port.isdigit():
            found.append((names.get(name, name) == protocol, Endpoint(host.strip("[]"), int(port))))
    matching = [e for ok, e in found if ok] or [e for _, e in found]
    stamp = str(raw.get("timestamp", ""))
    return Registration(
        broker=broker,
        endpoint=matching[0] if matching else None,
        rack=raw.get("rack"),
        czxid=node.stat.czxid,
        registered_ms=int(stamp) if stamp.isdigit() else node.stat.ctime,
    )


def controller(node: Node | None, epoch: Node | None) -> ControllerNode:
    """`epoch` is absent only before the first controller was ever elected."""
    raw = as_json(node, "/controller") if node is not None else {}
    try:
        return ControllerNode(
            broker=int(raw["brokerid"]) if node is not None else None,
            elected_ms=node.stat.ctime if node is not None else 0,
            czxid=node.stat.czxid if node is not None else 0,
            epoch=int(epoch.data) if epoch is not None else 0,
            epoch_version=epoch.stat.version if epoch is not None else -1,
            epoch_mzxid=epoch.stat.mzxid if epoch is not None else 0,
            kraft_epoch=int(raw.get("kraftControllerEpoch", -1)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UnreachableError(f"zookeeper: /controller or its epoch is not what Kafka writes: {error}") from None


def reassigning(node: Node | None) -> dict[TopicPartition, tuple[int, ...]]:
    if node is None:
        return {}
    raw = as_json(node, "/admin/reassign_partitions")
    try:
        return {
            TopicPartition(str(p["topic"]), int(p["partition"])): tuple(map(int, p["replicas"]))
            for p in raw.get("partitions", ())
        }
    except (KeyError, TypeError, ValueError) as error:
        raise UnreachableError(f"zookeeper: /admin/reassign_partitions is not what Kafka reads: {error}") from None


def config(node: Node, path: str) -> dict[str, str]:
    raw = as_json(node, path).get("config")
    return {str(k): str(v) for k, v in raw.items()} if isinstance(raw, dict) else {}
