"""The sources of a KRaft cluster besides its brokers, and their order: the quorum first, forwarded requests last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kfix.core.collect.broker import BrokerAnswers
from kfix.core.collect.controller_settings import SOURCE as CONTROLLER_SETTINGS
from kfix.core.collect.eligible import read_eligible
from kfix.core.collect.quorum import SOURCE, Offsets, QuorumQuestion, ask_fenced, why_unread
from kfix.core.collect.tasks import Questions
from kfix.core.deadline import Deadline
from kfix.core.derive.quorum import listed_alive
from kfix.core.derive.record import recorded_by
from kfix.core.kafka import requests
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.ledger import Ledger
from kfix.core.snapshot.quorum import METADATA_FEATURE, EligibleLeaders, OldLeader, QuorumView
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import NO_LEADER, Assignment, Endpoint, PartitionView, TopicPartition
from kfix.core.target import Target


class KraftReading:
    """The quorum of one snapshot. The collector fills `answers` and `addresses` as brokers answer."""

    def __init__(
        self,
        questions: Questions,
        answers: Mapping[int, BrokerAnswers],
        addresses: Mapping[int, Endpoint],
        target: Target,
        configs: Mapping[str, str],
        deadlines: tuple[Deadline, Deadline],
        ledger: Ledger,
        cluster_id: str = "",
    ) -> None:
        self._questions = questions
        self._answers = answers
        self._addresses = addresses
        first, self._deadline = deadlines
        self._quorum = QuorumQuestion(target, configs, first, ledger, cluster_id)
        self._quorum.wait_for_active()
        self._fenced: dict[int, Endpoint] | None = None
        self._eligible: dict[TopicPartition, EligibleLeaders] = {}
        self._old_leaders: dict[TopicPartition, OldLeader] = {}

    def fenced(self, lines: Mapping[int, BrokerConnection], deadline: Deadline) -> dict[int, Endpoint]:
        """Returns the registered brokers that are not alive, from the broker with the newest metadata."""
        newest = self._newest()
        if newest is None:
            return {}
        task = self._questions.start("fenced brokers", lambda: ask_fenced(lines[newest], deadline))
        self._fenced = task.result(deadline)
        return {b: e for b, e in (self._fenced or {}).items() if b not in self._addresses}

    @property
    def foreign(self) -> Mapping[str, str]:
        """Returns {address: id of another cluster} of the controllers that were asked."""
        return self._quorum.foreign

    def alive(self) -> frozenset[int]:
        """Returns the brokers that count as alive, and starts the requests that only a doubt about the quorum needs."""
        offsets = self._offsets()
        self._quorum.ask_again({b: self._addresses[b] for b in self._answers}, offsets)
        views = {b: answer.view for b, answer in self._answers.items()}
        return listed_alive(views, self._quorum.seen(offsets)) or frozenset(views)

    def record(self) -> ClusterRecord | None:
        """Returns the record from the broker with the newest metadata, as far as known before the last requests."""
        views = {b: answer.view for b, answer in self._answers.items()}
        return recorded_by(None, self._quorum.seen(self._offsets()), views)

    def ask_eligible(self, lines: Mapping[int, BrokerConnection], deadline: Deadline) -> None:
        """Reads which replicas may lead partitions without a leader, from the broker with the newest metadata."""
        newest = self._newest()
        if newest is None:
            return
        view = self._answers[newest].view
        # Also with an ISR: a last known leader that is no replica makes the start of a broker fail (KFX120).
        doubtful = {tp for tp, each in view.partitions.items() if each.leader == NO_LEADER}
        # Half of the time remains for later requests.
        self._eligible = read_eligible(self._questions, lines[newest], doubtful, deadline.within(deadline.left / 2))

    def ask_old_leaders(self, lines: Mapping[int, BrokerConnection], deadline: Deadline) -> None:
        """Asks the brokers with older metadata whether they know the leaders that succeeded them."""
        newest, seen = self._newest(), self._quorum.seen(self._offsets())
        if newest is None or not seen.read:
            return
        current = self._answers[newest].view.partitions
        asked = {}
        for broker in (b for b in self._answers if b != newest and seen.stale(b)):
            epochs = succeeded(broker, self._answers[broker].view.partitions, current)
            if epochs:
                asked[broker] = self._questions.start(
                    f"old leader {broker}",
                    lambda b=broker, e=epochs: ask_old_leader(lines[b], b, e, deadline),  # type: ignore[misc]
                )
        for task in asked.values():
            self._old_leaders |= task.result(deadline) or {}

    def last(
        self, settings: Mapping[str, Mapping[str, str]] | None
    ) -> tuple[QuorumView, dict[TopicPartition, Assignment] | None]:
        """Returns the quorum and the reassignments; no earlier request waits for a controller.

        `settings` are {topic: its own settings}, None if they were not read.
        """
        on_kraft = [a for a in self._answers.values() if a.features is not None and not _of_zookeeper(a)]
        features = next((a.features.finalized for a in on_kraft if a.features is not None), {})
        fenced = None if self._fenced is None else tuple(sorted(self._fenced))
        reported = {b: a.features.supported for b, a in self._answers.items() if a.features is not None}
        supported = {b: levels[METADATA_FEATURE] for b, levels in reported.items() if METADATA_FEATURE in levels}
        quorum = replace(
            self._quorum.answer(self._offsets(), features, fenced, supported),
            eligible=self._eligible,
            topic_settings=settings,
            old_leaders=self._old_leaders,
        )
        if why := why_unread(quorum):
            # A quorum that was not read is not healthy: it may be lost, and the metadata frozen (docs/facts/kraft.md).
            self._questions.failed(SOURCE, why)
        if not quorum.read:
            return quorum, None
        if why := self._quorum.settings_unread(quorum.leader):
            name = f"{CONTROLLER_SETTINGS} {quorum.leader}"
            self._questions.failed(name, why.removeprefix(f"{name}: "))
        brokers = {b: self._addresses[b] for b in self._answers}
        listed = self._questions.start("reassignments", lambda: self._quorum.reassignments(quorum, brokers))
        return quorum, listed.result(self._deadline)

    def _newest(self) -> int | None:
        """Returns the broker with the newest metadata, None if no broker answered."""
        offsets = self._offsets()
        return max(self._answers, key=lambda b: offsets.get(b, -1), default=None)

    def _offsets(self) -> Offsets:
        """Returns {broker: the metadata offset that it had applied before its metadata was read}."""
        known = {
            b: a.features.epoch for b, a in self._answers.items() if a.features is not None and not _of_zookeeper(a)
        }
        return {b: offset for b, offset in known.items() if offset >= 0}


def _of_zookeeper(answer: BrokerAnswers) -> bool:
    """Returns whether the broker still runs on ZooKeeper, as in a migration: it reports the metadata offset 0."""
    return bool(answer.configs) and not answer.configs.get("process.roles")


#: Most partitions about which one broker is asked whether it still leads them: the first ones prove it.
_MOST_OLD_LEADERS = 200


def succeeded(
    broker: int, own: Mapping[TopicPartition, PartitionView], current: Mapping[TopicPartition, PartitionView]
) -> dict[TopicPartition, int]:
    """Returns {partition: newer leader epoch} of the partitions that the broker leads by its own, older metadata."""
    found = {}
    for tp, view in own.items():
        newer = current.get(tp)
        if view.leader == broker and newer is not None and newer.leader_epoch > view.leader_epoch:
            found[tp] = newer.leader_epoch
            if len(found) == _MOST_OLD_LEADERS:
                break
    return found


def ask_old_leader(
    line: BrokerConnection, broker: int, epochs: Mapping[TopicPartition, int], deadline: Deadline
) -> dict[TopicPartition, OldLeader]:
    """Returns the broker's answers to the leader epochs of its successors, which it knows if it has stepped down."""
    answers = line.call(requests.epoch_ends(epochs, current=True), deadline)
    return {
        tp: OldLeader(broker, epochs[tp], name_of(each.error) if each.error else "")
        for tp, each in answers.items()
        if tp in epochs
    }
