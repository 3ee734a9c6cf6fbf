"""Who may lead where there is no leader and no ISR: of every such partition, or the rest is reported as not read."""

import uuid

from kafka.protocol import admin

from kfix.core.collect.kraft import read_eligible, succeeded
from kfix.core.collect.tasks import Brokers, Questions
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.security import Security
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import PartitionView, TopicPartition
from kfix.core.timing import Deadline
from tests.unit.core.fake_broker import ALL_VERSIONS, FakeBroker

KEY = 75
PLAINTEXT = Security()
ANSWER = admin.DescribeTopicPartitionsResponse
TOPIC = ANSWER.DescribeTopicPartitionsResponseTopic
ELIGIBLE = EligibleLeaders((2,), (1,))


def partition(number):
    return TOPIC.DescribeTopicPartitionsResponsePartition(
        error_code=0,
        partition_index=number,
        leader_id=-1,
        leader_epoch=4,
        replica_nodes=[1, 2, 3],
        isr_nodes=[],
        eligible_leader_replicas=[2],
        last_known_elr=[1],
        offline_replicas=[1, 2],
    )


class Topics:
    """{topic: partitions} of a broker that answers as Kafka does: in order, from the cursor, up to the page's end.

    The topic of a cursor has to be among those that are asked for (`DescribeTopicPartitionsRequestHandler`). After
    `hangs_up_after` answers the connection is closed.
    """

    def __init__(self, topics, page=2000, hangs_up_after=None):
        self.topics = topics
        self.page = page
        self.left = hangs_up_after
        self.asked = []

    def __call__(self, _version, frame):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                return None
        names = frame.compact_array(lambda: (frame.compact_string(), frame.tags())[0])
        self.page = min(self.page, frame.i32())
        start = (frame.compact_string(), frame.i32()) if frame.i8() >= 0 else ("", 0)
        assert start == ("", 0) or start[0] in names
        self.asked.append(len(names))
        return self._answer(sorted(name for name in names if name >= start[0]), start)

    def _answer(self, names, start):
        room, topics, following = self.page, [], None
        for name in names:
            first = start[1] if name == start[0] else 0
            numbers = range(first, min(self.topics.get(name, 0), first + room))
            found = [partition(number) for number in numbers]
            error = 0 if name in self.topics else 29
            topics.append(
                TOPIC(error_code=error, name=name, topic_id=uuid.UUID(int=7), is_internal=False, partitions=found)
            )
            room -= len(found)
            if room == 0 and (name != names[-1] or numbers.stop < self.topics[name]):
                more = numbers.stop < self.topics[name]
                at = (name, numbers.stop) if more else (names[names.index(name) + 1], 0)
                following = ANSWER.Cursor(topic_name=at[0], partition_index=at[1])
                break
        return ANSWER(throttle_time_ms=0, topics=topics, next_cursor=following)


def read(topics, wanted, versions=None, seconds=10.0):
    broker = FakeBroker({KEY: topics}, {**ALL_VERSIONS, KEY: (0, 0)} if versions is None else versions)
    questions = Questions()
    with broker.listening() as endpoint, BrokerConnection(endpoint, PLAINTEXT) as line:
        found = read_eligible(Brokers(questions, {1: line}, Deadline.after(seconds)), 1, wanted)
    return found, [(s.ok, s.error.replace(str(endpoint), "broker")) for s in questions.sources()]


def partitions(topics):
    return {TopicPartition(name, number) for name, count in topics.items() for number in range(count)}


def many(count):
    return {f"t{number:03}": 1 for number in range(count)}


def test_of_501_topics_without_a_leader_every_one_is_read():
    found, sources = read(Topics(many(501)), partitions(many(501)))
    assert found == dict.fromkeys(partitions(many(501)), ELIGIBLE)
    assert sources == [(True, "")]


def test_the_pages_of_one_topic_and_of_the_next_are_read_to_their_ends():
    wanted = partitions({"large": 4100, "small": 3})
    broker = Topics({"large": 4100, "small": 3})
    found, sources = read(broker, wanted)
    assert found.keys() == wanted
    assert sources == [(True, "")]
    assert len(broker.asked) == 3


def test_a_page_that_ends_with_its_topic_is_followed_by_the_next_topic():
    topics = {"a": 2, "b": 2, "c": 1}
    found, sources = read(Topics(topics, page=2), partitions(topics))
    assert found.keys() == partitions(topics)
    assert sources == [(True, "")]


def test_only_what_is_wanted_is_kept():
    found, _ = read(Topics({"a": 9}), {TopicPartition("a", 4)})
    assert found == {TopicPartition("a", 4): ELIGIBLE}


def test_without_a_further_answer_the_first_pages_stay_and_the_rest_is_reported_as_not_read():
    found, sources = read(Topics(many(501), hangs_up_after=1), partitions(many(501)))
    assert len(found) == 500
    [(good, error)] = sources
    assert not good
    assert error.startswith("1 of 501 partitions not read: broker: ")


def test_a_broker_that_answers_nothing_leaves_everything_unread():
    found, sources = read(Topics({"a": 1}, hangs_up_after=0), {TopicPartition("a", 0)})
    assert found == {}
    assert [good for good, _ in sources] == [False]
    assert sources[0][1].startswith("1 of 1 partition not read: ")


def test_what_an_answer_leaves_out_is_reported_as_not_read():
    found, sources = read(Topics({"a": 1}), {TopicPartition("a", 0), TopicPartition("secret", 0)})
    assert found.keys() == {TopicPartition("a", 0)}
    assert sources == [(False, "1 of 2 partitions not read: the broker's answer does not have them")]


def test_a_broker_without_the_request_has_no_eligible_replicas_and_leaves_nothing_unread():
    assert read(Topics({"a": 1}), {TopicPartition("a", 0)}, versions=ALL_VERSIONS) == ({}, [(True, "")])


def test_a_deadline_that_is_over_is_reported():
    found, sources = read(Topics({"a": 1}), {TopicPartition("a", 0)}, seconds=0.0)
    assert found == {}
    assert sources[0][0] is False


def test_nothing_is_asked_where_every_partition_has_a_leader_or_an_isr():
    assert read(Topics({}), set()) == ({}, [])


# Which partitions a broker with old metadata is asked for: those that it leads alone, and none of a healthy one.


TPS = [TopicPartition("orders", n) for n in range(4)]


def view(leader, epoch):
    return PartitionView(leader, epoch, (1, 2, 3), (1, 2, 3), (), 0)


def test_a_broker_is_asked_for_what_it_leads_in_an_older_epoch_and_nothing_else():
    own = {TPS[0]: view(1, 4), TPS[1]: view(2, 4), TPS[2]: view(1, 4), TPS[3]: view(1, 4)}
    now = {TPS[0]: view(2, 5), TPS[1]: view(3, 5), TPS[2]: view(1, 4)}
    assert succeeded(1, own, now) == {TPS[0]: 5}
    assert succeeded(1, own, own) == {}


def test_at_most_two_hundred_partitions_are_asked_for():
    own = {TopicPartition("t", n): view(1, 0) for n in range(300)}
    now = {tp: view(2, 1) for tp in own}
    assert len(succeeded(1, own, now)) == 200
