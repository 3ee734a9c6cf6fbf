"""What an authorizer refuses, and what it hides: topics that a client may not describe are named, never ignored."""

from kfix.core.collect.broker import BrokerAnswers
from kfix.core.collect.rights import with_rights
from kfix.core.collect.sources import hidden_topics
from kfix.core.kafka import group_messages, requests
from kfix.core.kafka.codes import missing_right
from kfix.core.kafka.requests import LogDirUsage, PartitionOffset
from kfix.core.snapshot.snapshot import BrokerView, Source, TopicPartition
from tests.unit.core.collect.known import failed, known

AUTHORIZED = [{"authorizer.class.name": "AclAuthorizer"}]


class Line:
    """A broker with these topics on its disk; those of `hidden` may not be described."""

    def __init__(self, topics, hidden=(), allowed=True):
        self.dirs = [LogDirUsage("/d", 0, {TopicPartition(t, 0): 1 for t in topics})] if allowed else []
        self.hidden = hidden
        self.asked = []

    def call(self, request, deadline):
        self.asked.append(request.api_key)
        return 0, self.dirs

    def call_many(self, asked, deadline):
        self.asked += [request.api_key for request in asked]
        tps = [tp for each in self.dirs for tp in each.sizes]
        ends = {tp: PartitionOffset(29 if tp.topic in self.hidden else 0, 5) for tp in tps}
        return [ends, ends]


def errors(line, topics, configs=AUTHORIZED):
    partitions = {TopicPartition(topic, 0): None for topic in topics}
    answers = {b: BrokerAnswers(None, "", each, (), ()) for b, each in enumerate(configs)}
    given = known({7: line}, views={7: BrokerView(7, 1, {}, {}, partitions)}, answers=answers)
    hidden_topics.read(given)
    return [error for _, error in failed(given)]


def test_a_topic_that_only_the_log_directories_name_is_hidden():
    assert errors(Line(["a", "b"], hidden=["b"]), {"a"}) == ["TOPIC_AUTHORIZATION_FAILED for b"]


def test_of_many_hidden_topics_the_first_are_named():
    topics = [f"t{number}" for number in range(5)]
    assert errors(Line(topics, hidden=topics), set()) == ["TOPIC_AUTHORIZATION_FAILED for t0, t1, t2 and 2 more"]


def test_a_topic_that_was_created_meanwhile_is_not_hidden():
    assert errors(Line(["a", "new"]), {"a"}) == []


def test_without_the_right_on_the_cluster_it_is_reported_as_unknown():
    assert errors(Line([], allowed=False), set()) == ["log directories: CLUSTER_AUTHORIZATION_FAILED"]


def test_a_cluster_without_an_authorizer_is_not_asked():
    line = Line(["a"])
    assert errors(line, set(), [{"authorizer.class.name": ""}, {}]) == []
    assert line.asked == []


def test_an_error_of_a_missing_right_ends_with_the_command_that_grants_it():
    failed = Source("configs of broker 7", ok=False, error="CLUSTER_AUTHORIZATION_FAILED")
    other = Source("broker 8", ok=False, error="closed the connection")
    [explained, same] = with_rights([failed, other], "User:ann")
    assert explained.error == (
        "CLUSTER_AUTHORIZATION_FAILED (missing right: DescribeConfigs for User:ann; "
        "kafka-acls.sh --add --allow-principal 'User:ann' --operation DescribeConfigs --cluster)"
    )
    assert same == other


def test_each_request_has_its_own_right():
    assert "--operation Alter --cluster" in missing_right(requests.ELECT_LEADERS, 31, "User:a")
    assert "--operation Delete --group '*'" in missing_right(group_messages.OFFSET_DELETE, 30, "User:a")
    assert "--operation Write --transactional-id '*'" in missing_right(group_messages.INIT_PRODUCER_ID, 53, "User:a")
    assert missing_right(requests.ELECT_LEADERS, 41, "User:a") == ""
