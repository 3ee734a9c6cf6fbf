"""What the answers of KRaft brokers show: the newest metadata, and which brokers lead by metadata that is older."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kfix.core.collect.broker import BrokerAnswers
from kfix.core.collect.quorum import Offsets, QuorumQuestion
from kfix.core.kafka.kraft_messages import Features
from kfix.core.snapshot.quorum import METADATA_FEATURE, QuorumView
from kfix.core.snapshot.snapshot import PartitionView, TopicPartition

#: Most partitions about which one broker is asked whether it still leads them: the first ones prove it.
_MOST_OLD_LEADERS = 200

_Answers = Mapping[int, BrokerAnswers]


def offsets_of(answers: _Answers) -> Offsets:
    """Returns {broker: the metadata offset that it had applied before its metadata was read}."""
    return {b: features.epoch for b, a in answers.items() if (features := _on_kraft(a)) and features.epoch >= 0}


def newest_of(answers: _Answers) -> int | None:
    """Returns the broker with the newest metadata, None if no broker answered."""
    offsets = offsets_of(answers)
    return max(answers, key=lambda b: offsets.get(b, -1), default=None)


def _on_kraft(answer: BrokerAnswers) -> Features | None:
    """Returns the features of a KRaft broker. One that still runs on ZooKeeper reports the metadata offset 0."""
    of_zookeeper = answer.configs and not answer.configs.get("process.roles")
    return None if of_zookeeper else answer.features


def last_answer(quorum: QuorumQuestion, answers: _Answers, fenced: Iterable[int] | None) -> QuorumView:
    """Returns the quorum by all answers; waits for the requests that are still open."""
    view = quorum.answer(offsets_of(answers))
    reported = {b: a.features.supported for b, a in answers.items() if a.features is not None}
    supported = {b: levels[METADATA_FEATURE] for b, levels in reported.items() if METADATA_FEATURE in levels}
    return replace(
        view,
        features=next((found.finalized for a in answers.values() if (found := _on_kraft(a)) is not None), {}),
        supported=supported | dict(view.supported),
        fenced=None if fenced is None else tuple(sorted(fenced)),
    )


def led_by_old_metadata(answers: _Answers, seen: QuorumView) -> dict[int, dict[TopicPartition, int]]:
    """Returns {broker: `succeeded`} of the brokers with older metadata than the newest one."""
    newest = newest_of(answers)
    if newest is None or not seen.read:
        return {}
    current = answers[newest].view.partitions
    stale = (b for b in answers if b != newest and seen.stale(b))
    return {b: found for b in stale if (found := succeeded(b, answers[b].view.partitions, current))}


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
