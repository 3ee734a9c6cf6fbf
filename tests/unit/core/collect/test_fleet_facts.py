"""The sources that only the questions of a fleet need: each alone, and what is not read is part of the answer."""

from dataclasses import replace

import pytest

from kfix.core.collect import fleet_facts as facts
from kfix.core.collect.broker import BrokerAnswers
from kfix.core.collect.fleet_facts import FactPart, ask_logs, fleet_facts
from kfix.core.collect.options import CollectOptions
from kfix.core.collect.source import read_all
from kfix.core.errors import UnreachableError
from kfix.core.kafka import access_messages, requests
from kfix.core.kafka.requests import DescribedConfig, LogDirUsage, PartitionOffset
from kfix.core.snapshot.fleet_facts import (
    AclRule,
    Acls,
    ApiRange,
    EarlierEpoch,
    LeaderLog,
    Quota,
    Setting,
    StoredLogDir,
    UnreadFact,
)
from kfix.core.snapshot.snapshot import BrokerView, Endpoint, Mode, PartitionView, TopicPartition
from kfix.core.timing import Deadline
from tests.unit.core.collect.known import known

TP = TopicPartition("orders", 0)
RULE = AclRule("User:*", "*", "allow", "write", "topic", "orders")
#: {first epoch: first offset}, as a broker keeps it with the log.
EPOCHS = {0: 0, 3: 40, 4: 70, 7: 90}


class Line:
    """A broker that leads `orders-0` in epoch 7; `log` is its epochs, and `refuses` are APIs that it does not allow."""

    certificate = None

    def __init__(self, log=EPOCHS, *, start=0, end=120, refuses=()):
        self.ranges = {35: (0, 4), 3: (0, 9)}
        self.log, self.start, self.end, self.refuses, self.asked = log, start, end, {*refuses}, []

    def supports(self, api, version, _):
        return self.ranges.get(api, (0, 0))[1] >= version

    def call_many(self, asked, deadline):
        return [self.call(each, deadline) for each in asked]

    def call(self, request, _):
        api = request.api_key
        self.asked.append(int(api))
        if api in self.refuses and api in {29, 48}:
            return 31, ()
        if api in self.refuses:
            raise UnreachableError("closed the connection")
        if api == requests.LIST_OFFSETS:
            first = self.asked.count(2) % 3 == 1
            return {TP: PartitionOffset(0, self.start if first else self.end, -1, -1 if first else 7)}
        if api == requests.OFFSET_FOR_LEADER_EPOCH:
            return {TP: self.epoch_end(int.from_bytes(request.body[-4:], "big"))}
        if api == requests.DESCRIBE_CONFIGS:
            values = {"listeners": "SSL://:9093", "num.partitions": "1"}
            return [DescribedConfig("1", 0, "", values, {"listeners": 4, "num.partitions": 5, "secret": 4}, {})]
        if api == requests.DESCRIBE_LOG_DIRS:
            return 0, [LogDirUsage("/b", 56, {}), LogDirUsage("/a", 0, {TP: 5}, 10, 100)]
        return 0, ((RULE,) if api == 29 else (Quota("app", None, None, "request_percentage", 5.0),))

    def epoch_end(self, asked):
        """What LeaderEpochFileCache.endOffsetFor of Kafka 2.7.1 answers."""
        after = [offset for epoch, offset in self.log.items() if epoch > asked]
        if not after:
            return PartitionOffset(0, -1, -1, -1)
        return PartitionOffset(0, after[0], -1, max((e for e in self.log if e <= asked), default=asked))


def asked_for(lines, *, mode=Mode.KRAFT, authorizer="", **more):
    view = BrokerView(1, 1, {}, {}, {TP: PartitionView(1, 7, (1, 2), (1, 2), ())})
    answer = BrokerAnswers(view, "c", {"authorizer.class.name": authorizer, "x": "y"}, (), ())
    given = {
        "mode": mode, "addresses": {b: Endpoint("h", b) for b in (1, 2)}, "views": {1: view}, "answers": {1: answer},
        "options": CollectOptions(fleet_facts=True), **more,
    }  # fmt: skip
    return known(lines, **given)


def read(*given, **more):
    return read_all([fleet_facts], asked_for(*given, **more))["fleet_facts"]


