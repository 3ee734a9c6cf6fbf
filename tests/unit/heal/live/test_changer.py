"""Configs, logs and changes of them over real sockets, with brokers that answer as kafka-python encodes."""

import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from kafka.protocol import admin, consumer, producer
from kafka.protocol.consumer import group as group_api

from kfix.core.errors import UnreachableError
from kfix.core.kafka import kraft_messages, questions
from kfix.core.kafka.codec import ByteReader
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.security import Security
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.reading import ConfigValue, LogDirs, LogTail, NodeRole, ResourceKind, StableEnd
from kfix.core.snapshot.snapshot import ClusterIdentity, ControllerNode, Mode, TopicPartition
from kfix.core.snapshot.transactions import OpenBatch
from kfix.core.snapshot.voters import Joining
from kfix.core.target import Target
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import parse_connect
from kfix.heal.live.changer import LiveChanger
from kfix.heal.live.reader import MarkerForm
from tests.unit.core.fake_broker import ALL_VERSIONS, FakeBroker, configs, metadata
from tests.wire import Writer

TP = TopicPartition("t", 0)
VOTER_APIS = {18: (0, 3), 55: (0, 0), 80: (0, 0), 81: (0, 0)}
TOPIC, BROKER = ResourceKind.TOPIC, ResourceKind.BROKER


def ask(broker, question, *args):
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        return question(line, *args, Deadline.after(3))


# -- configs


@pytest.mark.parametrize(("kind", "own"), [(TOPIC, "1"), (BROKER, "2")])
def test_a_value_is_the_resources_own_by_its_source_alone(kind, own):
    sources = [(str(n), "x", n, False) for n in (1, 2, 3, 4, 5)]
    said = ask(configs(*sources), questions.ask_configs_of, kind, "7", ("1", "2", "3", "4", "5"))
    assert {key for key, value in said.items() if value.own} == {own}


def test_what_kafka_hides_is_there_without_its_value_and_what_was_not_asked_is_not():
    broker = configs(("secret", "s3cret", 4, True), ("rack", None, 5, False), ("other", "1", 5, False))
    said = ask(broker, questions.ask_configs_of, BROKER, "1", ("secret", "rack", "missing"))
    assert said == {"secret": ConfigValue(None, own=False), "rack": ConfigValue(None, own=False)}


def test_a_resource_that_is_not_there_is_an_error():
    broker = configs(error=3, message="no such topic")
    with pytest.raises(UnreachableError, match="configs of topic t: UNKNOWN_TOPIC_OR_PARTITION no such topic"):
        ask(broker, questions.ask_configs_of, TOPIC, "t", ("a",))


# -- log directories


def dirs(*results, top=0, highest=2):
    result = admin.DescribeLogDirsResponse.DescribeLogDirsResult
    topic = result.DescribeLogDirsTopic

    def one(path, error, size, usable):
        partition = topic.DescribeLogDirsPartition(
            partition_index=0, partition_size=size, offset_lag=0, is_future_key=False
        )
        topics = [] if size is None else [topic(name="t", partitions=[partition])]
        return result(error_code=error, log_dir=path, topics=topics, total_bytes=99, usable_bytes=usable)

    message = admin.DescribeLogDirsResponse(throttle_time_ms=0, error_code=top, results=[one(*r) for r in results])
    return FakeBroker({35: lambda *_: message}, {**ALL_VERSIONS, 35: (0, highest)})


def test_room_is_reported_only_where_the_broker_can():
    old, new = dirs(("/a", 0, 5, 70)), dirs(("/a", 0, 5, 70), ("/b", 0, 4, 30), highest=4)
    assert ask(old, questions.ask_log_dirs, 1) == LogDirs({TP: 5}, None)
    assert ask(new, questions.ask_log_dirs, 1) == LogDirs({TP: 9}, 100)
    assert (old.asked, new.asked) == ([(35, 1)], [(35, 4)])


def test_room_of_which_one_directory_is_unknown_is_unknown():
    assert ask(dirs(("/a", 0, 5, 70), ("/b", 0, None, -1), highest=4), questions.ask_log_dirs, 1).free is None


