"""Groups that Kafka 4 added: the bytes of ListGroups v5 by kafka-python, the others by the schemas of Kafka 4.3.1."""

from dataclasses import dataclass

import pytest
from kafka.protocol import admin

from kfix.core.collect.group_details import as_groups, ask_members, describe_listed
from kfix.core.errors import UnreachableError
from kfix.core.kafka import group_messages, new_groups
from kfix.core.kafka.codec import ByteReader, ProtocolError
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_messages import CommittedOffset, ListedGroup
from kfix.core.kafka.new_groups import ask_group_description
from kfix.core.kafka.security import Security
from kfix.core.snapshot.group_reading import GroupMember, GroupMembers
from kfix.core.snapshot.snapshot import Group, TopicPartition
from kfix.core.timing import Deadline
from tests.unit.core.fake_broker import ALL_VERSIONS, FakeBroker
from tests.unit.core.kafka.test_kraft_messages import answer, same
from tests.wire import Writer

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
OLD = ALL_VERSIONS | {15: (0, 5)}
NEW = OLD | {69: (0, 1), 77: (1, 1), 89: (0, 0)}
NOT_FOUND, REFUSED = 69, 30


@dataclass(frozen=True)
class Raw:
    """An answer whose bytes are known, as `FakeBroker` sends them."""

    data: bytes

    def encode(self, version):
        return self.data


def text(w, value):
    return w.uvarint(0) if value is None else w.compact_string(value)


def assignment(w, tps):
    def topic(w, name):
        w.raw(b"\7" * 16).compact_string(name)
        w.compact_array([tp.partition for tp in tps if tp.topic == name], Writer.i32).no_tags()

    w.compact_array(sorted({tp.topic for tp in tps}), topic).no_tags()


def described(groups, member):
    """`groups` is [(error, name, state, epoch, members)]."""

    def group(w, item):
        error, name, state, epoch, members = item
        text(w.i16(error), None)
        w.compact_string(name).compact_string(state).i32(epoch).i32(epoch).compact_string("uniform")
        w.compact_array(members, member).i32(-(2**31)).no_tags()

    return Writer().i32(0).compact_array(groups, group).no_tags().done()


def consumers(groups, version=1):
    def member(w, item):
        name, epoch, assigned, target = item
        text(w.compact_string(name), "i-1" if name == "static" else None)
        text(w, None).i32(epoch).compact_string("c").compact_string("/h")
        text(w.compact_array(["t"], Writer.compact_string), None)
        assignment(w, assigned)
        assignment(w, target)
        if version:
            w.i8(1)
        w.no_tags()

    return described(groups, member)


def sharers(groups):
    def member(w, item):
        name, epoch, assigned = item
        text(w.compact_string(name), None).i32(epoch).compact_string("c").compact_string("/h")
        w.compact_array(["t"], Writer.compact_string)
        assignment(w, assigned)
        w.no_tags()

    return described(groups, member)


def streams(error, name="s", state="Stable"):
    w = text(Writer().i32(0).uvarint(2).i16(error), None)
    return w.compact_string(name).compact_string(state).i32(4).i32(4).raw(b"a topology that is not read").done()


def test_list_groups_has_the_same_bytes_and_every_group_its_type():
    asked = admin.ListGroupsRequest(states_filter=[], types_filter=[])
    same(group_messages.list_groups(typed=True), asked)
    row = admin.ListGroupsResponse.ListedGroup
    rows = [
        row(group_id="a", protocol_type="consumer", group_state="Stable", group_type="Consumer"),
        row(group_id="b", protocol_type="share", group_state="Empty", group_type="share"),
    ]
    message = admin.ListGroupsResponse(throttle_time_ms=0, error_code=14, groups=rows)
    found = group_messages.list_groups(typed=True).decode(answer(message, 5))
    assert found == (14, [ListedGroup("a", "consumer"), ListedGroup("b", "share")])


@pytest.mark.parametrize("version", [0, 1])
def test_a_consumer_group_has_its_epoch_and_what_each_member_has_and_is_to_have(version):
    members = [("static", 3, [T0, T1], [T0]), ("m-2", 5, [], [T1])]
    raw = consumers([(0, "g", "Reconciling", 5, members)], version)
    [found] = new_groups.describe_consumer_groups(("g",), version).decode(ByteReader(raw))
    assert (found.error, found.name, found.state, found.epoch, found.group_type) == (
        *(0, "g", "Reconciling", 5),
        "consumer",
    )
    assert found.members == (
        GroupMember("static", "c", "/h", "i-1", (T0, T1), (T0,), 3),
        GroupMember("m-2", "c", "/h", "", (), (T1,), 5),
    )


def test_a_share_group_has_members_without_a_target():
    raw = sharers([(0, "s", "Stable", 2, [("m", 2, [T0])])])
    [found] = new_groups.describe_share_groups(("s",), 1).decode(ByteReader(raw))
    assert found.members == (GroupMember("m", "c", "/h", "", (T0,), None, 2),)
    assert found.group_type == "share"


