"""Followers that are alive and lag behind on chosen partitions only, as on a slow disk.

Kafka never throttles a replica in the ISR. So the followers are frozen until their partitions leave them out, the
leader takes on a backlog, and a throttle on these partitions keeps them from catching up once they go on. Everything
else they replicate recovers at once.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from kfix.errors import LabError
from kfix.lab.readiness import wait_brokers
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.stage import Stage
    from kfix.model.snapshot import TopicPartition

_RATE = "follower.replication.throttled.rate"
_REPLICAS = "follower.replication.throttled.replicas"
_APPLIES = "Processing override for entityPath: {} "
# A throttled replica still fetches 1 MB (replica.fetch.max.bytes) each time its quota's 11 s are over: 5 MB last 50 s.
_BACKLOG_RECORDS = 25
_RECORD_BYTES = 200_000


def fall_behind(stage: Stage, partitions: Iterable[TopicPartition], followers: tuple[int, ...]) -> None:
    partitions = tuple(partitions)
    _throttle(stage, partitions, followers)
    for broker in followers:
        stage.lab.nodes.stop(stage.lab.state, broker)
    for topic, number in partitions:
        stage.wait_state(
            topic, number, f"{followers} left its isr", lambda each: not set(each.isr) & set(followers), 40
        )
    for topic, number in partitions:
        _backlog(stage, topic, number)
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
    for kind, names, key in (("topics", topics, _REPLICAS), ("brokers", map(str, brokers), _RATE)):
        for name in names:
            config = dict(stage.access.configs(kind).get(name, {}))
            config.pop(key, None)
            stage.access.write_config(kind, name, config)


def _throttle(stage: Stage, partitions: tuple[TopicPartition, ...], followers: tuple[int, ...]) -> None:
    topics = sorted({topic for topic, _ in partitions})
    logs = {broker: stage.lab.store.log_file("broker", broker) for broker in followers}
    read_so_far = {broker: log.stat().st_size for broker, log in logs.items()}
    for broker in followers:
        stage.set_config("brokers", str(broker), {_RATE: "1"})
    for topic in topics:
        pairs = [f"{number}:{broker}" for name, number in partitions if name == topic for broker in followers]
        stage.set_config("topics", topic, {_REPLICAS: ",".join(pairs)})

    def applied(broker: int) -> bool:
        with logs[broker].open(encoding="utf-8", errors="replace") as log:
            log.seek(read_so_far[broker])
            news = log.read()
        return all(
            _APPLIES.format(entity) in news
            for entity in (f"brokers/{broker}", *(f"topics/{topic}" for topic in topics))
        )

    # No request tells whether a broker obeys a throttle yet, and one frozen before it does would catch up at once.
    for broker in followers:
        wait_for(f"broker {broker} has read its throttle", lambda each=broker: applied(each), 20)  # type: ignore[misc]


def _backlog(stage: Stage, topic: str, number: int) -> None:
    # Random bytes, so that no compression shrinks it.
    records = [(f"backlog-{each}", secrets.token_bytes(_RECORD_BYTES)) for each in range(_BACKLOG_RECORDS)]
    stage.access.produce(topic, {number: records}, acks="1")


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
