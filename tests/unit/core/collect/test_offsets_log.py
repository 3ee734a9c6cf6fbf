"""Which parts of the offsets log are read, and what records name: Fetch responses of a broker of one conversation."""

import pytest
from kafka.protocol import consumer

from kfix.core.collect.offsets_log import Part, ask_parts, coordinators, read_logs, read_parts
from kfix.core.collect.rights import with_rights
from kfix.core.collect.tasks import Brokers, Questions
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.requests import DEBUGGING_REPLICA
from kfix.core.kafka.security import Security
from kfix.core.snapshot.snapshot import LoggedGroup, TopicPartition
from kfix.core.timing import Deadline
from tests.unit.core.disk.building import (
    CONTROL,
    NOON,
    TRANSACTIONAL,
    batch,
    group_key,
    group_value,
    offset_key,
    offset_value,
)
from tests.unit.core.fake_broker import ALL_VERSIONS, FakeBroker
from tests.unit.diagnostics.clusters import G2, base, coordinator_stuck

TP = TopicPartition(OFFSETS_TOPIC, 3)


def commit(group, partition=0):
    return offset_key(group, "orders", partition), offset_value(5, NOON, 3)


def fetched(*pieces, error=0):
    """A broker that answers one Fetch after the other with these bytes, then with none."""
    topic, left = consumer.FetchResponse.FetchableTopicResponse, list(pieces)

    def respond(*_):
        partition = topic.PartitionData(
            partition_index=3,
            error_code=error,
            high_watermark=10,
            last_stable_offset=10,
            log_start_offset=0,
            aborted_transactions=None,
            preferred_read_replica=-1,
            records=left.pop(0) if left else b"",
        )
        answered = [topic(topic=OFFSETS_TOPIC, partitions=[partition])]
        return consumer.FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=answered)

    return FakeBroker({1: respond}, ALL_VERSIONS | {1: (0, 11)})


def read(broker, part):
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        [log] = read_parts(line, (1, [part]), Deadline.after(5), compare=False)
    return log


def part(first=0, end=4, most=1 << 20):
    return Part(TP, 0, -1, end, first, most)


def test_groups_are_named_from_several_pieces_one_of_them_cut_off():
    first, second = batch(0, pairs=[commit("pay"), commit("pay", 1)]), batch(2, pairs=[commit("ship")])
    third = batch(3, pairs=[(group_key("mail"), group_value(2))])
    broker = fetched(first + second[:70], second + third)
    log = read(broker, part())
    assert log.groups == (LoggedGroup("mail", 0), LoggedGroup("pay", 2), LoggedGroup("ship", 1))
    assert (log.end, log.whole, log.error) == (4, True, "")
    assert [key for key, _ in broker.asked] == [1, 1]


def test_a_deleted_group_is_not_named_and_an_aborted_offset_does_not_count():
    gone = batch(0, pairs=[commit("gone"), (commit("gone")[0], None)])
    aborted = batch(2, pairs=[commit("late")], kind=TRANSACTIONAL, producer=7)
    marker = batch(3, pairs=[(b"\0\0\0\0", b"\0\0\0\0\0\0")], kind=TRANSACTIONAL | CONTROL, producer=7)
    log = read(fetched(gone + aborted + marker), part())
    assert log.groups == ()


def test_a_log_that_is_not_served_to_its_end_is_not_whole():
    log = read(fetched(batch(0, pairs=[commit("pay")])), part(end=9))
    assert (log.end, log.whole) == (1, False)
    assert not read(fetched(batch(3, pairs=[commit("pay")])), part(first=3)).whole
    assert read(fetched(b"", error=29), part()).error == "TOPIC_AUTHORIZATION_FAILED"


def bounds(end, stable, start=0):
    """A broker whose partition begins at `start`, ends at `end` and is stable up to `stable`."""
    topic, answers = consumer.ListOffsetsResponse.ListOffsetsTopicResponse, [start, end, stable]

    def respond(*_):
        partition = topic.ListOffsetsPartitionResponse(
            partition_index=3, error_code=0, timestamp=-1, offset=answers.pop(0), leader_epoch=0
        )
        return consumer.ListOffsetsResponse(
            throttle_time_ms=0, topics=[topic(name=OFFSETS_TOPIC, partitions=[partition])]
        )

    return FakeBroker({2: respond})


def asked(broker, listed=(), wanted=()):
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        parts, strange, _ = ask_parts(line, (TP,), listed, wanted, Deadline.after(5))
    assert strange == []
    return [each.first for each in parts]


def test_nothing_is_read_where_a_group_is_listed_and_no_transaction_is_open():
    assert asked(bounds(1000, 1000), listed={3}) == []
    assert asked(bounds(7, 7, start=7)) == []


def test_each_doubt_reads_its_part():
    assert asked(bounds(1000, 900), listed={3}) == [900]
    assert asked(bounds(1000, 1000)) == [750]
    assert asked(bounds(90_000, 90_000), listed={3}, wanted={3}) == [70_000]
    assert asked(bounds(90_000, 100), listed={3}, wanted={3}) == [100]


