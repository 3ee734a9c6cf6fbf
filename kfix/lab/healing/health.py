"""The health of a cluster: all brokers alive, all replicas in sync, all brokers in agreement with ZooKeeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.leading import phantoms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.core.kafka.metadata import MetadataResponse
    from kfix.lab.clients.access import LabClient, RecordedState


def trouble(access: LabClient, brokers: Iterable[int]) -> tuple[str, ...]:
    """Returns one sentence for each problem; none if the cluster is healthy."""
    expected = frozenset(brokers)
    live = access.live_ids()
    if live != expected:
        return (f"brokers {sorted(live)} are registered, not {sorted(expected)}",)
    seen = {broker: access.metadata(broker) for broker in sorted(expected)}
    silent = [f"broker {broker} does not answer" for broker, each in seen.items() if each is None]
    if silent:
        return tuple(silent)
    states = access.states()
    found = [f"the deletion of topic {topic} is pending" for topic in access.pending_deletions()]
    for topic in access.topics():
        found += [f"topic {topic} is being reassigned"] if access.being_reassigned(topic) else []
        for number, replicas in access.assignment(topic).items():
            where = TopicPartition(topic, number)
            found += _of_partition(where, replicas, states.get(where), seen)
    found += [
        f"{where}: the recorded leader answers that it is not the leader" for where in sorted(phantoms(access, states))
    ]
    return tuple(found)


def sick_partitions(access: LabClient) -> dict[TopicPartition, RecordedState | None]:
    """Returns partitions whose recorded leader is none, dead, not named by every live broker, or denies to lead."""
    live = access.live_ids()
    opinions = [seen for broker in sorted(live) if (seen := access.metadata(broker)) is not None]
    states = access.states()
    disowned = phantoms(access, states)
    return {
        where: state
        for where, state in states.items()
        if state is None
        or state.leader not in live
        or where in disowned
        or not all(_agrees(each, where, state) for each in opinions)
    }


def _of_partition(
    where: TopicPartition,
    replicas: tuple[int, ...],
    state: RecordedState | None,
    seen: dict[int, MetadataResponse | None],
) -> list[str]:
    if state is None or state.leader < 0:
        return [f"{where} has no leader"]
    found = []
    if set(state.isr) != set(replicas):
        found.append(f"{where}: ISR {list(state.isr)} of {list(replicas)}")
    for broker, opinion in seen.items():
        if (
            opinion is None
            or not _agrees(opinion, where, state)
            or set(opinion.partitions[where].isr) != set(state.isr)
        ):
            found.append(f"{where}: broker {broker} disagrees with the record")
    return found


def _agrees(opinion: MetadataResponse, where: TopicPartition, state: RecordedState) -> bool:
    partition = opinion.partitions.get(where)
    return partition is not None and (partition.leader, partition.leader_epoch) == (state.leader, state.leader_epoch)
