"""Small fresh reads of one partition or of the controller, after a sync, over a session that is kept for a run."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import quote

from kfix.core.errors import UnreachableError
from kfix.core.snapshot.fleet_facts import Quota
from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.snapshot import Assignment, ControllerNode, Endpoint, TopicPartition
from kfix.core.timing import Deadline
from kfix.core.zookeeper import records
from kfix.core.zookeeper.connect import Connect, open_line, read_all
from kfix.core.zookeeper.view import broker_ids, migrating, read_states, read_topics, state_path
from kfix.core.zookeeper.wire import ZooKeeperLine, children, exists, get, sync


def read_partition(line: ZooKeeperLine, connect: Connect, tp: TopicPartition, deadline: Deadline) -> PartitionReading:
    """Returns state and assignment of one partition and the registered brokers, read after a sync."""
    found = read_all(
        line,
        connect,
        {
            "sync": sync("/brokers"),
            "state": get(state_path(tp)),
            "topic": get(f"/brokers/topics/{tp.topic}"),
            "ids": children("/brokers/ids"),
        },
        deadline,
    )
    topic, state, ids = found["topic"], found["state"], found["ids"]
    return PartitionReading(
        tp=tp,
        state=records.partition_state(state, state_path(tp)) if state is not None else None,
        assignment=records.assignments(topic, tp.topic).get(tp) if topic is not None else None,
        registered=broker_ids(ids) if ids is not None else None,
    )


def read_every_partition(
    line: ZooKeeperLine, connect: Connect, deadline: Deadline
) -> dict[TopicPartition, PartitionReading]:
    """Returns the readings of all partitions in three rounds, states last. A topic that is being deleted has none."""
    roots = {"sync": sync("/brokers"), "ids": children("/brokers/ids"), "topics": children("/brokers/topics")}
    found = read_all(line, connect, roots, deadline)
    ids, topics = found["ids"], found["topics"]
    if ids is None or topics is None:
        raise UnreachableError(f"zookeeper {line.endpoint}: {connect.path('/brokers')} is incomplete")
    registered = broker_ids(ids)
    assigned = read_topics([line], connect, sorted(topics.children), deadline)
    states = read_states([line], connect, assigned, deadline)
    return {tp: PartitionReading(tp, states.get(tp), each, registered) for tp, each in assigned.items()}


def read_controller(line: ZooKeeperLine, connect: Connect, deadline: Deadline) -> tuple[ControllerNode, bool]:
    """Returns the controller, and whether a migration to KRaft is in progress."""
    found = read_all(
        line,
        connect,
        {
            "sync": sync("/controller"),
            "controller": get("/controller"),
            "epoch": get("/controller_epoch"),
            "migration": exists("/migration"),
        },
        deadline,
    )
    node = records.controller(found["controller"], found["epoch"])
    return node, migrating(found["migration"], found["controller"])


def read_registered(line: ZooKeeperLine, connect: Connect, deadline: Deadline) -> frozenset[int]:
    found = read_all(line, connect, {"sync": sync("/brokers"), "ids": children("/brokers/ids")}, deadline)
    ids = found["ids"]
    if ids is None:
        raise UnreachableError(f"zookeeper {line.endpoint}: {connect.path('/brokers/ids')} does not exist")
    return broker_ids(ids)


def read_registered_at(line: ZooKeeperLine, connect: Connect, deadline: Deadline) -> dict[int, int]:
    """Returns {registered broker: czxid of its registration, which is new after each start}."""
    ids = sorted(read_registered(line, connect, deadline))
    found = read_all(line, connect, {str(each): get(f"/brokers/ids/{each}") for each in ids}, deadline)
    return {each: node.stat.czxid for each in ids if (node := found[str(each)]) is not None}


def read_assignments(
    line: ZooKeeperLine, connect: Connect, topic: str, deadline: Deadline
) -> dict[TopicPartition, Assignment]:
    """Returns the assignments after a sync; empty if the topic does not exist."""
    path = f"/brokers/topics/{topic}"
    node = read_all(line, connect, {"sync": sync("/brokers"), "topic": get(path)}, deadline)["topic"]
    return {} if node is None else records.assignments(node, topic)


def read_endpoint(
    line: ZooKeeperLine, connect: Connect, broker: int, protocol: str, deadline: Deadline
) -> Endpoint | None:
    """Returns the registered address of a broker for this `protocol`, or None if it is not registered."""
    path = f"/brokers/ids/{broker}"
    node = read_all(line, connect, {"sync": sync("/brokers"), "id": get(path)}, deadline)["id"]
    if node is None:
        return None
    found, wrong = records.registration(node, broker, protocol)
    if wrong and found.endpoint is None:
        raise records.BadRecordError(path, wrong)
    return found.endpoint


_DEFAULT = "<default>"


def read_quotas(connect: Connect, deadline: Deadline, clients: tuple[str, ...]) -> tuple[Quota, ...]:
    """Returns the quotas of these client ids, and the defaults of client ids and of users, in a session of its own."""
    nodes = {Quota(None, each, None, "", 0.0): f"/config/clients/{_name_of(each)}" for each in clients}
    nodes[Quota(None, "", None, "", 0.0)] = f"/config/clients/{_DEFAULT}"
    nodes[Quota("", None, None, "", 0.0)] = f"/config/users/{_DEFAULT}"
    with open_line(connect, deadline) as line:
        found = read_all(
            line, connect, {"sync": sync("/config"), **{path: get(path) for path in nodes.values()}}, deadline
        )
    quotas = []
    for of, path in nodes.items():
        node = found[path]
        for key, value in sorted(records.config(node, path).items()) if node is not None else ():
            with suppress(ValueError):
                quotas.append(of._replace(key=key, value=float(value)))
    return tuple(quotas)


def _name_of(entity: str) -> str:
    """Returns the znode of a client id, as `org.apache.kafka.common.utils.Sanitizer` writes it."""
    return quote(entity, safe="").replace("~", "%7E")
