"""The replicas that may lead partitions without a leader and with an empty ISR (KIP-966), read page by page."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kfix.core.collect.tasks import Brokers
from kfix.core.kafka import kraft_messages
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline
from kfix.core.wording import several

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
