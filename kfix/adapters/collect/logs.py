"""Log ends of every live replica of the partitions where a finding will need them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kfix.adapters.deadline import Deadline
from kfix.adapters.kafka import requests, responses
from kfix.adapters.kafka.codes import name_of
from kfix.adapters.kafka.connection import BrokerConnection
from kfix.model.snapshot import NO_LEADER, BrokerView, LogEnd, TopicPartition, ZooKeeperView

#: More than these in one look are not compared: the first tell the story, and the question stays cheap.
MOST_PARTITIONS = 200


def suspicious(
    zookeeper: ZooKeeperView | None, views: Mapping[int, BrokerView], live: frozenset[int]
) -> dict[TopicPartition, tuple[int, ...]]:
    """Leaderless or diverged partitions with their assigned replicas, at most `MOST_PARTITIONS`."""
    picked: dict[TopicPartition, tuple[int, ...]] = {}
    for tp, replicas in _candidates(zookeeper, views, live):
        picked[tp] = replicas
        if len(picked) == MOST_PARTITIONS:
            break
    return picked


def _candidates(
    zookeeper: ZooKeeperView | None, views: Mapping[int, BrokerView], live: frozenset[int]
) -> Iterable[tuple[TopicPartition, tuple[int, ...]]]:
    believed = [v.partitions for v in views.values()]
    if zookeeper is None:
        for view in believed[:1]:
            yield from ((tp, p.replicas) for tp, p in view.items() if p.leader == NO_LEADER or p.leader not in live)
        return
    for tp, state in zookeeper.states.items():
        diverged = any(
            (p.leader, p.leader_epoch) != (state.leader, state.leader_epoch)
            for view in believed
            if (p := view.get(tp)) is not None
        )
        assignment = zookeeper.assignments.get(tp)
        if assignment is not None and (diverged or state.leader not in live):
            yield tp, assignment.replicas


def ask_log_ends(
    connection: BrokerConnection, tps: tuple[TopicPartition, ...], deadline: Deadline
) -> dict[TopicPartition, LogEnd]:
    ends, starts = connection.call_many(
        [requests.list_offsets(tps, requests.LATEST), requests.list_offsets(tps, requests.EARLIEST)],
        responses.list_offsets,
        deadline,
    )
    found = {}
    for tp, end in ends.items():
        start = starts.get(tp)
        bad = end.error or (start.error if start else 0)
        found[tp] = LogEnd(-1, -1, name_of(bad)) if bad else LogEnd(start.offset if start else -1, end.offset)
    return found