def test_a_partition_without_a_leader_keeps_its_replicas_with_the_isr_first():
    well, stuck = base().snapshot(), coordinator_stuck().snapshot()
    leader, replicas = coordinators(well.zookeeper, well.views, 50)[G2]
    assert leader == replicas[0]
    assert coordinators(stuck.zookeeper, stuck.views, 50)[G2][0] == -1
    assert coordinators(stuck.zookeeper, stuck.views, 50)[G2][1][0] in stuck.zookeeper.states[G2].isr
    assert coordinators(None, {}, 0) == {}


@pytest.mark.parametrize("times", [1, 3, 1000])
def test_a_new_leader_that_withholds_its_offsets_is_asked_again(times):
    topic, refusals = consumer.ListOffsetsResponse.ListOffsetsTopicResponse, [78] * (3 * times)

    def respond(*_):
        error = refusals.pop() if refusals else 0
        partition = topic.ListOffsetsPartitionResponse(
            partition_index=3, error_code=error, timestamp=-1, offset=-1 if error else 0, leader_epoch=0
        )
        return consumer.ListOffsetsResponse(
            throttle_time_ms=0, topics=[topic(name=OFFSETS_TOPIC, partitions=[partition])]
        )

    with FakeBroker({2: respond}).listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        _, strange, withheld = ask_parts(line, (TP,), (), (), Deadline.after(5))
    assert strange == withheld == ([TP] if times == 1000 else [])


def test_a_leader_that_keeps_withholding_its_offsets_is_noted_although_its_log_is_read_from_it():
    topic = consumer.ListOffsetsResponse.ListOffsetsTopicResponse

    def respond(_, body):
        follower = body.i32() == DEBUGGING_REPLICA
        row = topic.ListOffsetsPartitionResponse(
            partition_index=3,
            error_code=0 if follower else 78,
            timestamp=-1,
            offset=9 if follower else -1,
            leader_epoch=0,
        )
        if follower and body.data[-8:] == b"\xff" * 7 + b"\xfe":
            row.offset = 0
        return consumer.ListOffsetsResponse(throttle_time_ms=0, topics=[topic(name=OFFSETS_TOPIC, partitions=[row])])

    def nothing(*_):
        return consumer.FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=[])

    broker = FakeBroker({2: respond, 1: nothing}, ALL_VERSIONS | {1: (0, 11)})
    questions = Questions()
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        found = read_logs(Brokers(questions, {1: line}, Deadline.after(5)), {TP: (1, (1,))}, (), ())
    assert [(log.withheld, log.log_end) for log in found] == [(True, 9)]
    [failed] = [source for source in questions.sources() if not source.ok]
    assert failed.error == f"{TP}: its leader returns no offsets (OFFSET_NOT_AVAILABLE)"


@pytest.mark.parametrize(
    ("stable", "listed", "wanted", "noted"),
    [(5, (3,), (), True), (9, (), (), True), (9, (3,), (3,), False)],
    ids=["open transaction", "no listed group", "only asked for"],
)
def test_an_offsets_log_in_doubt_that_must_not_be_read_is_a_source_that_failed(stable, listed, wanted, noted):
    topic = consumer.ListOffsetsResponse.ListOffsetsTopicResponse

    def offsets(_, body):
        isolation, first = (body.i32(), body.i8())[1], body.data[-8:] == b"\xff" * 7 + b"\xfe"
        row = topic.ListOffsetsPartitionResponse(
            partition_index=3, error_code=0, timestamp=-1, offset=0 if first else stable if isolation else 9
        )
        return consumer.ListOffsetsResponse(throttle_time_ms=0, topics=[topic(name=OFFSETS_TOPIC, partitions=[row])])

    def refused(*_):
        response = consumer.FetchResponse.FetchableTopicResponse
        row = response.PartitionData(
            partition_index=3,
            error_code=29,
            high_watermark=-1,
            last_stable_offset=-1,
            log_start_offset=-1,
            records=None,
        )
        return consumer.FetchResponse(
            throttle_time_ms=0, error_code=0, session_id=0, responses=[response(topic=OFFSETS_TOPIC, partitions=[row])]
        )

    broker = FakeBroker({2: offsets, 1: refused}, ALL_VERSIONS | {1: (0, 11)})
    questions = Questions()
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        read_logs(Brokers(questions, {1: line}, Deadline.after(5)), {TP: (1, (1,))}, listed, wanted)
    failed = with_rights([source for source in questions.sources() if not source.ok], "User:kfix")
    grant = "kafka-acls.sh --add --allow-principal 'User:kfix' --operation Read --topic '*'"
    why = f"{TP}: TOPIC_AUTHORIZATION_FAILED (missing right: Read for User:kfix; {grant})"
    assert [(each.name, each.error) for each in failed] == ([("offsets log 3", why)] if noted else [])
