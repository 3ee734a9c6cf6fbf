"""Followers that are alive and lag behind on chosen partitions only, as on a slow disk.

Kafka never throttles a replica in the ISR. So the followers are frozen until their partitions leave them out, the
leader takes on a backlog, and a throttle on these partitions keeps them from catching up once they go on. Everything
else they replicate recovers at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.errors import LabError
from kfix.lab import throttles
from kfix.lab.content import backlog
from kfix.lab.readiness import wait_brokers
from kfix.lab.throttles import Throttle
from kfix.lab.waiting import wait_for
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.stage import Stage

# A throttled replica still fetches what is left of a segment, at most 1 MB (replica.fetch.max.bytes), each time its
# quota's 11 s are over. With a segment a record, the backlog lasts four minutes.
_SEGMENTS = {"segment.bytes": "250000"}
_BACKLOG_RECORDS = 25
_HEAD_START_RECORDS = 12


def fall_behind(
    stage: Stage,
    partitions: Iterable[TopicPartition],
    followers: tuple[int, ...],
    *,
    one_by_one: bool = False,
    backlog_records: int = _BACKLOG_RECORDS,
) -> None:
    """With `one_by_one` the first of `followers` has the fewest records, the last the most."""
    partitions = tuple(partitions)
    for topic in {topic for topic, _ in partitions}:
        stage.set_config("topics", topic, _SEGMENTS)
    throttles.put(stage, Throttle(1, dict.fromkeys(partitions, followers)))
    groups = [(broker,) for broker in followers] if one_by_one else [followers]
    for number, group in enumerate(groups):
        _drop_out(stage, partitions, group)
        last = number == len(groups) - 1
        for topic, partition in partitions:
            records = backlog(backlog_records if last else _HEAD_START_RECORDS)
            stage.access.produce(topic, {partition: records}, acks="1" if last else "all")
    _wait_replicated(stage, partitions)
    for broker in followers:
        stage.lab.nodes.cont(stage.lab.state, broker)
    wait_brokers(stage.lab.nodes, stage.access, stage.lab.state, followers)
    _wait_rest(stage, frozenset(partitions))
    for topic, number in partitions:
        state = stage.live_state(topic, number)
        stage.require(not set(state.isr) & set(followers), f"{followers} still lag behind on {topic}-{number}")
    names = ", ".join(f"{topic}-{number}" for topic, number in partitions)
    stage.say(
        f"broker {' and '.join(map(str, followers))} fell out of the isr of {names}, while its leader took more records"
    )


def lift_throttle(stage: Stage, topics: Iterable[str], brokers: Iterable[int]) -> None:
    """Once their leader is dead nothing can be caught up, and no setting gives the lab away."""
    topics = tuple(topics)
    throttles.lift(stage, topics, brokers)
    for topic in topics:
        config = stage.access.configs("topics").get(topic, {})
        stage.access.write_config("topics", topic, {key: config[key] for key in config.keys() - _SEGMENTS.keys()})


def _drop_out(stage: Stage, partitions: tuple[TopicPartition, ...], followers: tuple[int, ...]) -> None:
    for broker in followers:
        stage.lab.nodes.stop(stage.lab.state, broker)
    for topic, number in partitions:
        stage.wait_state(
            topic, number, f"{followers} left its isr", lambda each: not set(each.isr) & set(followers), 40
        )


def _wait_replicated(stage: Stage, partitions: tuple[TopicPartition, ...]) -> None:
    """Until then the high watermark is where the frozen followers stand: in sync as soon as they go on."""
    from kfix.lab.leading import all_replicated  # noqa: PLC0415 - importing the lab loads no client

    for topic, number in partitions:
        where = TopicPartition(topic, number)
        leader = stage.live_state(topic, number).leader
        wait_for(
            f"the replicas in sync have the backlog of {topic}-{number}",
            lambda at=where, by=leader: all_replicated(stage.access, at, by),  # type: ignore[misc]
            20,
        )


def _wait_rest(stage: Stage, lagging: frozenset[TopicPartition]) -> None:
    assignments = {topic: stage.access.assignment(topic) for topic in stage.access.topics()}
    rest = {(topic, number): ids for topic, each in assignments.items() for number, ids in each.items()}

    def in_sync() -> bool:
        states = stage.access.states()
        return all(
            state is not None and set(state.isr) == set(rest[where])
            for where, state in states.items()
            if where in rest and where not in lagging
        )

    try:
        wait_for("all other replicas are in sync again", in_sync, 40)
    except LabError as problem:
        problem.hint = "kfix lab mend, then once more"
        raise
