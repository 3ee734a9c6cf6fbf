"""The health of a cluster, and waiting until it is restored."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kfix.core.errors import LabError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.leading import phantoms
from kfix.lab.nodes.brokers import start_brokers
from kfix.lab.waiting import POLL_SECONDS, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kfix.core.kafka.metadata import MetadataResponse
    from kfix.lab.clients.access import LabClient, RecordedState
    from kfix.lab.nodes.handle import LabHandle


# The health of a cluster: all brokers alive, all replicas in sync, all brokers in agreement with ZooKeeper.


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


WELL_SECONDS = 90.0
_IN_SYNC_SECONDS = 12.0
_LED_SECONDS = 30.0


class Settling:
    """The last part of `mend`: until every replica is in sync, the preferred replicas lead, and all brokers agree."""

    def __init__(
        self, lab: LabHandle, access: LabClient, brokers: tuple[int, ...], report: Callable[[str], None]
    ) -> None:
        self._lab = lab
        self._access = access
        self._brokers = brokers
        self._report = report

    def wait_well(self) -> None:
        self._wait_in_sync()
        self._prefer_first_replicas()
        deadline = time.monotonic() + WELL_SECONDS
        while found := trouble(self._access, self._brokers):
            if time.monotonic() > deadline:
                raise LabError(f"not healthy after {WELL_SECONDS:.0f} s: {found[0]}", hint="kfix lab down and up")
            time.sleep(POLL_SECONDS)

    def _wait_in_sync(self) -> None:
        """Restarts leaders whose ISR stays short: one that asked a stopped controller never retries (seen on 2.7.1)."""
        patience = time.monotonic() + _IN_SYNC_SECONDS
        while time.monotonic() < patience:
            if not self._lagging():
                return
            time.sleep(POLL_SECONDS)
        leaders = sorted({state.leader for state in self._lagging() if state.leader in self._brokers})
        if leaders:
            self._lab.nodes.kill(self._lab.state, leaders)
            start_brokers(self._lab, leaders)
            self._report(f"restarted broker {' and '.join(map(str, leaders))}, which did not add replicas to the ISR")
        wait_for("all replicas are in sync", lambda: not self._lagging(), WELL_SECONDS)

    def _lagging(self) -> list[RecordedState]:
        assignments = {topic: self._access.assignment(topic) for topic in self._access.topics()}
        return [
            state
            for (topic, number), state in self._access.states(assignments).items()
            if state is not None and number in assignments[topic] and set(state.isr) != set(assignments[topic][number])
        ]

    def _prefer_first_replicas(self) -> None:
        if elsewhere := self._led_elsewhere():
            wait_for("the preferred replicas lead", self._elect_first, _LED_SECONDS)
            self._report(f"elected the preferred leaders of {len(elsewhere)} partitions")

    def _elect_first(self) -> bool:
        elsewhere = self._led_elsewhere()
        if elsewhere:
            self._access.elect(elsewhere, unclean=False)
        return not elsewhere

    def _led_elsewhere(self) -> list[TopicPartition]:
        states = self._access.states()
        return [
            where
            for topic in self._access.topics()
            for number, replicas in self._access.assignment(topic).items()
            if (state := states.get(where := TopicPartition(topic, number))) is not None and state.leader != replicas[0]
        ]
