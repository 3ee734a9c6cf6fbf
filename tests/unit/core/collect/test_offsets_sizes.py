"""Sizes of the offsets logs, and the piece in which repeated keys show that no cleaner has been there."""

import pytest

from kfix.core.collect.offsets_sizes import read_sizes
from kfix.core.collect.tasks import Brokers, Questions
from kfix.core.derive.coordinator import is_uncompacted, segment_bytes_of
from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.records import Record
from kfix.core.kafka.requests import FetchedRecords, LogDirUsage, PartitionOffset
from kfix.core.snapshot.broker_answers import OffsetsLogSize
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline
from tests.unit.core.collect.test_transactions import batch
from tests.wire import Reader


def brokers(lines):
    return Brokers(Questions(), lines, Deadline.after(5))


TP, OTHER = (TopicPartition("__consumer_offsets", number) for number in (0, 1))
SEGMENT = 10_000
BATCH = 100


def row(key):
    return Record(b"%06d" % key, b"v" * 20)


class Leader:
    """A broker with a log of these batches, [(base offset, bytes)], that answers as a real one.

    `refuses` are {API: the error of its answer, or the text of a connection that it closes}.
    """

    def __init__(self, batches, refuses=()):
        self.batches, self.refuses = batches, dict(refuses)

    @property
    def size(self):
        return sum(len(data) for _, data in self.batches)

    def call(self, request, *_):
        error = self.refuses.get(request.api_key)
        if isinstance(error, str):
            raise UnreachableError(error)
        if request.api_key == requests.DESCRIBE_LOG_DIRS:
            if error:
                return 0, []
            return 0, [LogDirUsage("/a", 0, {TP: self.size, OTHER: 10}), LogDirUsage("/b", 56, {OTHER: 99})]
        assert request.api_key == requests.FETCH
        if error:
            return FetchedRecords(error, -1, -1, b"")
        reader = Reader(request.body, 25 + 4 + 2 + len(TP.topic) + 4 + 4 + 4)
        at = reader.i64()
        found = [data for base, data in self.batches if base + BATCH > at]
        most = Reader(request.body, 12).i32()
        return FetchedRecords(0, 9, 0, b"".join(found)[: max(most, len(found[0]))])

    def call_many(self, asked, *_):
        assert len(asked) == 2
        end = self.batches[-1][0] + BATCH
        error = self.refuses.get(requests.LIST_OFFSETS, 0)
        return [{TP: PartitionOffset(error, 0)}, {TP: PartitionOffset(error, end)}]


def log(*keys_of_batches, first=0):
    return [(first + BATCH * at, batch(first + BATCH * at, *map(row, keys))) for at, keys in enumerate(keys_of_batches)]


def repeated(count, first=0):
    return log(*([[each % 10 for each in range(BATCH)]] * count), first=first)


def sizes(leader, broker=1):
    places = {TP: (1, (1,)), OTHER: (1, (1,))}
    return read_sizes(brokers({broker: leader}), places, SEGMENT, "User:kfix")


def test_a_log_that_was_never_compacted_has_repeated_keys_behind_its_first_fifth():
    leader = Leader(repeated(40))
    found, other = sizes(leader)
    assert other == OffsetsLogSize(1, 1, 10)
    assert (found.size, found.keys, found.last_ms) == (leader.size, 10, 1_000)
    assert found.records >= 200
    assert found.behind == pytest.approx(0.8 * leader.size, rel=0.05)
    assert is_uncompacted(found, SEGMENT, now=4_000)
    assert not is_uncompacted(found, SEGMENT, now=1_000)


def test_a_log_whose_cleaner_stopped_later_is_found_although_its_beginning_is_compacted():
    compacted = log(range(BATCH))
    leader = Leader(compacted + repeated(40, first=1_000_000))
    assert is_uncompacted(sizes(leader)[0], SEGMENT, now=4_000)