def test_a_failed_directory_is_left_out_while_another_answers():
    broker = dirs(("/a", 0, 5, 70), ("/bad", 56, None, -1), highest=4)
    assert ask(broker, questions.ask_log_dirs, 1) == LogDirs({TP: 5}, 70)


@pytest.mark.parametrize(
    ("broker", "words"),
    [
        (dirs(("/bad", 56, None, -1)), "broker 1: log directory /bad: KAFKA_STORAGE_ERROR"),
        (dirs(), "lists no log directories: the DESCRIBE permission on CLUSTER is required"),
        (dirs(("/a", 0, 5, 70), top=31, highest=4), "CLUSTER_AUTHORIZATION_FAILED"),
    ],
)
def test_log_directories_that_cannot_be_read_are_an_error_with_its_reason(broker, words):
    with pytest.raises(UnreachableError, match=words):
        ask(broker, questions.ask_log_dirs, 1)


# -- log tails and stable ends


def offsets_answer(index, error, when, offset, epoch):
    topic = consumer.ListOffsetsResponse.ListOffsetsTopicResponse
    partition = topic.ListOffsetsPartitionResponse(
        partition_index=index, error_code=error, timestamp=when, offset=offset, leader_epoch=epoch
    )
    return consumer.ListOffsetsResponse(throttle_time_ms=0, topics=[topic(name="t", partitions=[partition])])


def replica(log, *, start=0, error=0):
    """`log` is [(timestamp, epoch)]; answers a search by time as Kafka does: the first record that is not older."""

    def answer(_version, frame):
        assert (frame.i32(), frame.i8()) == (-2, 0)
        frame.array(
            lambda: (frame.string(), frame.array(lambda: found.append((frame.i32(), frame.i32(), frame.i64()))))
        )
        when = found.pop()[2]
        if error or when == -1:
            return offsets_answer(0, error, -1, -1 if error else start + len(log), 77)
        if when == -2:
            return offsets_answer(0, 0, -1, start, 77)
        hit = next(((start + n, t, e) for n, (t, e) in enumerate(log) if t >= when), None)
        return offsets_answer(0, 0, -1, -1, -1) if hit is None else offsets_answer(0, 0, hit[1], hit[0], hit[2])

    found = []
    return FakeBroker({2: answer})


NOW = int(time.time() * 1000)


