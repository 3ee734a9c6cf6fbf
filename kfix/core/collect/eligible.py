"""Who may lead the partitions without a leader whose ISR is empty (KIP-966), read page by page."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kfix.core.collect.tasks import Questions
from kfix.core.deadline import Deadline
from kfix.core.kafka import kraft_messages
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import several

#: The name of the source. It has no broker's id: one of another broker does not replace it.
ELIGIBLE = "eligible replicas"
#: Topics of one request. What was read of earlier requests stays known if a later one gets no answer.
TOPICS_AT_ONCE = 500

Page = dict[TopicPartition, EligibleLeaders]


def read_eligible(
    questions: Questions, line: BrokerConnection, wanted: Collection[TopicPartition], deadline: Deadline
) -> Page:
    """Returns who may lead these partitions, by one broker, as far as it answers.

    The source fails if it leaves out one of them, and names how many. A broker that does not know the request (before
    3.7) has no eligible replicas, and leaves nothing unknown.
    """
    if not wanted:
        return {}
    pages: list[Page] = []

    def ask() -> bool:
        if not line.supports(kraft_messages.DESCRIBE_TOPIC_PARTITIONS, 0, deadline):
            return False
        pages.extend(eligible_pages(line, wanted, deadline))
        return True

    asked = questions.start(ELIGIBLE, ask)
    known = asked.result(deadline)
    found = {tp: each for page in tuple(pages) for tp, each in page.items()}
    left = len(wanted) - len(found)
    if left and known is not False:
        why = asked.error or "the broker's answer does not have them"
        questions.failed(ELIGIBLE, f"{left} of {several(len(wanted), 'partition')} not read: {why}")
    return found


def eligible_pages(line: BrokerConnection, wanted: Collection[TopicPartition], deadline: Deadline) -> Iterator[Page]:
    """Yields who may lead these partitions, page by page. Raises UnreachableError."""
    topics = sorted({tp.topic for tp in wanted})
    for first in range(0, len(topics), TOPICS_AT_ONCE):
        yield from _pages(line, tuple(topics[first : first + TOPICS_AT_ONCE]), wanted, deadline)


def _pages(
    line: BrokerConnection, topics: tuple[str, ...], wanted: Collection[TopicPartition], deadline: Deadline
) -> Iterator[Page]:
    start: TopicPartition | None = None
    while True:
        request = kraft_messages.describe_topic_partitions(topics, start)
        page, following = line.call(request, deadline)
        yield {tp: EligibleLeaders(each.elr, each.last_known) for tp, each in page.items() if tp in wanted}
        if following is None or not page or following == start:
            return
        start = following