def test_all_facts_of_a_cluster_are_read_and_a_broker_that_is_down_is_named_in_each():
    found = read({1: Line()})
    ends = (EarlierEpoch(4, 90), EarlierEpoch(3, 70), EarlierEpoch(0, 40))
    assert found.leader_logs == {TP: LeaderLog(1, 7, 0, 120, 120, ends)}
    assert found.log_dirs == {1: (StoredLogDir("/a", "", 100, 10, {TP: 5}), StoredLogDir("/b", "KAFKA_STORAGE_ERROR"))}
    assert found.settings == {1: (Setting("listeners", "SSL://:9093", "file"),)}
    assert found.apis == {1: (ApiRange(3, 0, 9), ApiRange(35, 0, 4))}
    assert found.acls == Acls(authorizer=False)
    assert found.quotas == (Quota("app", None, None, "request_percentage", 5.0),)
    assert found.unread == tuple(
        UnreadFact(fact, 2, "broker 2 does not respond to kfix") for fact in ("log_dirs", "settings", "apis")
    )


@pytest.mark.parametrize(
    ("log", "start", "earlier"),
    [
        ({0: 0, 7: 90}, 0, [(0, 90)]),
        ({7: 90}, 90, [(6, 90)]),
        ({5: 80, 7: 90}, 80, [(5, 90), (4, 80)]),
        ({epoch: 10 * epoch for epoch in range(8)}, 0, [(6, 70), (5, 60), (4, 50), (3, 40)]),
        ({}, 0, []),
    ],
    ids=[
        "two",
        "nothing is kept of the epochs before",
        "kept from within an epoch",
        "more than are read",
        "old format",
    ],
)
def test_the_epochs_before_are_those_that_the_log_still_has(log, start, earlier):
    line = Line(log, start=start)
    found = ask_logs(line, (TP,), Deadline.after(5))[TP]
    assert list(map(tuple, found.earlier)) == earlier
    assert line.asked.count(23) <= facts.MOST_EPOCHS


def test_a_partition_without_a_leader_has_no_log_and_the_others_have():
    view = BrokerView(1, 1, {}, {}, {TP: PartitionView(-1, 7, (1,), (1,), (), 5)})
    assert read({1: Line()}, views={1: view}).leader_logs == {TP: LeaderLog(-1, error="no leader")}


def test_a_missing_right_is_named_and_no_source_of_the_cluster_has_failed():
    line = Line(refuses={2, 29, 35, 48})
    asked = asked_for({1: line}, authorizer="kafka.security.authorizer.AclAuthorizer")
    found = read_all([fleet_facts], asked)["fleet_facts"]
    why = {each.fact: each.why for each in found.unread if each.broker != 2}
    assert found.acls is None
    assert found.quotas is None
    assert "missing right: Describe for User:ANONYMOUS; kafka-acls.sh" in why["acls"]
    assert "missing right: DescribeConfigs for User:ANONYMOUS" in why["quotas"]
    assert why["log_dirs"] == why["leader_logs"] == "closed the connection"
    failed = [each.name for each in asked.brokers.questions.sources() if not each.ok]
    assert not [name for name in failed if name.partition(" ")[0] in why]


def test_rules_are_asked_for_by_filter_and_those_of_topics_only_if_topics_without_a_rule_are_open():
    line = Line()
    found = read({1: line}, authorizer="kafka.security.authorizer.AclAuthorizer")
    assert found.acls == Acls(True, (RULE,), None)
    assert line.asked.count(29) == 3


def test_no_broker_is_asked_about_quotas_where_it_would_ask_zookeeper():
    line = Line()
    found = read({1: line}, mode=Mode.ZOOKEEPER)
    assert found.quotas is None
    assert 48 not in line.asked
    assert "a broker would ask ZooKeeper" in next(each.why for each in found.unread if each.fact == "quotas")


def test_a_session_with_tls_shows_its_certificate():
    asked = asked_for({1: Line()})
    secure = replace(asked.target, security=replace(asked.target.security, protocol="SSL"))
    part = facts.certificates.read(replace(asked, target=secure))
    assert part == FactPart({}, (UnreadFact("certificates", 1, "the session is not open"), *part.unread[1:]))
    assert access_messages.NO_AUTHORIZER == 54