def test_a_log_with_repeated_keys_in_its_second_half_only_is_healthy():
    compacted = log(*(range(BATCH * each, BATCH * each + BATCH) for each in range(20)))
    leader = Leader(compacted + repeated(20, first=1_000_000))
    found, _ = sizes(leader)
    assert found.records > 0
    assert not is_uncompacted(found, SEGMENT, now=4_000)


def test_a_short_log_and_a_follower_are_not_read():
    assert [each.records for each in sizes(Leader(repeated(2)))] == [-1, -1]
    places = {TP: (2, (1, 2))}
    [found] = read_sizes(brokers({1: Leader(repeated(40))}), places, SEGMENT, "User:kfix")
    assert (found.broker, found.records, found.error) == (1, -1, "")


GRANT = "(missing right: {0} for User:kfix; kafka-acls.sh --add --allow-principal 'User:kfix' --operation {0} {1})"


@pytest.mark.parametrize(
    ("api", "error", "why"),
    [
        (requests.FETCH, 29, "TOPIC_AUTHORIZATION_FAILED " + GRANT.format("Read", "--topic '*'")),
        (requests.LIST_OFFSETS, 29, "TOPIC_AUTHORIZATION_FAILED " + GRANT.format("Describe", "--topic '*'")),
        (requests.FETCH, "closed the connection", "closed the connection"),
    ],
)
def test_a_large_log_that_may_not_be_read_names_why_and_a_short_one_is_not_asked_for(api, error, why):
    leader = Leader(repeated(40), {api: error})
    assert sizes(leader) == (OffsetsLogSize(0, 1, leader.size, error=why), OffsetsLogSize(1, 1, 10))
    short = Leader(repeated(2), {api: error})
    assert [each.error for each in sizes(short)] == ["", ""]


class Many(Leader):
    """It leads twelve large logs, and one more whose log directory reports no size."""

    tps = tuple(TopicPartition("__consumer_offsets", number) for number in range(13))

    def call(self, request, *more):
        if request.api_key == requests.DESCRIBE_LOG_DIRS:
            return 0, [LogDirUsage("/a", 0, {tp: self.size + tp.partition for tp in self.tps[:12]})]
        return super().call(request, *more)

    def call_many(self, asked, *more):
        return [dict.fromkeys(self.tps, answer[TP]) for answer in super().call_many(asked, *more)]


def test_what_was_not_asked_for_is_unknown_too_where_nothing_could_be_read():
    def errors(leader):
        places = dict.fromkeys(Many.tps, (1, (1,)))
        return [each.error for each in read_sizes(brokers({1: leader}), places, SEGMENT, "User:kfix")]

    refused = "TOPIC_AUTHORIZATION_FAILED " + GRANT.format("Read", "--topic '*'")
    assert errors(Many(repeated(40), {requests.FETCH: 29})) == [refused] * 12 + ["no size of its log"]
    assert errors(Many(repeated(40))) == [""] * 12 + ["no size of its log"]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (31, "CLUSTER_AUTHORIZATION_FAILED " + GRANT.format("Describe", "--cluster")),
        ("closed the connection", "closed the connection"),
    ],
)
def test_of_a_broker_that_shows_no_sizes_those_of_the_partitions_that_it_leads_are_unknown(error, why):
    leader = Leader(repeated(40), {requests.DESCRIBE_LOG_DIRS: error})
    assert sizes(leader) == (OffsetsLogSize(0, 1, -1, error=why), OffsetsLogSize(1, 1, -1, error=why))
    places = {TP: (2, (1, 2)), OTHER: (2, (1, 2))}
    assert read_sizes(brokers({1: leader}), places, SEGMENT, "User:kfix") == ()


@pytest.mark.parametrize(
    ("text", "size"), [("1048576", 1 << 20), ("", 104_857_600), ("0", 104_857_600), ("9" * 5_000, 104_857_600)]
)
def test_the_size_of_a_segment_is_that_of_the_topic_or_the_default(text, size):
    assert segment_bytes_of(text) == size
