"""Parses Kafka's JSON in znodes. Key order is not fixed, and hand-edited nodes contain spaces.

msgspec checks the type and the range of every value (docs/adr/012). A record that Kafka would not write raises
`BadRecordError` with the path of the value; a bulk read keeps the other records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from kfix.core.documents.checked import NotJsonError, ShapeError, read_json
from kfix.core.documents.problems import shown
from kfix.core.errors import UnreachableError
from kfix.core.numbers import LARGEST_INT32, LARGEST_PORT, broker_id
from kfix.core.snapshot.naming import PartitionNames
from kfix.core.snapshot.snapshot import (
    Assignment,
    ControllerNode,
    Endpoint,
    PartitionState,
    Registration,
    TopicPartition,
)
from kfix.core.zookeeper.wire import Node

T = TypeVar("T")
_LONGEST_HOST = 255
_Int32 = Annotated[int, Meta(ge=-LARGEST_INT32 - 1, le=LARGEST_INT32)]
_Number = Annotated[int, Meta(ge=0, le=LARGEST_INT32)]
_Ids = tuple[_Int32, ...]
_Lists = dict[_Number, _Ids]


class _State(Struct):
    leader: _Int32
    leader_epoch: _Int32
    isr: _Ids
    controller_epoch: _Int32


class _Topic(Struct):
    partitions: _Lists
    adding_replicas: _Lists | None = None
    removing_replicas: _Lists | None = None


class _Controller(Struct):
    brokerid: _Int32
    kraftControllerEpoch: _Int32 = -1  # noqa: N815 - a key of Kafka


class _Migration(Struct):
    kraft_metadata_offset: int = -1


class _Move(Struct):
    topic: str
    partition: _Int32
    replicas: _Ids


class _Moves(Struct):
    partitions: list[_Move] = []


class _Config(Struct):
    config: dict[str, str] = {}


class _Cluster(Struct):
    id: str


class BadRecordError(UnreachableError):
    """A znode with content that Kafka does not write. `why` is the message without the path."""

    def __init__(self, path: str, why: str, *, not_json: bool = False) -> None:
        super().__init__(f"zookeeper: {path}: {why}")
        self.not_json = not_json
        self.path = path
        self.why = why


def _read(node: Node, path: str, kind: type[T]) -> T:
    data = node.data
    try:
        if b"\\u" in data:
            # An escape may be a lone surrogate, which no file and no terminal accepts.
            data = json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace")
        if data.lstrip().startswith(b"{"):
            return read_json(data, kind)
    except ShapeError as error:
        raise BadRecordError(path, str(error)) from None
    except (NotJsonError, ValueError, RecursionError):
        pass
    raise BadRecordError(path, f"does not contain the JSON that Kafka writes: {node.data[:60]!r}", not_json=True)


def partition_state(node: Node, path: str) -> PartitionState:
    raw, stat = _read(node, path, _State), node.stat
    return PartitionState(
        raw.leader, raw.leader_epoch, raw.isr, raw.controller_epoch, stat.version, stat.mzxid, stat.mtime
    )


def assignments(node: Node, topic: str, names: PartitionNames | None = None) -> dict[TopicPartition, Assignment]:
    raw = _read(node, f"/brokers/topics/{topic}", _Topic)
    adding, removing = raw.adding_replicas or {}, raw.removing_replicas or {}
    known = names.of(topic) if names is not None else {}
    found: dict[TopicPartition, Assignment] = {}
    for number, replicas in raw.partitions.items():
        tp = known.get(number)
        if tp is None:
            tp = known[number] = TopicPartition(topic, number)
        found[tp] = _assignment(replicas, adding.get(number, ()), removing.get(number, ()))
    return found


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
        raw = _read(node, path, dict[str, Any])
    except BadRecordError as error:
        return bare, error.why
    names, texts, rack = raw.get("listener_security_protocol_map") or {}, raw.get("endpoints") or [], raw.get("rack")
    wrong = ""
    if not (isinstance(names, dict) and isinstance(texts, list) and all(isinstance(t, str) for t in texts)):
        wrong = "endpoints: expected a list of strings, and an object with the protocol of each listener"
        names, texts = {}, []
    if not (rack is None or isinstance(rack, str)):
        wrong, rack = wrong or f"rack: expected text, not {shown(rack)}", None
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
    raw = None if node is None else _read(node, "/controller", _Controller)
    return ControllerNode(
        broker=None if raw is None else raw.brokerid,
        elected_ms=node.stat.ctime if node is not None else 0,
        czxid=node.stat.czxid if node is not None else 0,
        epoch=_controller_epoch(epoch) if epoch is not None else 0,
        epoch_version=epoch.stat.version if epoch is not None else -1,
        epoch_mzxid=epoch.stat.mzxid if epoch is not None else 0,
        kraft_epoch=-1 if raw is None else raw.kraftControllerEpoch,
    )


def _controller_epoch(node: Node) -> int:
    number = broker_id(node.data.decode("ascii", "replace").strip())
    if number is None:
        raise BadRecordError("/controller_epoch", f"expected an integer, not {node.data[:60]!r}")
    return number


def reassigning(node: Node | None) -> dict[TopicPartition, tuple[int, ...]]:
    moves = [] if node is None else _read(node, "/admin/reassign_partitions", _Moves).partitions
    return {TopicPartition(move.topic, move.partition): move.replicas for move in moves}


def copied(node: Node | None) -> int:
    return -1 if node is None else _read(node, "/migration", _Migration).kraft_metadata_offset


def config(node: Node, path: str) -> dict[str, str]:
    return _read(node, path, _Config).config


def cluster_id(node: Node | None) -> str:
    return "" if node is None else _read(node, "/cluster/id", _Cluster).id