@pytest.mark.parametrize(
    ("log", "tail"),
    [
        ([], LogTail(5, 5, -1)),
        ([(NOW, 3)], LogTail(5, 6, 3)),
        ([(NOW - 9000 + n, n // 10) for n in range(95)], LogTail(5, 100, 9)),
        ([(1000, 0), (1000, 1), (1000, 2)], LogTail(5, 8, 0)),  # one time for all: a lower bound
        ([(NOW, 7), (NOW - 50_000, 8)], LogTail(5, 7, 7)),  # a clock that ran backwards: a lower bound
        ([(-1, 4), (-1, 4)], LogTail(5, 7, -1)),  # records without a time
        ([(NOW + 10**9, 6)], LogTail(5, 6, 6)),
    ],
)
def test_the_last_records_epoch_is_searched_for_by_time(log, tail):
    broker = replica(log, start=5)
    assert ask(broker, questions.ask_log_tail, TP) == tail
    assert len(broker.asked) <= 45


def test_a_replica_that_is_not_there_has_a_tail_that_states_it():
    assert ask(replica([], error=3), questions.ask_log_tail, TP).error == "UNKNOWN_TOPIC_OR_PARTITION"


def leader(answers):
    def answer(_version, frame):
        assert frame.i32() == -1
        return offsets_answer(0, *answers[frame.i8()])

    return FakeBroker({2: answer})


def test_the_stable_end_is_asked_as_a_consumer_with_both_isolations():
    broker = leader({0: (0, -1, 9, 1), 1: (0, -1, 4, 1)})
    assert ask(broker, questions.ask_stable_end, TP) == StableEnd(stable=4, high_watermark=9)
    with pytest.raises(UnreachableError, match="t-0: NOT_LEADER_OR_FOLLOWER"):
        ask(leader({0: (6, -1, -1, -1), 1: (6, -1, -1, -1)}), questions.ask_stable_end, TP)


# -- changes


class Reader:
    def __init__(self, addresses, controller=1, coordinator=1, kraft_epoch=-1, newer=True):
        self.kraft_epoch = kraft_epoch
        self.newer = newer
        self.addresses = addresses
        self._controller = controller
        self._coordinator = coordinator

    def door(self):
        return self._controller

    def controller(self):
        return ControllerNode(self._controller, 0, 0, 1, 1, 0, self.kraft_epoch)

    def identity(self):
        return ClusterIdentity("mine", Mode.ZOOKEEPER, "b:1", "z:1")

    def address(self, broker):
        return self.addresses.get(broker)

    def coordinator(self, group):
        if self._coordinator is None:
            raise UnreachableError(f"group {group}: its coordinator does not answer")
        return self._coordinator

    def marker(self, *_):
        if self._controller is None:
            raise UnreachableError("t-0: has no leader")
        return MarkerForm(self._controller, self.newer, 2)

    def transaction_coordinator(self, _):
        if self._controller is None:
            raise UnreachableError("FindCoordinator: COORDINATOR_NOT_AVAILABLE")
        return self._controller


def altering(error=0, message=None, *, answers=True):
    resource = admin.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    said = resource(error_code=error, error_message=message, resource_type=2, resource_name="t")
    response = admin.IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=[said])
    return FakeBroker({44: lambda *_: response if answers else None})


def alter(broker, kind=TOPIC, name="t", **options):
    with broker.listening() as endpoint:
        reader = Reader({1: endpoint}, **options)
        return LiveChanger(Target(()), parse_connect("z:1"), reader).alter_configs(kind, name, {"a": "1"})


@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "t"), (BROKER, "1")])
def test_nothing_is_sent_while_a_kraft_controller_owns_what_zookeeper_records(kind, name):
    broker = altering()
    result = alter(broker, kind, name, kraft_epoch=5)
    assert (result.name, broker.asked) == ("NOT_SENT", [])
    assert "a migration from ZooKeeper to KRaft is under way" in result.message
    again = LiveChanger(Target(()), parse_connect("z:1"), Reader({}, kraft_epoch=5)).reelect_controller(epoch_version=1)
    assert again == result


def test_the_line_is_proved_before_configs_are_altered():
    broker = altering()
    assert alter(broker).accepted
    assert broker.asked == [(3, 7), (44, 0)]


def test_the_resources_own_error_is_the_result():
    result = alter(altering(42, "Invalid value"))
    assert (result.code, result.name, result.message) == (42, "INVALID_REQUEST", "Invalid value")


def test_configs_of_another_cluster_are_not_altered():
    broker = FakeBroker({3: lambda *_: metadata("theirs")})
    assert (alter(broker).name, broker.asked) == ("NOT_SENT", [(3, 7)])


def test_a_lost_answer_to_altered_configs_is_unknown_and_not_asked_again():
    broker = altering(answers=False)
    assert alter(broker).unknown
    assert broker.asked.count((44, 0)) == 1


@pytest.mark.parametrize(("kind", "name", "controller"), [(BROKER, "2", 1), (BROKER, "all", 1), (TOPIC, "t", None)])
def test_a_change_without_an_endpoint_is_not_sent(kind, name, controller):
    broker = altering()
    assert alter(broker, kind, name, controller=controller).code > 0
    assert broker.asked == []


def leaving(code=0, *, answers=True):
    said = group_api.LeaveGroupResponse.MemberResponse(member_id="m-1", group_instance_id=None, error_code=code)
    response = group_api.LeaveGroupResponse(throttle_time_ms=0, error_code=0, members=[said])
    return FakeBroker({13: lambda *_: response if answers else None})


def evict(broker, **options):
    with broker.listening() as endpoint:
        reader = Reader({1: endpoint}, **options)
        return LiveChanger(Target(()), parse_connect("z:1"), reader).evict_member("g", "m-1", "")


def test_a_member_is_removed_by_its_coordinator_with_one_request():
    broker = leaving()
    assert evict(broker).accepted
    assert broker.asked == [(3, 7), (13, 3)]


def test_a_member_that_is_gone_is_an_error_and_a_lost_answer_is_unknown_and_not_asked_again():
    result = evict(leaving(25))
    assert (result.code, result.name, result.message) == (25, "UNKNOWN_MEMBER_ID", "member m-1")
    silent = leaving(answers=False)
    assert evict(silent).unknown
    assert silent.asked.count((13, 3)) == 1


