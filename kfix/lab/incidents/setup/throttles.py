"""Replication throttles as kafka-reassign-partitions writes them: a rate on brokers, a list of replicas on topics."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.waiting import wait_for

_SIDES = ("leader", "follower")
# The whole line: Processing override for entityPath: topics/x with config: HashMap(some.key -> 250000, another -> ..)
_APPLIES = "Processing override for entityPath: {} with config"
# The same on KRaft: Updating topic x with new configuration : some.key -> 250000,another -> 1:2,1:3 (kafka.server..)
_UPDATES = "Updating {} with new configuration"


def rate_key(side: str) -> str:
    return f"{side}.replication.throttled.rate"


def replicas_key(side: str) -> str:
    return f"{side}.replication.throttled.replicas"


@dataclass(frozen=True)
class Throttle:
    """`rate` in bytes per second, for `followers` outside the ISR and for `leaders` that send to such followers."""

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


def put(context: IncidentContext, throttle: Throttle) -> None:
    """Sets the throttle and returns when every broker applies it.

    No request shows whether a broker applies a throttle yet, and a broker stopped before it does would catch up at
    once. Its log names a change just before the broker applies it, one after the other: so each is written twice, and
    the second line proves the first. The full value is compared: an earlier change of the topic may still be in flight.
    KRaft writes no record for a change that changes nothing; there the next record that a broker applies is the proof.
    """
    wanted = {f"brokers/{broker}": config for broker, config in throttle.of_brokers().items()}
    wanted |= {f"topics/{topic}": config for topic, config in throttle.of_topics().items()}
    logs = {broker: context.lab.store.log_file("broker", broker) for broker in throttle.of_brokers()}
    read_so_far = {broker: log.stat().st_size for broker, log in logs.items()}
    quorum = context.lab.quorum
    for _ in range(1 if quorum else 2):
        for entity, config in wanted.items():
            kind, _, name = entity.partition("/")
            context.set_config(kind, name, config)

    def obeys(broker: int) -> bool:
        with logs[broker].open(encoding="utf-8", errors="replace") as log:
            log.seek(read_so_far[broker])
            news = log.readlines()
        mine = {entity: config for entity, config in wanted.items() if entity in {f"brokers/{broker}", *topics}}
        if quorum is None:
            return all(_count(news, _APPLIES.format(entity), config) > 1 for entity, config in mine.items())
        return all(_count(news, _updates(entity), config) for entity, config in mine.items())

    topics = {entity for entity in wanted if entity.startswith("topics/")}
    for broker in logs:
        wait_for(f"broker {broker} applies its throttle", lambda each=broker: obeys(each), 60)  # type: ignore[misc]
    if quorum is not None:
        seen = quorum.applied()
        wait_for(
            "the brokers apply what follows their throttles",
            lambda: all(quorum.applied().get(each, -1) > seen[each] for each in logs),
            60,
        )


def _updates(entity: str) -> str:
    kind, _, name = entity.partition("/")
    return _UPDATES.format(f"{'topic' if kind == 'topics' else 'node'} {name}")


def _count(lines: Iterable[str], begin: str, config: Mapping[str, str]) -> int:
    """Counts the lines with this beginning that have all of these settings."""
    pairs = [f"{key} -> {value}" for key, value in config.items()]
    return sum(begin in line and all(_has(line, pair) for pair in pairs) for line in lines)


def _has(line: str, pair: str) -> bool:
    """A value ends with the list or where the next key begins, which no digit does; a value itself may have commas."""
    at = line.find(pair)
    return at >= 0 and re.match(r",\s|,[a-z]|\)|\s\(", line[at + len(pair) :]) is not None


def lift(context: IncidentContext, topics: Iterable[str], brokers: Iterable[int]) -> None:
    for kind, names, keys in (
        ("topics", topics, [replicas_key(side) for side in _SIDES]),
        ("brokers", map(str, brokers), [rate_key(side) for side in _SIDES]),
    ):
        for name in names:
            config = context.access.configs(kind).get(name, {})
            context.access.write_config(kind, name, {key: value for key, value in config.items() if key not in keys})


# A reassignment to a stopped broker, for which it waits.
#
# The controller accepts it, because the session of that broker is still alive. The broker fetches nothing.


class MoveRoles(NamedTuple):
    """Three brokers: one that stays alive and in sync, one that has a replica before, one that is stopped."""

    kept: int
    origin: int
    target: int


def move_roles(context: IncidentContext) -> MoveRoles:
    """Returns the roles of the lab's brokers. A broker that is the controller is kept."""
    controller = wait_for("there is a controller", context.access.controller, 10)
    return MoveRoles(*sorted(context.ids(), key=lambda each: each != controller)[:3])


def begin_waiting_move(
    context: IncidentContext, moved: TopicPartition, roles: MoveRoles, before: Sequence[int]
) -> None:
    """Creates the topic of one partition on `before`, stops the target, and begins to move it to kept and target."""
    after = (roles.kept, roles.target)
    context.topic(moved.topic, [list(before)])
    context.lab.nodes.stop(context.lab.state, roles.target)
    context.begin_move(moved, after)
    context.report(
        f"stopped broker {roles.target}, then began to reassign {moved} from {list(before)} to {list(after)}"
    )
    context.wait_state(moved, f"{roles.kept} is in sync", lambda each: roles.kept in each.isr)