def test_start_offsets_of_a_share_group():
    def partition(w, row):
        index, start, error = row
        text(w.i32(index).i64(start).i32(0).i16(error), None).no_tags()

    def topic(w, _):
        w.compact_string("t").raw(b"\7" * 16).compact_array([(0, 7, 0), (1, -1, 3)], partition).no_tags()

    def group(w, _):
        text(w.compact_string("s").compact_array([None], topic).i16(0), None).no_tags()

    raw = Writer().i32(0).compact_array([None], group).no_tags().done()
    asked = new_groups.describe_share_offsets("s")
    assert asked.decode(ByteReader(raw)) == (0, {T0: CommittedOffset(0, 7), T1: CommittedOffset(3, -1)})
    with pytest.raises(ProtocolError, match="0 groups for one"):
        asked.decode(ByteReader(Writer().i32(0).uvarint(1).no_tags().done()))


def classic(*rows):
    one = admin.DescribeGroupsResponse.DescribedGroup
    groups = [
        one(
            error_code=0,
            group_id=name,
            group_state=state,
            protocol_type="consumer" if state != "Dead" else "",
            protocol_data="",
            members=[],
            authorized_operations=set(),
        )
        for name, state in rows
    ]
    return admin.DescribeGroupsResponse(throttle_time_ms=0, groups=groups)


def broker(versions=NEW, *, state="Dead", consumer=None, share=None, stream=None):
    answers = {15: lambda *_: classic(("g", state))}
    missing = [(NOT_FOUND, "g", "Dead", 0, [])]
    answers[69] = lambda *_: Raw(consumer or consumers(missing))
    answers[77] = lambda *_: Raw(share or sharers(missing))
    answers[89] = lambda *_: Raw(stream or streams(NOT_FOUND))
    return FakeBroker(answers, versions)


def ask(fake, question):
    with fake.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        return question(line, Deadline.after(5))


def describe(fake):
    return ask(fake, lambda line, deadline: ask_group_description(line, "g", deadline))


def test_a_group_that_describe_groups_calls_dead_is_asked_for_as_every_other_type():
    found = describe(broker(consumer=consumers([(0, "g", "Stable", 1, [("m", 1, [T0], [T0])])])))
    assert (found.state, found.group_type) == ("Stable", "consumer")
    found = describe(broker(share=sharers([(0, "g", "Empty", 1, [])])))
    assert (found.state, found.group_type, found.members) == ("Empty", "share", ())
    found = describe(broker(stream=streams(0)))
    assert (found.state, found.group_type, found.members) == ("Stable", "streams", None)


def test_only_what_no_type_knows_is_dead_and_a_classic_group_costs_one_request():
    unknown, settled, old = broker(), broker(state="Stable"), broker(OLD)
    assert describe(unknown).state == "Dead"
    assert [key for key, _ in unknown.asked] == [15, 69, 77, 89]
    assert describe(settled).state == "Stable"
    assert describe(old).state == "Dead"
    assert [key for key, _ in (*settled.asked, *old.asked)] == [15, 15]


def test_a_group_that_kfix_may_not_describe_is_unknown_and_not_dead():
    refused = broker(consumer=consumers([(REFUSED, "g", "Dead", 0, [])]))
    with pytest.raises(UnreachableError, match="ConsumerGroupDescribe: GROUP_AUTHORIZATION_FAILED"):
        ask(refused, lambda line, deadline: ask_members(line, "g", deadline))


def test_members_of_a_streams_group_are_not_read_which_is_reported():
    with pytest.raises(UnreachableError, match="StreamsGroupDescribe: kfix does not read these members"):
        ask(broker(stream=streams(0)), lambda line, deadline: ask_members(line, "g", deadline))
    known = broker(share=sharers([(0, "g", "Stable", 1, [("m", 1, [T0])])]))
    found = ask(known, lambda line, deadline: ask_members(line, "g", deadline))
    assert found == GroupMembers("g", "Stable", (GroupMember("m", "c", "/h", "", (T0,), None, 1),), 1)


def listed(fake, *groups):
    return {each.name: each for each in ask(fake, lambda line, end: describe_listed(line, groups, end))}


def test_listed_groups_are_described_by_the_request_of_their_type():
    fake = broker(
        consumer=consumers([(0, "g", "Stable", 1, [("m", 1, [T0], [T0])])]),
        share=sharers([(0, "s", "Stable", 1, [("m", 1, [T0])])]),
    )
    fake.answers[15] = lambda *_: classic(("c", "Empty"))
    found = listed(fake, ListedGroup("g", "consumer"), ListedGroup("s", "share"), ListedGroup("c", "classic"))
    assert {name: (each.state, len(each.members)) for name, each in found.items()} == {
        "g": ("Stable", 1),
        "s": ("Stable", 1),
        "c": ("Empty", 0),
    }


def test_a_listing_without_types_asks_again_for_what_seems_dead():
    found = listed(broker(consumer=consumers([(0, "g", "Stable", 1, [])])), ListedGroup("g"))
    assert found["g"].state == "Stable"
    assert listed(broker(OLD), ListedGroup("g"))["g"].state == "Dead"
    assert listed(broker(consumer=consumers([(REFUSED, "g", "Dead", 0, [])])), ListedGroup("g")) == {}
    assert listed(broker(), ListedGroup("g", "streams")) == {}, "its state is unknown"


def test_a_group_keeps_the_type_that_any_broker_reports():
    groups = as_groups({1: (ListedGroup("g"),), 2: (ListedGroup("g", "share"),)}, {})
    assert groups == (Group("g", (1, 2), group_type="share"),)
