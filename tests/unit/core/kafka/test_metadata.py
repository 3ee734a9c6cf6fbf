"""Decoding what several brokers have in common only once changes no response."""

import random
import struct

import pytest

from kfix.core.errors import KfixError
from kfix.core.kafka.codec import ByteReader, ProtocolError, encoder
from kfix.core.kafka.metadata import HEAD, Shared, decoded
from kfix.core.snapshot.snapshot import PartitionView, TopicPartition
from tests.each import for_each
from tests.wire import Writer


def ids(w, values):
    return w.array(values, lambda w, value: w.i32(value))


WITH_IDS = (
    f"{HEAD} topics:[_error:i16 name:str id:uuid _internal:bool partitions:[error:i16 index:i32 leader:i32 epoch:i32 "
    "replicas:i32s isr:i32s offline:i32s] _operations:i32] _operations:i32"
)


def response_with_ids(topics, *, controller=1):
    """Returns the same as the bytes of Metadata v10; an id is made of the topic's name."""
    rows = [(name, name.encode().rjust(16, b"-"), partitions) for name, partitions in topics]
    return encoder(WITH_IDS, 10, flexible=True).write(([(1, "h", 9092, "a")], "c", controller, rows))


def response(topics, *, controller=1):
    """Returns the bytes of Metadata v7; `topics` are (name, [(error, partition, leader, epoch, three lists)])."""

    def partition(w, row):
        error, index, leader, epoch, *lists = row
        w.i16(error).i32(index).i32(leader).i32(epoch)
        for each in lists:
            ids(w, each)

    def topic(w, item):
        w.i16(0).string(item[0]).i8(0).array(item[1], partition)

    w = Writer().i32(0).array([1, 2], lambda w, b: w.i32(b).string("h").i32(9092).string("a")).string("c")
    return w.i32(controller).array(topics, topic).done()


def expected(topics):
    return {
        TopicPartition(name, index): PartitionView(leader, epoch, tuple(replicas), tuple(isr), tuple(offline), error)
        for name, rows in topics
        for error, index, leader, epoch, replicas, isr, offline in rows
    }


def cluster(chance):
    def row(index):
        replicas = chance.sample(range(5), chance.choice([1, 3, 3, 3, 5]))
        isr = chance.sample(replicas, chance.randrange(len(replicas) + 1))
        offline = [b for b in replicas if b == 4]
        leader = chance.choice([*isr, -1])
        return (5 if leader < 0 else 0, index, leader, chance.randrange(3), replicas, isr, offline)

    return [(f"t{n}", [row(index) for index in range(chance.randrange(9))]) for n in range(chance.randrange(1, 40))]


def moved(topics, chance):
    """Returns the cluster as another broker sees it: other rows here and there, topics missing or in another order."""
    changed = [
        (name, [(*row[:3], row[3] + (chance.random() < 0.1), *row[4:]) for row in rows])
        for name, rows in topics
        if chance.random() < 0.95
    ]
    if chance.random() < 0.5:
        chance.shuffle(changed)
    return changed


@for_each("seed", range(60))
def test_responses_of_several_brokers_are_decoded_as_each_alone(seed):
    chance = random.Random(seed)
    first = cluster(chance)
    shared = Shared()
    for topics in (first, first, moved(first, chance), moved(first, chance), cluster(chance)):
        # Brokers of several versions, as in the middle of an upgrade.
        for version, made in chance.sample([(7, response), (10, response_with_ids)], 2):
            raw = made(topics, controller=chance.randrange(3))
            found, alone = (decoded(ByteReader(raw), known, version) for known in (shared, None))
            assert found == alone
            assert list(found.partitions.items()) == list(alone.partitions.items())
            assert found.partitions == expected(topics)
            assert found.topic_ids.keys() == ({name for name, _ in topics} if version == 10 else set())


def test_a_cluster_without_topics_is_decoded_for_every_broker():
    shared, raw = Shared(), response([])
    assert [decoded(ByteReader(raw), shared).partitions for _ in range(3)] == [{}, {}, {}]


def test_equal_responses_share_one_mapping_and_equal_rows_one_object():
    rows = [(0, index, 1, 7, [1, 2, 3], [1, 2, 3], []) for index in range(20)]
    shared = Shared()
    one, two = (
        decoded(ByteReader(response([("a", rows), ("b", rows)], controller=c)), shared).partitions for c in (1, 2)
    )
    assert one is two
    assert len({id(view) for view in one.values()}) == 1
    other = decoded(ByteReader(response([("b", rows), ("a", rows)])), shared).partitions
    assert list(other) != list(one)
    assert {id(tp) for tp in other} == {id(tp) for tp in one}


@for_each("seed", range(40))
def test_a_damaged_response_after_a_good_one_is_an_error_or_what_it_contains(seed):
    chance = random.Random(seed)
    shared = Shared()
    version, made = chance.choice([(7, response), (10, response_with_ids)])
    raw = made(cluster(chance))
    decoded(ByteReader(raw), shared, version)
    for _ in range(60):
        at = chance.randrange(len(raw))
        bent = raw[:at] if chance.random() < 0.4 else raw[:at] + bytes([chance.randrange(256)]) + raw[at + 1 :]
        outcomes = []
        for known in (shared, None):
            try:
                outcomes.append(decoded(ByteReader(bent), known, version))
            except KfixError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


def test_brokers_without_a_topic_agree_too():
    shared = Shared()
    for controller in (1, 2, 3):
        found = decoded(ByteReader(response([], controller=controller)), shared)
        assert (found.controller, found.partitions) == (controller, {})


def test_an_impossible_count_is_not_the_protocol_even_after_good_rows():
    good = response([("t", [(0, 0, 1, 1, [1, 2], [1, 2], [])])])
    shared = Shared()
    decoded(ByteReader(good), shared)
    bad = good.replace(struct.pack(">iii", 2, 1, 2), struct.pack(">iii", -7, 1, 2), 1)
    assert bad != good
    with pytest.raises(ProtocolError):
        decoded(ByteReader(bad), shared)
