"""Parses Kafka's JSON in znodes. Key order is not fixed, and hand-edited nodes contain spaces.

The type and range of every value is checked here, by hand instead of by pydantic: a diagnosis reads tens of thousands
of records and never imports pydantic (docs/adr/012). A record that Kafka would not write raises `BadRecordError` with
the path of the value; a bulk read keeps the other records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from kfix.core.documents.problems import shown
from kfix.core.errors import UnreachableError
from kfix.core.names import PartitionNames
from kfix.core.numbers import LARGEST_INT32, LARGEST_PORT, broker_id, is_int32
from kfix.core.snapshot.snapshot import (
    Assignment,
    ControllerNode,
    Endpoint,
    PartitionState,
    Registration,
    TopicPartition,
)
from kfix.core.zookeeper.wire import Node

_LONGEST_HOST = 255
_INTEGERS = {int}


class BadRecordError(UnreachableError):
    """A znode with content that Kafka does not write. `why` is the message without the path."""

    def __init__(self, path: str, why: str, *, not_json: bool = False) -> None:
        super().__init__(f"zookeeper: {path}: {why}")
        self.not_json = not_json
        self.path = path
        self.why = why


def as_json(node: Node, path: str) -> dict[str, Any]:
    try:
        value = json.loads(node.data)
        if b"\\u" in node.data:
            # An escape may be a lone surrogate, which no file and no terminal accepts.
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadRecordError(path, f"does not contain the JSON that Kafka writes: {node.data[:60]!r}", not_json=True)
    return value


def partition_state(node: Node, path: str) -> PartitionState:
    raw = as_json(node, path)
    try:
        leader, epoch, isr, controller_epoch = raw["leader"], raw["leader_epoch"], raw["isr"], raw["controller_epoch"]
    except KeyError:
        raise _bad_state(raw, path) from None
    # The only check in the hot loop, without a call per number; the exact error is determined only in case of one.
    numbers = (leader, epoch, controller_epoch, *isr) if type(isr) is list else ()
    if set(map(type, numbers)) != _INTEGERS or not -LARGEST_INT32 <= min(numbers) <= max(numbers) <= LARGEST_INT32:
        raise _bad_state(raw, path)
    stat = node.stat
    return PartitionState(leader, epoch, tuple(isr), controller_epoch, stat.version, stat.mzxid, stat.mtime)


def _bad_state(raw: dict[str, Any], path: str) -> BadRecordError:
    for name in ("leader", "leader_epoch", "controller_epoch"):
        if not is_int32(raw.get(name)):
            return _wrong(path, name, "a 32-bit integer", raw)
    return _wrong(path, "isr", "a list of broker ids", raw)


def assignments(node: Node, topic: str, names: PartitionNames | None = None) -> dict[TopicPartition, Assignment]:
    path = f"/brokers/topics/{topic}"
    raw = as_json(node, path)
    lists: dict[str, dict[int, tuple[int, ...]]] = {}
    for name in ("partitions", "adding_replicas", "removing_replicas"):
        fields = raw.get(name, None if name == "partitions" else {})
        if fields is None and name != "partitions":
            fields = {}
        if not isinstance(fields, dict):
            raise _wrong(path, name, "an object of lists of broker ids", raw)
        lists[name] = _replica_lists(fields, path, name)
    adding, removing = lists["adding_replicas"], lists["removing_replicas"]
    known = names.of(topic) if names is not None else {}
    found: dict[TopicPartition, Assignment] = {}
    for number, replicas in lists["partitions"].items():
        tp = known.get(number)
        if tp is None:
            tp = known[number] = TopicPartition(topic, number)
        found[tp] = _assignment(replicas, adding.get(number, ()), removing.get(number, ()))
    return found


def _replica_lists(fields: dict[str, Any], path: str, name: str) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for partition, replicas in fields.items():
        number = broker_id(partition)
        if number is None:
            raise BadRecordError(path, f"{name}: {partition[:40]!r} is not a partition number")
        # Without a call per id, as in `partition_state`.
        if type(replicas) is not list or not set(map(type, replicas)) <= _INTEGERS:
            raise _wrong(path, f"{name}.{partition}", "a list of broker ids", fields, partition)
        ids = tuple(replicas)
        if not _in_range(ids):
            raise _wrong(path, f"{name}.{partition}", "a list of broker ids", fields, partition)
        found[number] = ids
    return found


@lru_cache(maxsize=4096)
def _in_range(ids: tuple[int, ...]) -> bool:
    return all(map(is_int32, ids))


@lru_cache(maxsize=4096)
def _assignment(replicas: tuple[int, ...], adding: tuple[int, ...], removing: tuple[int, ...]) -> Assignment:
    """Returns one object for equal assignments, of which a cluster has few."""
    return Assignment(replicas, adding, removing)


def registration(node: Node, broker: int, protocol: str) -> tuple[Registration, str]:
    """Returns the registration and the error in it ("" for none). The znode alone shows that the broker is alive.

    The endpoint is the listener with `protocol`, or the first one if none matches (docs/facts/zookeeper.md).
    """
    path = f"/brokers/ids/{broker}"
    bare = Registration(broker, None, None, node.stat.czxid, node.stat.ctime)
    try:
        raw = as_json(node, path)
    except BadRecordError as error:
        return bare, error.why
    names, texts, rack = raw.get("listener_security_protocol_map") or {}, raw.get("endpoints") or [], raw.get("rack")
    wrong = ""
    if not (isinstance(names, dict) and isinstance(texts, list) and all(isinstance(t, str) for t in texts)):
        wrong = "endpoints: expected a list of strings, and an object with the protocol of each listener"
        names, texts = {}, []
    if not (rack is None or isinstance(rack, str)):
        wrong, rack = wrong or _wrong(path, "rack", "text", raw).why, None
    # Its field `timestamp` is by the broker's clock, and cannot be compared with the times of other znodes.
    return replace(bare, endpoint=_endpoint(texts, names, protocol), rack=rack), wrong


def _endpoint(texts: Iterable[str], names: dict[str, Any], protocol: str) -> Endpoint | None:
    found: list[tuple[bool, Endpoint]] = []
    for text in texts:
        name, _, address = text.partition("://")
        host, _, port = address.rpartition(":")
        number = broker_id(port)
        if number is not None and 0 < number <= LARGEST_PORT and _is_host(host):
            found.append((names.get(name, name) == protocol, Endpoint(host.strip("[]"), number)))
    matching = [e for ok, e in found if ok] or [e for _, e in found]
    return matching[0] if matching else None


def _is_host(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_HOST and text.isprintable() and " " not in text


def controller(node: Node | None, epoch: Node | None) -> ControllerNode:
    """Returns the controller; `epoch` is missing only before the first controller election."""
    raw = as_json(node, "/controller") if node is not None else {"brokerid": None}
    broker: Any = raw.get("brokerid")
    kraft: Any = raw.get("kraftControllerEpoch", -1)
    if node is not None and not is_int32(broker):
        raise _wrong("/controller", "brokerid", "a broker's id", raw)
    if not is_int32(kraft):
        raise _wrong("/controller", "kraftControllerEpoch", "a 32-bit integer", raw)
    return ControllerNode(
        broker=broker,
        elected_ms=node.stat.ctime if node is not None else 0,
        czxid=node.stat.czxid if node is not None else 0,
        epoch=_controller_epoch(epoch) if epoch is not None else 0,
        epoch_version=epoch.stat.version if epoch is not None else -1,
        epoch_mzxid=epoch.stat.mzxid if epoch is not None else 0,
        kraft_epoch=kraft,
    )


def _controller_epoch(node: Node) -> int:
    number = broker_id(node.data.decode("ascii", "replace").strip())
    if number is None:
        raise BadRecordError("/controller_epoch", f"expected an integer, not {node.data[:60]!r}")
    return number


def reassigning(node: Node | None) -> dict[TopicPartition, tuple[int, ...]]:
    if node is None:
        return {}
    path = "/admin/reassign_partitions"
    raw = as_json(node, path)
    entries = raw.get("partitions", [])
    if not isinstance(entries, list):
        raise _wrong(path, "partitions", "a list", raw)
    found: dict[TopicPartition, tuple[int, ...]] = {}
    for at, entry in enumerate(entries):
        fields: dict[str, Any] = entry if isinstance(entry, dict) else {}
        topic, partition, replicas = fields.get("topic"), fields.get("partition"), fields.get("replicas")
        if not (isinstance(topic, str) and is_int32(partition) and _are_ids(replicas)):
            raise BadRecordError(path, f"partitions[{at}]: expected a topic, a partition and a list of broker ids")
        found[TopicPartition(topic, int(fields["partition"]))] = tuple(fields["replicas"])
    return found


def config(node: Node, path: str) -> dict[str, str]:
    raw = as_json(node, path)
    fields = raw.get("config", {})
    if not isinstance(fields, dict) or not all(isinstance(v, str) for v in fields.values()):
        raise _wrong(path, "config", "an object of strings", raw)
    return fields


def cluster_id(node: Node | None) -> str:
    if node is None:
        return ""
    raw = as_json(node, "/cluster/id")
    if not isinstance(raw.get("id"), str):
        raise _wrong("/cluster/id", "id", "text", raw)
    return str(raw["id"])


def _are_ids(value: Any) -> bool:
    return type(value) is list and all(map(is_int32, value))


def _wrong(path: str, name: str, expected: str, raw: dict[str, Any], key: str = "") -> BadRecordError:
    """Returns the error. `name` is the path of the value inside the znode, `key` its key in `raw` if different."""
    if (key or name) not in raw:
        return BadRecordError(path, f"{name} is missing")
    return BadRecordError(path, f"{name}: expected {expected}, not {shown(raw[key or name])}")