def test_without_a_coordinator_no_member_is_removed():
    broker = leaving()
    result = evict(broker, coordinator=None)
    assert (result.name, result.accepted, result.unknown, broker.asked) == ("NOT_SENT", False, False, [])


BOTH = ((0, None), (1, StoredOffset(5)))


def commit(deleting, storing, offsets=BOTH, **options):
    """Returns the result, and what the coordinator was asked. Where a code is None, it hangs up."""
    deleted, stored = group_api.OffsetDeleteResponse, group_api.OffsetCommitResponse
    of_deleted, of_stored = deleted.OffsetDeleteResponseTopic, stored.OffsetCommitResponseTopic
    gone = of_deleted.OffsetDeleteResponsePartition(partition_index=0, error_code=deleting or 0)
    made = of_stored.OffsetCommitResponsePartition(partition_index=1, error_code=storing or 0)
    answers = {
        47: (deleting, deleted(error_code=0, throttle_time_ms=0, topics=[of_deleted(name="t", partitions=[gone])])),
        8: (storing, stored(throttle_time_ms=0, topics=[of_stored(name="t", partitions=[made])])),
    }
    said = {key: None if code is None else message for key, (code, message) in answers.items()}
    broker = FakeBroker({key: lambda *_, message=message: message for key, message in said.items()})
    with broker.listening() as endpoint:
        changer = LiveChanger(Target(()), parse_connect("z:1"), Reader({1: endpoint}, **options))
        result = changer.commit_offsets("g", {TopicPartition("t", n): each for n, each in offsets})
    return result, [key for key, _ in broker.asked if key != 3]


@pytest.mark.parametrize(
    ("deleting", "storing", "code", "asked"),
    [(0, 0, 0, [47, 8]), (69, 0, 69, [47]), (None, 0, -1, [47]), (0, 25, -1, [47, 8]), (0, None, -1, [47, 8])],
    ids=["both", "the deletion is refused", "its answer is lost", "the commit is refused", "its answer is lost, too"],
)
def test_offsets_are_deleted_first_and_what_stays_half_done_is_unknown(deleting, storing, code, asked):
    result, sent = commit(deleting, storing)
    assert (result.code, sent) == (code, asked)


def test_a_commit_without_a_deletion_is_one_request_and_a_refusal_changes_nothing():
    result, sent = commit(0, 25, [(1, StoredOffset(0))])
    assert (result.code, sent) == (25, [8])
    assert commit(0, 0, [(0, None)])[1] == [47]
    result, sent = commit(0, 0, coordinator=None)
    assert (result.name, sent) == ("NOT_SENT", [])


def abort(error=0, **options):
    """Returns the result, and what the coordinator was asked."""
    response = producer.InitProducerIdResponse(throttle_time_ms=0, error_code=error, producer_id=-1, producer_epoch=-1)
    broker = FakeBroker({22: lambda *_: response})
    with broker.listening() as endpoint:
        changer = LiveChanger(Target(()), parse_connect("z:1"), Reader({1: endpoint}, **options))
        return changer.abort_transaction("ledger", 4000, 3, 60_000), broker.asked


@pytest.mark.parametrize(("error", "accepted"), [(0, True), (51, True), (47, False)])
def test_a_transaction_is_aborted_by_its_coordinator_with_one_request(error, accepted):
    result, asked = abort(error)
    assert (result.accepted, asked) == (accepted, [(3, 7), (22, 3)])


def end(error=0, *, newer=True, form=True):
    """Returns the result, and what the leader was asked."""
    marker = producer.WriteTxnMarkersResponse.WritableTxnMarkerResult
    topic = marker.WritableTxnMarkerTopicResult
    row = topic.WritableTxnMarkerPartitionResult(partition_index=TP.partition, error_code=error)
    response = producer.WriteTxnMarkersResponse(
        markers=[marker(producer_id=4000, topics=[topic(name=TP.topic, partitions=[row])])]
    )
    broker = FakeBroker({27: lambda *_: response})
    with broker.listening() as endpoint:
        reader = Reader({1: endpoint}, controller=1 if form else None, newer=newer)
        changer = LiveChanger(Target(()), parse_connect("z:1"), reader)
        return changer.end_transaction(TP, "ledger", OpenBatch(5, 4000, 3, 0), commit=True), broker.asked


