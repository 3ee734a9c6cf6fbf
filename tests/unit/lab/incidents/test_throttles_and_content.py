from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import MEGABYTE, backlog, bulk
from kfix.lab.incidents.setup.throttles import Throttle

FIRST, SECOND = TopicPartition("ledger", 0), TopicPartition("ledger", 1)


def test_a_throttle_of_a_move_is_written_as_kafkas_tool_writes_it():
    throttle = Throttle(10, followers={FIRST: (3,)}, leaders={FIRST: (1, 2)})
    assert throttle.of_brokers() == {
        1: {"leader.replication.throttled.rate": "10"},
        2: {"leader.replication.throttled.rate": "10"},
        3: {"follower.replication.throttled.rate": "10"},
    }
    assert throttle.of_topics() == {
        "ledger": {
            "leader.replication.throttled.replicas": "0:1,0:2",
            "follower.replication.throttled.replicas": "0:3",
        }
    }


def test_a_throttle_of_followers_alone_leaves_leaders_alone():
    throttle = Throttle(1, {SECOND: (2,), FIRST: (2, 3)})
    assert throttle.of_brokers() == {each: {"follower.replication.throttled.rate": "1"} for each in (2, 3)}
    assert throttle.of_topics() == {"ledger": {"follower.replication.throttled.replicas": "0:2,0:3,1:2"}}


def test_bulk_has_the_size_that_was_asked_for_and_fits_small_segments():
    values = [value for _, value in bulk(MEGABYTE + 1)]
    assert sum(map(len, values)) == MEGABYTE + 1
    assert max(map(len, values)) <= 40_000


def test_a_backlog_is_random():
    first, second = (value for _, value in backlog(2))
    assert first != second
