"""The quotas of a group that does not catch up: what is asked, what counts, and what is unknown."""

from dataclasses import replace

import pytest

from kfix.core.collect.quotas import MOST_CLIENTS, does_not_catch_up, quotas_by_broker, with_quotas
from kfix.core.collect.tasks import Brokers, Questions
from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.requests import FetchedRecords
from kfix.core.snapshot.fleet_facts import Quota
from kfix.core.timing import Deadline
from kfix.core.zookeeper.fresh import _name_of
from tests.unit.core.collect.test_one_record import batch, one
from tests.unit.diagnostics.group_readings import MEMBER, ORDERS, position, reading, share_group

OWN = Quota(None, "c1", None, "consumer_byte_rate", 2000.0)
OF_ONE_USER = Quota("app", "c1", None, "consumer_byte_rate", 1.0)


class Line:
    """A broker with these quotas, whose partitions hold one batch of two records each."""

    def __init__(self, quotas=(OWN, OF_ONE_USER), error=0, *, silent=False):
        self.quotas, self.error, self.silent, self.asked = quotas, error, silent, 0
        self.batch = batch(5, one(0, None, b"x" * 100), one(1, None, b"y" * 100))

    def call_many(self, asked, _deadline):
        self.asked += len(asked)
        if self.silent:
            raise UnreachableError("closed the connection")
        if asked[0].api_key == requests.FETCH:
            return [FetchedRecords(0, 20, 0, self.batch) for _ in asked]
        return [(self.error, self.quotas) for _ in asked]


def brokers(*lines):
    return Brokers(Questions(), dict(enumerate(lines)), Deadline.after(5))


BEHIND = reading(partitions=position(committed=5))


def test_the_quotas_of_a_group_and_the_size_of_its_next_records_are_part_of_the_reading():
    line = Line()
    at = brokers(line)
    found = with_quotas(at, BEHIND, {ORDERS[0]: 0}, lambda clients: quotas_by_broker(at, clients), "User:kfix")
    assert found.quotas == (OWN,), "a quota of one user and a client id counts for that user only"
    assert found.record_bytes == len(line.batch) / 2
    assert line.asked == len(("client id", "default client id", "default user", "one fetch"))


def test_no_record_is_fetched_where_no_quota_limits_fetches():
    line = Line((OWN._replace(key="request_percentage"),))
    at = brokers(line)
    found = with_quotas(at, BEHIND, {ORDERS[0]: 0}, lambda clients: quotas_by_broker(at, clients), "User:kfix")
    assert (found.record_bytes, line.asked) == (0.0, 3)


def test_why_no_quota_was_read_is_part_of_the_reading():
    at = brokers(Line(error=31))
    found = with_quotas(at, BEHIND, {}, lambda clients: quotas_by_broker(at, clients), "User:kfix")
    assert found.quotas is None
    assert "CLUSTER_AUTHORIZATION_FAILED" in found.errors["group quotas"]
    assert "DescribeConfigs for User:kfix" in found.errors["group quotas"]


def test_another_broker_is_asked_where_one_is_silent():
    assert quotas_by_broker(brokers(Line(silent=True), Line()), ("c1",)) == (OWN,)
    with pytest.raises(UnreachableError, match="closed the connection"):
        quotas_by_broker(brokers(Line(silent=True)), ("c1",))


def test_only_some_of_many_client_ids_are_asked_about():
    members = tuple(MEMBER._replace(id=f"m{n}", client=f"c{n}") for n in range(2 * MOST_CLIENTS))
    asked = []
    with_quotas(brokers(Line()), replace(BEHIND, members=members), {}, lambda found: asked.extend(found) or (), "")
    assert len(asked) == MOST_CLIENTS


@pytest.mark.parametrize(
    ("now", "before", "asks"),
    [
        (BEHIND, BEHIND, True),
        (BEHIND, reading(partitions=position(committed=4)), False),
        (BEHIND, None, False),
        (reading(), reading(), False),
        (replace(BEHIND, members=()), BEHIND, False),
        (share_group(partitions=position(committed=5)), BEHIND, False),
    ],
)
def test_a_group_that_catches_up_is_not_asked_about(now, before, asks):
    assert does_not_catch_up(now, before) is asks


def test_the_znode_of_a_client_id_is_named_as_kafka_names_it():
    assert [_name_of(each) for each in ("reports-a", "a b", "a*~/b")] == ["reports-a", "a%20b", "a%2A%7E%2Fb"]