@pytest.mark.parametrize(("error", "accepted"), [(0, True), (31, False), (52, False)])
def test_a_hanging_transaction_is_ended_by_the_leader_with_one_request(error, accepted):
    result, asked = end(error)
    assert (result.accepted, asked) == (accepted, [(3, 7), (27, 1)])
    assert ("ClusterAction" in result.message) == (error == 31)


def test_a_leader_that_has_no_newer_version_gets_the_older_one():
    assert end(newer=False)[1] == [(3, 7), (27, 0)]


def test_without_a_leader_no_marker_is_sent():
    result, asked = end(form=False)
    assert (result.name, asked) == ("NOT_SENT", [])


def test_without_a_transaction_coordinator_nothing_is_sent():
    result, asked = abort(controller=None)
    assert (result.name, asked) == ("NOT_SENT", [])


def test_with_zookeeper_no_registration_is_removed():
    broker = FakeBroker({})
    with broker.listening() as endpoint:
        result = LiveChanger(Target(()), parse_connect("z:1"), Reader({1: endpoint})).unregister_broker(4)
    assert (result.name, broker.asked) == ("NOT_SENT", [])


def test_metadata_version_is_raised_by_one_feature_and_each_refusal_is_read():
    request = kraft_messages.update_feature("metadata.version", 30, 4000)
    sent = Writer().i32(4000).uvarint(2).compact_string("metadata.version").i16(30).i8(1).no_tags().i8(0).no_tags()
    assert (request.api_key, request.version, request.body) == (57, 1, sent.done())
    assert not request.api_key.reads
    one = Writer().i32(0).i16(0).compact_string("").uvarint(2).compact_string("metadata.version").i16(95)
    said = one.compact_string("node 3 does not support it").no_tags().no_tags().done()
    found = request.decode(ByteReader(said))
    assert (found.error, found.message) == (95, "node 3 does not support it")
    assert LiveChanger(Target(()), parse_connect("z:1"), Reader({})).raise_metadata_version(30).name == "NOT_SENT"


def test_a_registration_is_removed_by_its_id_and_the_answer_is_read_whole():
    request = kraft_messages.unregister_broker(4)
    assert (request.api_key, request.version, request.flexible, request.body) == (64, 0, True, b"\0\0\0\4\0")
    assert not request.api_key.reads
    said = Writer().i32(0).i16(102).compact_string("Broker ID 4 is not currently registered.").no_tags().done()
    found = request.decode(ByteReader(said))
    assert (found.error, found.message) == (102, "Broker ID 4 is not currently registered.")


LISTENER = "CONTROLLER://c102:9093"


def quorum_answer(active):
    """Controller 100 is the only voter, and the active one or not."""
    topic = admin.DescribeQuorumResponse.TopicData
    voter = topic.PartitionData.ReplicaState(replica_id=100, log_end_offset=58)
    partition = topic.PartitionData(
        partition_index=0,
        error_code=0 if active else 6,
        leader_id=100 if active else -1,
        leader_epoch=7,
        high_watermark=58,
        current_voters=[voter],
        observers=[],
    )
    topics = [topic(topic_name="__cluster_metadata", partitions=[partition])]
    return admin.DescribeQuorumResponse(error_code=0, topics=topics)


def change_voters(error, message="", *, active=True, known=True, add=True):
    """Changes the voters at a controller that gives this answer. Returns the result, and what it was asked."""
    said = Writer().i32(0).i16(error).compact_string(message).no_tags().done()
    given = SimpleNamespace(encode=lambda version: said)
    broker = FakeBroker({55: lambda *_: quorum_answer(active), 80: lambda *_: given, 81: lambda *_: given}, VOTER_APIS)
    with broker.listening() as endpoint:

        class Quorum(Reader):
            def active_controller(self):
                if not known:
                    raise UnreachableError("no listener of a controller can be reached")
                return endpoint

        changer = LiveChanger(Target(()), None, Quorum({}))
        wanted = Joining(102, "AAAAAAAAAAAAAAAAAAAAAQ", LISTENER)
        result = changer.add_voter(wanted) if add else changer.remove_voter(102, wanted.directory)
    return result, [key for key, _ in broker.asked]


