"""Which controllers are asked, and what is made of their answers: real sockets, no cluster."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from kfix.core.collect.broker import BrokerAnswers
from kfix.core.collect.quorum import QuorumQuestion, kraft_settings, voters_in, why_unread
from kfix.core.derive.quorum import quorum_lost
from kfix.core.errors import UnreachableError
from kfix.core.kafka.kraft_messages import API_VERSIONS, DESCRIBE_QUORUM
from kfix.core.kafka.requests import LIST_REASSIGNMENTS, METADATA
from kfix.core.ledger import Ledger
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.snapshot import BrokerView, Endpoint
from kfix.core.target import make_target
from kfix.core.timing import Deadline
from tests.listening import listening
from tests.wire import Writer

NOW = 1_800_000_000_000
Talk = Callable[[socket.socket], None]


def described(
    error: int,
    *,
    leader: int = 100,
    epoch: int = 3,
    nodes: dict[int, Endpoint] | None = None,
    follower: int | None = 400,
    high: int = 50,
) -> bytes:
    """A response to DescribeQuorum v2, of two voters and one broker that last fetched 20 s ago.

    Controller 101 last fetched `follower` milliseconds ago, never with None.
    """

    def replica(w: Writer, item: tuple[int, int, int | None]) -> None:
        node, end, age = item
        at = -1 if age is None else NOW - age
        w.i32(node).i64(0).i64(0).i64(-1 if age is None else end).i64(at).i64(at).no_tags()

    def listener(w: Writer, endpoint: Endpoint) -> None:
        port = endpoint.port - (1 << 16 if endpoint.port > 32767 else 0)
        w.compact_string("C").compact_string(endpoint.host).i16(port).no_tags()

    def node(w: Writer, item: tuple[int, Endpoint]) -> None:
        w.i32(item[0]).compact_array([item[1]], listener).no_tags()

    w = Writer().no_tags().i16(0).compact_string("")
    w.uvarint(2).compact_string("__cluster_metadata").uvarint(2).i32(0).i16(error).compact_string("")
    w.i32(leader).i32(epoch).i64(high)
    w.compact_array([(100, 50, 0), (101, 50, follower)] if not error else [], replica)
    w.compact_array([(1, 30, 20_000)] if not error else [], replica)
    w.no_tags().no_tags()
    return w.compact_array(list((nodes or {}).items()), node).no_tags().done()


def features(epoch: int) -> bytes:
    return Writer().i16(0).uvarint(1).i32(0).uvarint(1).uvarint(1).uvarint(8).i64(epoch).done()


def _versions(*keys: int) -> bytes:
    rows = [(key, 0, 9) for key in keys]
    return Writer().i16(0).array(rows, lambda w, r: w.i16(r[0]).i16(r[1]).i16(r[2])).done()


def server(answers: dict[int, bytes | Callable[[], bytes]], *keys: int) -> Talk:
    """Answers by API key; a key without an answer hangs until kfix closes the connection."""

    def talk(line: socket.socket) -> None:
        while asked := line.recv(4096):
            key, version = struct.unpack(">hh", asked[4:8])
            if key == API_VERSIONS and version == 0:
                body = _versions(API_VERSIONS, DESCRIBE_QUORUM, *keys)
            elif (found := answers.get(key)) is None:
                while line.recv(4096):
                    pass
                return
            else:
                body = found if isinstance(found, bytes) else found()
            line.sendall(struct.pack(">i", 4 + len(body)) + asked[8:12] + body)

    return talk


@contextlib.contextmanager
def world(*talks: Talk) -> Iterator[list[Endpoint]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(listening(talk)) for talk in talks]


def question(voters: dict[int, Endpoint], *, controllers: str | None = None, seconds: float = 3.0) -> QuorumQuestion:
    configs = {"process.roles": "broker", "controller.quorum.voters": ",".join(f"{n}@{e}" for n, e in voters.items())}
    target = make_target("b:1", None, controllers=controllers)
    return QuorumQuestion(target, configs, Deadline.after(seconds), Ledger())


def seen(asked: QuorumQuestion, brokers: dict[int, Endpoint] | None = None, offset: int = 49) -> QuorumView:
    offsets = dict.fromkeys(brokers or {}, offset)
    asked.ask_again(brokers or {}, offsets)
    return asked.answer(offsets)


def test_the_active_controller_is_the_one_that_answers_without_an_error() -> None:
    with world(server({55: described(6)}), server({55: described(0)})) as (first, second):
        view = seen(question({101: first, 100: second}))
    assert (view.leader, view.epoch, view.high_watermark, view.through) == (100, 3, 50, -1)
    assert {c.node: (c.active, c.error) for c in view.controllers} == {100: (True, ""), 101: (False, "")}
    assert [(r.node, r.fetched) for r in view.voters] == [(100, 0.0), (101, 0.4)]
    assert [(r.node, r.log_end, r.fetched) for r in view.observers] == [(1, 30, 20.0)]
    assert why_unread(view) == ""


def test_of_two_that_answer_as_active_the_later_epoch_counts() -> None:
    with world(server({55: described(0, epoch=3)}), server({55: described(0, leader=101, epoch=4)})) as (old, new):
        view = seen(question({100: old, 101: new}))
    assert (view.leader, view.epoch) == (101, 4)


def test_a_controller_that_no_majority_follows_is_not_the_active_one() -> None:
    """It was frozen, and answers before it notices; the one that was elected since is not reached from here."""
    with world(server({55: described(0, follower=60_000)}), server({})) as (deposed, silent):
        view = seen(question({100: deposed, 101: silent}))
    assert not view.read
    assert not quorum_lost(view)
    assert "controller 100 reports that it is active, but a majority of the voters no longer follows it" in why_unread(
        view
    )


def test_a_controller_that_has_just_been_elected_is_asked_again_until_it_knows_what_is_committed() -> None:
    answers = [described(0, follower=None, high=-1), described(0, follower=None, high=-1), described(0)]

    def settles() -> bytes:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    with world(server({55: settles})) as [elected]:
        view = seen(question({100: elected}))
    assert (view.leader, view.high_watermark, view.through) == (100, 50, -1)


def test_a_controller_that_does_not_learn_what_is_committed_leaves_the_quorum_unknown() -> None:
    """Its metadata could not be told apart from old metadata."""
    with world(server({55: described(0, follower=None, high=-1)})) as [elected]:
        view = seen(question({100: elected}, seconds=2.0))
    assert not view.read
    assert not quorum_lost(view)
    assert "controller 100 has just been elected" in why_unread(view)


def test_a_voter_that_only_the_active_controller_names_is_asked_too() -> None:
    with world(server({55: described(6)})) as [other]:
        nodes = {100: Endpoint("127.0.0.1", 1), 101: other}
        with world(server({55: described(0, nodes=nodes)})) as [active]:
            view = seen(question({}, controllers=str(active)))
    answers = {c.node: c for c in view.controllers}
    assert answers[101].answered
    assert answers[100].refused


def test_a_frozen_controller_does_not_delay_the_active_one() -> None:
    """A reader that waited for the frozen one would wait longer than a test may take."""
    with world(server({}), server({55: described(0)})) as (frozen, active):
        view = seen(question({101: frozen, 100: active}, seconds=100_000.0))
    assert view.leader == 100
    assert [c.error for c in view.controllers if c.node == 101] == [f"{view.configured[101]}: no answer in time"]


def test_dead_voters_and_metadata_that_stands_still_are_a_lost_quorum() -> None:
    broker = server({API_VERSIONS: features(49), METADATA: b""}, METADATA)
    with world(broker, server({55: described(6)})) as (there, alive):
        view = seen(question({100: Endpoint("127.0.0.1", 1), 101: alive}), {1: there})
    assert not view.read
    assert view.advancing is False
    assert "timed out" in view.forwarded or "no answer" in view.forwarded
    assert quorum_lost(view)
    assert why_unread(view) == ""


def test_controllers_that_are_not_reached_prove_nothing_while_metadata_moves() -> None:
    moves = iter(range(50, 99))
    broker = server({API_VERSIONS: lambda: features(next(moves)), METADATA: b""}, METADATA)
    with world(broker, server({})) as (there, frozen):
        view = seen(question({100: frozen}), {1: there})
    assert view.advancing is True
    assert not quorum_lost(view)
    assert "no answer in time" in why_unread(view) or "timed out" in why_unread(view)
    assert "through a broker" in why_unread(view)


def test_a_broker_forwards_the_question_where_no_controller_is_reached() -> None:
    broker = server({API_VERSIONS: features(49), 55: described(0), METADATA: b""}, METADATA)
    with world(broker) as [there]:
        view = seen(question({}), {7: there})
    assert (view.leader, view.through, view.forwarded) == (100, 7, "")


def test_reassignments_are_asked_of_the_active_controller_and_of_none_without_one() -> None:
    listed = Writer().no_tags().i32(0).i16(0).compact_string("").uvarint(1).no_tags().done()
    with world(server({55: described(0), LIST_REASSIGNMENTS: listed}, LIST_REASSIGNMENTS)) as [active]:
        asked = question({100: active})
        view = seen(asked)
        assert asked.reassignments(view, {}) == {}
    asked = question({100: Endpoint("127.0.0.1", 1)}, seconds=0.5)
    with pytest.raises(UnreachableError, match="no active controller"):
        asked.reassignments(seen(asked), {})


def test_reassignments_are_asked_of_the_later_epoch_where_two_answer_as_active() -> None:
    def listed(topic: str) -> bytes:
        def partition(w: Writer, number: int) -> None:
            w.i32(number)
            for replicas in ((1, 2), (2,), ()):
                w.compact_array(replicas, Writer.i32)
            w.no_tags()

        def row(w: Writer, name: str) -> None:
            w.compact_string(name).compact_array((0,), partition).no_tags()

        return Writer().no_tags().i32(0).i16(0).compact_string("").compact_array((topic,), row).no_tags().done()

    def one(topic: str, **more: int) -> Talk:
        return server({55: described(0, **more), LIST_REASSIGNMENTS: listed(topic)}, LIST_REASSIGNMENTS)  # type: ignore[arg-type]

    with world(one("before"), one("now", leader=101, epoch=4)) as (deposed, active):
        asked = question({100: deposed, 101: active})
        assert [tp.topic for tp in asked.reassignments(seen(asked), {})] == ["now"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("100@h:9093", {100: Endpoint("h", 9093)}),
        ("1@[::1]:9093, 2@b:1,x@c:1,3@c,@d:1", {1: Endpoint("::1", 9093), 2: Endpoint("b", 1)}),
    ],
)
def test_voters_of_the_settings_are_read_and_invalid_ones_left_out(text: str, found: dict[int, Endpoint]) -> None:
    assert voters_in(text) == found


def test_the_settings_of_all_brokers_decide_the_mode() -> None:
    empty = BrokerAnswers(BrokerView(1, 1, {}, {}, {}), "c", {}, (), ())
    kraft = replace(empty, configs={"process.roles": "broker"})
    assert kraft_settings([empty], taken_over=False) is None
    assert kraft_settings([empty, kraft], taken_over=False) == {"process.roles": "broker"}
    both = [replace(empty, configs={"zookeeper.connect": "z:1"}), kraft]
    assert kraft_settings(both, taken_over=False) is None


def test_one_broker_of_kraft_decides_the_mode_once_a_kraft_controller_has_taken_over() -> None:
    """In the middle of a migration it is not registered in ZooKeeper, which says nothing of it."""
    zookeeper = BrokerAnswers(BrokerView(1, 1, {}, {}, {}), "c", {"zookeeper.connect": "z:1"}, (), ())
    kraft = replace(zookeeper, configs={"process.roles": "broker"})
    assert kraft_settings([zookeeper, kraft], taken_over=True) == {"process.roles": "broker"}
    assert kraft_settings([zookeeper], taken_over=True) is None


def own_cluster(cluster: str, error: int = 0) -> bytes:
    """The answer of a controller to DescribeCluster version 1, with the tags of the header."""
    w = Writer().i8(0).i32(0).i16(error).uvarint(0).i8(2).compact_string(cluster).i32(100)
    return w.compact_array((), lambda w, _: w).i32(0).no_tags().done()


def test_a_controller_of_another_cluster_counts_for_nothing_however_late_its_epoch() -> None:
    ours = server({55: described(0), 60: own_cluster("mine")}, 60)
    theirs = server({55: described(0, epoch=99), 60: own_cluster("other")}, 60)
    with world(ours, theirs) as (first, second):
        target = make_target("b:1", None, controllers=str(second))
        configs = {"process.roles": "broker", "controller.quorum.voters": f"100@{first}"}
        asked = QuorumQuestion(target, configs, Deadline.after(3.0), Ledger(), "mine")
        view = seen(asked)
    assert (view.leader, view.epoch) == (100, 3)
    assert [each.address for each in view.controllers] == [str(first)]
    assert asked.foreign == {str(second): "other"}


def test_only_a_controller_that_the_brokers_do_not_name_is_asked_for_its_cluster() -> None:
    """A controller that does not tell it counts for nothing; those of the brokers' settings are never asked."""
    ours = server({55: described(0), 60: own_cluster("", error=31)}, 60)
    theirs = server({55: described(0, epoch=99), 60: own_cluster("", error=31)}, 60)
    with world(ours, theirs) as (first, second):
        target = make_target("b:1", None, controllers=f"{first},{second}")
        configs = {"process.roles": "broker", "controller.quorum.voters": f"100@{first}"}
        view = seen(QuorumQuestion(target, configs, Deadline.after(3.0), Ledger(), "mine"))
    assert (view.leader, view.epoch) == (100, 3)
    [error] = [each.error for each in view.controllers if each.address == str(second)]
    assert "missing right: Alter for" in error
    assert "CLUSTER_AUTHORIZATION_FAILED" in error
