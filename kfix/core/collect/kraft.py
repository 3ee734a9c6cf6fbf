"""What the answers of KRaft brokers show: the newest metadata, and which brokers lead by metadata that is older."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from kfix.core.collect.broker import BrokerAnswers
from kfix.core.collect.quorum import Offsets, QuorumQuestion
from kfix.core.collect.tasks import Brokers
from kfix.core.kafka import kraft_messages
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.kraft_messages import Features
from kfix.core.snapshot.quorum import METADATA_FEATURE, EligibleLeaders, QuorumView
from kfix.core.snapshot.snapshot import PartitionView, TopicPartition
from kfix.core.timing import Deadline
from kfix.core.wording import several

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


# The replicas that may lead partitions without a leader and with an empty ISR (KIP-966), read page by page.

#: The name of the source. It contains no broker id: a failure at another broker does not replace it.
ELIGIBLE = "eligible replicas"
#: Topics per request. If a later request gets no answer, the answers of earlier ones stay known.
TOPICS_AT_ONCE = 500

Page = dict[TopicPartition, EligibleLeaders]


def read_eligible(brokers: Brokers, broker: int, partitions: Collection[TopicPartition]) -> Page:
    """Returns which replicas may lead these partitions, from one broker, as far as it answers.

    The source fails if it leaves out a partition, and names how many. A broker that does not know the request (before
    3.7) has no eligible replicas, and leaves nothing unknown.
    """
    if not partitions:
        return {}
    line, deadline, pages = brokers.lines[broker], brokers.deadline, list[Page]()
    topics = sorted({tp.topic for tp in partitions})

    def ask() -> bool:
        if not line.supports(kraft_messages.DESCRIBE_TOPIC_PARTITIONS, 0, deadline):
            return False
        for first in range(0, len(topics), TOPICS_AT_ONCE):
            pages.extend(_pages(line, tuple(topics[first : first + TOPICS_AT_ONCE]), partitions, deadline))
        return True

    known, error = brokers.once(ELIGIBLE, ask)
    found = {tp: each for page in tuple(pages) for tp, each in page.items()}
    left = len(partitions) - len(found)
    if left and known is not False:
        why = error or "the broker's answer does not have them"
        brokers.questions.failed(ELIGIBLE, f"{left} of {several(len(partitions), 'partition')} not read: {why}")
    return found


def _pages(
    line: BrokerConnection, topics: tuple[str, ...], partitions: Collection[TopicPartition], deadline: Deadline
) -> Iterator[Page]:
    start: TopicPartition | None = None
    while True:
        request = kraft_messages.describe_topic_partitions(topics, start)
        page, following = line.call(request, deadline)
        yield {tp: EligibleLeaders(each.elr, each.last_known) for tp, each in page.items() if tp in partitions}
        if following is None or not page or following == start:
            return
        start = following
