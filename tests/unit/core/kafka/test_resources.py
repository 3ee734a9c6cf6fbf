"""Configs, log directories and searched offsets on the wire, against the classes that kafka-python generates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol import admin, consumer, producer
from kafka.protocol import metadata as meta

from kfix.core.kafka import group_messages, requests
from kfix.core.kafka.requests import LogDirUsage, PartitionOffset, PartitionResult
from kfix.core.snapshot.snapshot import TopicPartition
from tests.unit.core.kafka.test_codec_against_kafka_python import answer, names, same

sizes = st.integers(0, 2**60)


@given(names, st.dictionaries(names, st.one_of(st.none(), names), max_size=4))
def test_alter_configs_request_has_the_same_bytes(name, changes):
    resource = admin.IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [
        resource.AlterableConfig(name=key, config_operation=1 if text is None else 0, value=text)
        for key, text in changes.items()
    ]
    same(
        requests.alter_configs(requests.TOPIC_RESOURCE, name, changes),
        admin.IncrementalAlterConfigsRequest(
            resources=[resource(resource_type=2, resource_name=name, configs=configs)], validate_only=False
        ),
    )


@pytest.mark.parametrize("with_room", [False, True])
def test_describe_log_dirs_request_has_the_same_bytes(with_room):
    same(requests.describe_log_dirs(with_room=with_room), admin.DescribeLogDirsRequest(topics=None))


@given(names, st.integers(0, 9), st.integers(-3, 2**62), st.integers(0, 1))
def test_list_offsets_request_of_a_consumer_has_the_same_bytes(name, index, when, isolation):
    topic = consumer.ListOffsetsRequest.ListOffsetsTopic
    partition = topic.ListOffsetsPartition(partition_index=index, current_leader_epoch=-1, timestamp=when)
    same(
        requests.list_offsets((TopicPartition(name, index),), when, replica=-1, isolation=isolation),
        consumer.ListOffsetsRequest(
            replica_id=-1, isolation_level=isolation, topics=[topic(name=name, partitions=[partition])]
        ),
    )


@given(st.integers(-1, 90), sizes, sizes, st.integers(-1, 99))
def test_list_offsets_answer_shows_time_and_epoch(error, when, offset, epoch):
    topic = consumer.ListOffsetsResponse.ListOffsetsTopicResponse
    partition = topic.ListOffsetsPartitionResponse(
        partition_index=3, error_code=error, timestamp=when, offset=offset, leader_epoch=epoch
    )
    said = answer(consumer.ListOffsetsResponse(topics=[topic(name="t", partitions=[partition])]), 5)
    assert requests.list_offsets((), 0).decode(said) == {
        TopicPartition("t", 3): PartitionOffset(error, offset, when, epoch)
    }


@given(names, st.integers(0, 9), st.integers(0, 2**31 - 1))
def test_the_end_of_an_epoch_is_asked_for_with_the_same_bytes(name, index, epoch):
    topic = consumer.OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    partition = topic.OffsetForLeaderPartition(partition=index, current_leader_epoch=-1, leader_epoch=epoch)
    same(
        requests.epoch_ends({TopicPartition(name, index): epoch}),
        consumer.OffsetForLeaderEpochRequest(topics=[topic(topic=name, partitions=[partition])]),
    )


@given(st.integers(-1, 90), sizes, st.integers(-1, 99))
def test_the_end_of_an_epoch_is_reported_with_the_epoch_it_is_of(error, end, epoch):
    topic = consumer.OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    partition = topic.EpochEndOffset(error_code=error, partition=3, leader_epoch=epoch, end_offset=end)
    said = answer(consumer.OffsetForLeaderEpochResponse(topics=[topic(topic="t", partitions=[partition])]), 2)
    assert requests.epoch_ends({}).decode(said) == {TopicPartition("t", 3): PartitionOffset(error, end, -1, epoch)}


def log_dirs_message(name, size, usable, error):
    result = admin.DescribeLogDirsResponse.DescribeLogDirsResult
    topic = result.DescribeLogDirsTopic
    partitions = [
        topic.DescribeLogDirsPartition(partition_index=p, partition_size=s, offset_lag=0, is_future_key=future)
        for p, s, future in ((0, size, False), (1, 7, False), (1, 5, True))
    ]
    good = result(
        error_code=0,
        log_dir="/d",
        topics=[topic(name=name, partitions=partitions)],
        total_bytes=9,
        usable_bytes=usable,
    )
    bad = result(error_code=error, log_dir="/bad", topics=[], total_bytes=-1, usable_bytes=-1)
    return admin.DescribeLogDirsResponse(throttle_time_ms=0, error_code=error, results=[good, bad])


@given(names, sizes, st.integers(-1, 2**60), st.integers(0, 90))
def test_log_dirs_answers_of_both_versions_are_read_whole(name, size, usable, error):
    held = {TopicPartition(name, 0): size, TopicPartition(name, 1): 12}
    message = log_dirs_message(name, size, usable, error)
    found = requests.describe_log_dirs(with_room=False).decode(answer(message, 1))
    assert found == (0, [LogDirUsage("/d", 0, held), LogDirUsage("/bad", error, {})])
    room = usable if usable >= 0 else None
    assert requests.describe_log_dirs(with_room=True).decode(answer(message, 4)) == (
        error,
        [LogDirUsage("/d", 0, held, room, 9), LogDirUsage("/bad", error, {})],
    )


@given(st.integers(0, 90), st.one_of(st.none(), names))
def test_the_answer_to_altered_configs_carries_the_resources_own_error(error, message):
    resource = admin.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    said = answer(
        admin.IncrementalAlterConfigsResponse(
            throttle_time_ms=0,
            responses=[resource(error_code=error, error_message=message, resource_type=2, resource_name="t")],
        ),
        0,
    )
    assert requests.alter_configs(2, "t", {}).decode(said) == PartitionResult(error, message or "")


def test_an_empty_answer_to_a_change_is_unknown_and_not_accepted():
    said = answer(admin.IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=[]), 0)
    assert requests.alter_configs(2, "t", {}).decode(said).error == -1


def test_configs_answer_shows_each_source_and_hides_what_is_sensitive():
    result = admin.DescribeConfigsResponse.DescribeConfigsResult
    configs = [
        result.DescribeConfigsResourceResult(
            name=key, value=text, read_only=False, config_source=source, is_sensitive=secret, synonyms=[]
        )
        for key, text, source, secret in (("a", "1", 1, False), ("b", "2", 5, False), ("c", None, 4, True))
    ]
    message = admin.DescribeConfigsResponse(
        throttle_time_ms=0,
        results=[result(error_code=0, error_message=None, resource_type=2, resource_name="t", configs=configs)],
    )
    [said] = requests.describe_configs(2, (), None).decode(answer(message, 1))
    assert (said.values, said.sources) == ({"a": "1", "b": "2"}, {"a": 1, "b": 5, "c": 4})
    assert said.defaults == {}


def test_configs_answer_with_synonyms_shows_what_the_program_itself_would_do():
    result = admin.DescribeConfigsResponse.DescribeConfigsResult
    row = result.DescribeConfigsResourceResult
    configs = [
        row(
            name="a",
            value="2.7",
            read_only=True,
            config_source=4,
            is_sensitive=False,
            synonyms=[
                row.DescribeConfigsSynonym(name="a", value="2.7", source=4),
                row.DescribeConfigsSynonym(name="a", value="3.9-IV0", source=5),
            ],
        )
    ]
    message = admin.DescribeConfigsResponse(
        throttle_time_ms=0,
        results=[result(error_code=0, error_message=None, resource_type=4, resource_name="1", configs=configs)],
    )
    [said] = requests.describe_configs(2, (), None).decode(answer(message, 1))
    assert (said.values, said.sources, said.defaults) == ({"a": "2.7"}, {"a": 4}, {"a": "3.9-IV0"})


def test_a_reader_may_snapshot_at_log_directories_and_may_not_alter_configs():
    assert requests.DESCRIBE_LOG_DIRS.reads
    assert not requests.INCREMENTAL_ALTER_CONFIGS.reads


@given(names, st.integers(0, 9))
def test_describe_log_dirs_of_named_partitions_has_the_same_bytes(name, index):
    topic = admin.DescribeLogDirsRequest.DescribableLogDirTopic(topic=name, partitions=[index])
    asked = requests.describe_log_dirs(with_room=False, tps=(TopicPartition(name, index),))
    same(asked, admin.DescribeLogDirsRequest(topics=[topic]))


@given(names, st.integers(0, 2**40), st.integers(0, 2**15 - 1), st.integers(1, 900_000))
def test_taking_a_transactional_id_over_has_the_same_bytes(name, producer_id, epoch, timeout):
    same(
        group_messages.init_producer_id(name, producer_id, epoch, timeout),
        producer.InitProducerIdRequest(
            transactional_id=name, transaction_timeout_ms=timeout, producer_id=producer_id, producer_epoch=epoch
        ),
    )
    same(group_messages.find_transaction_coordinator(name), meta.FindCoordinatorRequest(key=name, key_type=1))


@pytest.mark.parametrize(("code", "said"), [(0, 0), (51, 0), (47, 47), (53, 53)])
def test_a_coordinator_that_has_begun_to_abort_accepts_the_request(code, said):
    message = producer.InitProducerIdResponse(throttle_time_ms=0, error_code=code, producer_id=-1, producer_epoch=-1)
    asked = group_messages.init_producer_id("t", 1, 0, 1)
    found = asked.decode(answer(message, asked.version))
    assert found.error == said
    assert bool(found.message) == (code == 51)