@pytest.mark.parametrize(("add", "key"), [(True, 80), (False, 81)])
def test_voters_are_changed_at_the_active_controller_itself_which_is_asked_right_before(add, key):
    result, asked = change_voters(0, add=add)
    assert (result.accepted, asked) == (True, [55, key])
    result, asked = change_voters(0, active=False, add=add)
    assert (result.name, asked) == ("NOT_SENT", [55])
    result, asked = change_voters(0, known=False, add=add)
    assert (result.name, asked) == ("NOT_SENT", [])


def test_a_voter_that_is_not_reached_yet_was_surely_not_added_and_any_other_timeout_is_open():
    result, _ = change_voters(7, "New voter ReplicaKey(id=102) is not ready to receive requests")
    assert (result.code, result.name) == (41, "NOT_SENT")
    result, _ = change_voters(7, "")
    assert (result.code, result.name) == (7, "REQUEST_TIMED_OUT")


def test_an_address_that_is_none_is_not_sent():
    result = LiveChanger(Target(()), None, Reader({})).add_voter(Joining(102, "A", "controller 102"))
    assert result.name == "NOT_SENT"


def test_voters_are_named_with_the_cluster_and_the_directory_id():
    request = kraft_messages.remove_voter(102, bytes(15) + b"\1", "abc")
    assert request.body == b"\4abc" + (102).to_bytes(4, "big") + bytes(15) + b"\1" + b"\0"
    assert not request.api_key.reads


@pytest.mark.parametrize(
    ("code", "name", "accepted", "unknown"),
    [("raise SystemExit(0)", "NONE", True, False), ("raise SystemExit('no route')", "COMMAND_FAILED", False, True)],
)
def test_a_command_that_fails_may_have_stopped_its_node(code, name, accepted, unknown):
    template = f'{sys.executable} -c "{code}" {{node}}'
    changer = LiveChanger(Target((), restart_command=template), None, Reader({}))
    result = changer.restart_node(NodeRole.BROKER, 3, template)
    assert (result.name, result.accepted, result.unknown) == (name, accepted, unknown)
    assert ("exit code 1: no route" in result.message) is unknown


@pytest.mark.parametrize("own", ["", "restart {node}"])
def test_no_command_but_that_of_the_inventory_is_run(own, tmp_path):
    there = tmp_path / "made"
    template = f"touch {there} {{node}}"
    result = LiveChanger(Target((), restart_command=own), None, Reader({})).restart_node(NodeRole.BROKER, 3, template)
    assert (result.name, there.exists()) == ("NOT_SENT", False)
    assert "is not the command of the inventory" in result.message


@pytest.mark.parametrize(("version", "sent"), [("4.4.0", True), ("", False)])
def test_the_command_of_an_upgrade_is_run_for_an_upgrade_only(version, sent, tmp_path):
    there = tmp_path / "4.4.0"
    template = f"touch {tmp_path}/{{version}} {tmp_path}/{{node}}"
    target = Target((), restart_command="restart {node}", upgrade_command=template)
    result = LiveChanger(target, None, Reader({})).restart_node(NodeRole.BROKER, 3, template, version)
    assert (result.accepted, there.exists()) == (sent, sent)


def test_a_command_that_an_earlier_run_began_is_not_begun_again(tmp_path):
    template = f'{sys.executable} -c "input()" {tmp_path} {{node}}'
    process = subprocess.Popen([sys.executable, "-c", "input()", str(tmp_path), "3"], stdin=subprocess.PIPE)
    try:
        changer = LiveChanger(Target((), restart_command=template), None, Reader({}))
        result = changer.restart_node(NodeRole.BROKER, 3, template)
    finally:
        process.communicate(b"\n")
    assert (result.name, result.unknown) == ("NOT_SENT", False)
    assert "still runs on this host" in result.message


def test_a_program_that_is_missing_was_not_sent():
    template = "no-such-program {node}"
    result = LiveChanger(Target((), restart_command=template), None, Reader({})).restart_node(
        NodeRole.BROKER, 3, template
    )
    assert (result.name, result.unknown) == ("NOT_SENT", False)
