"""Replication throttles as kafka-reassign-partitions writes them: a rate on brokers, a list of replicas on topics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kfix.lab.stage import Stage
    from kfix.model.snapshot import TopicPartition

_SIDES = ("leader", "follower")
_APPLIES = "Processing override for entityPath: {} "


def rate_key(side: str) -> str:
    return f"{side}.replication.throttled.rate"


def replicas_key(side: str) -> str:
    return f"{side}.replication.throttled.replicas"


@dataclass(frozen=True)
class Throttle:
    """Bytes a second. `leaders` send slowly to replicas outside the ISR, `followers` outside it fetch slowly."""

    rate: int
    followers: Mapping[TopicPartition, tuple[int, ...]]
    leaders: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)

    def of_brokers(self) -> dict[int, dict[str, str]]:
        found: dict[int, dict[str, str]] = {}
        for side, replicas in zip(_SIDES, (self.leaders, self.followers), strict=True):
            for broker in {each for ids in replicas.values() for each in ids}:
                found.setdefault(broker, {})[rate_key(side)] = str(self.rate)
        return found

    def of_topics(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for side, replicas in zip(_SIDES, (self.leaders, self.followers), strict=True):
            for topic in {each for each, _ in replicas}:
                pairs = [
                    f"{n}:{broker}" for (name, n), ids in sorted(replicas.items()) if name == topic for broker in ids
                ]
                found.setdefault(topic, {})[replicas_key(side)] = ",".join(pairs)
        return found


def put(stage: Stage, throttle: Throttle) -> None:
    brokers, topics = throttle.of_brokers(), throttle.of_topics()
    logs = {broker: stage.lab.store.log_file("broker", broker) for broker in brokers}
    read_so_far = {broker: log.stat().st_size for broker, log in logs.items()}
    for broker, config in brokers.items():
        stage.set_config("brokers", str(broker), config)
    for topic, config in topics.items():
        stage.set_config("topics", topic, config)

    def applied(broker: int) -> bool:
        with logs[broker].open(encoding="utf-8", errors="replace") as log:
            log.seek(read_so_far[broker])
            news = log.read()
        return all(
            _APPLIES.format(entity) in news
            for entity in (f"brokers/{broker}", *(f"topics/{topic}" for topic in topics))
        )

    # No request tells whether a broker obeys a throttle yet, and one frozen before it does would catch up at once.
    for broker in brokers:
        wait_for(f"broker {broker} has read its throttle", lambda each=broker: applied(each), 20)  # type: ignore[misc]


def lift(stage: Stage, topics: Iterable[str], brokers: Iterable[int]) -> None:
    for kind, names, keys in (
        ("topics", topics, [replicas_key(side) for side in _SIDES]),
        ("brokers", map(str, brokers), [rate_key(side) for side in _SIDES]),
    ):
        for name in names:
            config = stage.access.configs(kind).get(name, {})
            stage.access.write_config(kind, name, {key: value for key, value in config.items() if key not in keys})
