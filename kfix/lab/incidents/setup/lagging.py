"""Followers that are alive and lag on chosen partitions only, as with a slow disk.

Kafka never throttles a replica in the ISR. So the followers are stopped until they leave the ISR, the leader takes a
backlog, and a throttle on these partitions keeps them from catching up once they continue. Everything else they
replicate recovers immediately.
"""

from collections.abc import Iterable

from kfix.core.errors import LabError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.leading import all_replicated
from kfix.lab.incidents.setup import throttles
from kfix.lab.incidents.setup.content import backlog
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.throttles import Throttle
from kfix.lab.nodes.start import wait_brokers
from kfix.lab.waiting import wait_for

# A throttled replica still fetches the rest of a segment, at most 1 MB (replica.fetch.max.bytes), each time its
# quota's 11 s are over. With one record per segment, the backlog lasts four minutes.
_SEGMENT_BYTES = "250000"
_BACKLOG_RECORDS = 25
_HEAD_START_RECORDS = 12


def fall_behind(
    context: IncidentContext,
    partitions: Iterable[TopicPartition],
    followers: tuple[int, ...],
    *,
    one_by_one: bool = False,
    backlog_records: int = _BACKLOG_RECORDS,
) -> None:
    """With `one_by_one` the first of `followers` has the fewest records, the last the most."""
    partitions = tuple(partitions)
    for topic in {topic for topic, _ in partitions}:
        context.set_config("topics", topic, {context.small_segments: _SEGMENT_BYTES})
    throttles.put(context, Throttle(1, dict.fromkeys(partitions, followers)))
    groups = [(broker,) for broker in followers] if one_by_one else [followers]
    for number, group in enumerate(groups):
        _drop_out(context, partitions, group)
        last = number == len(groups) - 1
        for topic, partition in partitions:
            records = backlog(backlog_records if last else _HEAD_START_RECORDS)
            context.access.produce(topic, {partition: records}, acks="1" if last else "all")
    _wait_replicated(context, partitions)
    for broker in followers:
        context.lab.nodes.cont(context.lab.state, broker)
    wait_brokers(context.lab, context.access, followers)
    _wait_rest(context, frozenset(partitions))
    for topic, number in partitions:
        state = context.live_state(TopicPartition(topic, number))
        context.require(not set(state.isr) & set(followers), f"{followers} still lag on {topic}-{number}")
    names = ", ".join(f"{topic}-{number}" for topic, number in partitions)
    context.report(
        f"broker {' and '.join(map(str, followers))} left the ISR of {names}, whose leader took more records"
    )


def lift_throttle(context: IncidentContext, topics: Iterable[str], brokers: Iterable[int]) -> None:
    """Removes the throttle: once the leader is dead a replica cannot catch up, and no setting shows the lab's hand."""
    topics = tuple(topics)
    throttles.lift(context, topics, brokers)
    for topic in topics:
        config = context.access.configs("topics").get(topic, {})
        own = {key: config[key] for key in config.keys() - {context.small_segments}}
        context.access.write_config("topics", topic, own)


def _drop_out(context: IncidentContext, partitions: tuple[TopicPartition, ...], followers: tuple[int, ...]) -> None:
    for broker in followers:
        context.lab.nodes.stop(context.lab.state, broker)
    for topic, number in partitions:
        context.wait_state(
            TopicPartition(topic, number),
            f"{followers} left its ISR",
            lambda each: not set(each.isr) & set(followers),
            40,
        )


def _wait_replicated(context: IncidentContext, partitions: tuple[TopicPartition, ...]) -> None:
    """Until then the high watermark is the stopped followers' log end: they are in sync as soon as they continue."""
    for topic, number in partitions:
        where = TopicPartition(topic, number)
        leader = context.live_state(TopicPartition(topic, number)).leader
        wait_for(
            f"the in-sync replicas have the backlog of {topic}-{number}",
            lambda at=where, by=leader: all_replicated(context.access, at, by),  # type: ignore[misc]
            20,
        )


def _wait_rest(context: IncidentContext, lagging: frozenset[TopicPartition]) -> None:
    assignments = {topic: context.access.assignment(topic) for topic in context.access.topics()}
    rest = {(topic, number): ids for topic, each in assignments.items() for number, ids in each.items()}

    def in_sync() -> bool:
        states = context.access.states()
        return all(
            state is not None and set(state.isr) == set(rest[where])
            for where, state in states.items()
            if where in rest and where not in lagging
        )

    try:
        wait_for("all other replicas are in sync again", in_sync, 40)
    except LabError as problem:
        problem.hint = "kfix lab mend, then try again"
        raise
