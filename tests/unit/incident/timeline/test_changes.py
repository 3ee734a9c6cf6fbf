"""Events between two snapshots, theme by theme, and what must give none."""

from dataclasses import replace
from pathlib import Path

import pytest

import kfix.incident.timeline.changes as registry
from kfix.core.events import Theme, Tone
from kfix.core.snapshot.snapshot import Assignment, LogEnd, Mode, TopicPartition, ZooKeeperNode
from kfix.incident.timeline.changes import compare
from tests.unit.incident.timeline.stories import BEGAN, age, at, cluster, controlled_by, founding, registered_anew

ORDERS = TopicPartition("orders", 0)


def events_of(before, after, theme=None):
    return [e for e in compare(before, after) if theme in {None, e.theme}]


def two(change):
    paper = cluster()
    before = at(paper, 0, "a")
    change(paper)
    return before, at(paper, 100, "b")


def test_every_file_of_the_folder_is_in_the_registry():
    folder = Path(registry.__file__).parent
    files = {p.stem for p in folder.glob("*.py")} - {"__init__"}
    assert {f.__module__.rpartition(".")[2] for f in registry.ALL} == files


def test_two_equal_snapshots_give_no_event():
    before, after = two(lambda paper: None)
    assert events_of(before, after) == []


def test_a_leader_change_has_from_to_epoch_and_the_time_of_writing():
    before, after = two(lambda p: p.part("orders", 0).write(leader=2, isr=(1, 2, 3), age=age(40)))
    [event] = events_of(before, after)
    assert (event.theme, event.tone, event.partition) == (Theme.LEADER, Tone.NOTE, ORDERS)
    assert "1 → 2" in event.text
    assert "epoch 1" in event.text
    assert (event.at, event.not_before) == (BEGAN + 40, None)


def test_a_lost_and_a_found_leader_are_bad_and_good():
    def lose(paper):
        paper.part("orders", 0).write(leader=-1, isr=(1,), age=age(40))

    before, after = two(lose)
    [lost] = events_of(before, after, Theme.LEADER)
    assert (lost.tone, "lost its leader (it was 1)" in lost.text) == (Tone.BAD, True)
    [found] = events_of(replace(after, taken_at=BEGAN), replace(before, taken_at=BEGAN + 9), Theme.LEADER) or [None]
    assert found is None  # an older epoch later is a server that lags

    def find(paper):
        lose(paper)
        paper.part("orders", 0).write(leader=3, isr=(3,), age=age(90))

    [got] = events_of(after, two(find)[1], Theme.LEADER)
    assert (got.tone, "got a leader: 3" in got.text) == (Tone.GOOD, True)


def test_epochs_that_no_snapshot_has_are_stated_and_the_time_is_only_bounded():
    def change(paper):
        part = paper.part("orders", 0)
        part.write(leader=2, isr=(1, 2, 3), age=age(40))
        part.write(leader=3, isr=(1, 2, 3), age=age(50))
        part.version += 1  # an ISR change afterwards: the znode's time is not the election's

    before, after = two(change)
    [event] = events_of(before, after, Theme.LEADER)
    assert "1 epoch in between" in event.text
    assert (event.at, event.not_before) == (BEGAN + 100, BEGAN)


def test_a_topic_that_was_created_again_is_one_event():
    before, after = two(lambda _paper: None)

    def created(snapshot, zxid, replicas):
        view = replace(
            snapshot.zookeeper,
            topics_created={"orders": zxid},
            assignments=snapshot.zookeeper.assignments | {ORDERS: Assignment(replicas)},
        )
        return replace(snapshot, zookeeper=view)

    first, again = created(before, 7, (1, 2, 3)), created(after, 9, (2, 3, 1))
    [event] = events_of(first, again)
    assert event.text.startswith("topic orders was deleted and created again, ")
    assert [e.theme for e in events_of(first, created(after, 7, (2, 3, 1)))] == [Theme.REASSIGNMENT]
    assert events_of(before, created(after, 9, (1, 2, 3))) == []


def test_a_partition_made_since_that_has_no_leader_is_reported():
    paper = cluster()
    before = at(paper, 0, "a")
    paper.topic("fresh", 1)
    paper.part("fresh", 0).write(leader=-1, isr=(1,), age=age(30))
    events = events_of(before, at(paper, 100, "b"))
    assert any(e.tone is Tone.BAD and e.at == BEGAN + 30 for e in events if e.theme is Theme.LEADER)
    assert any("topic fresh was created, 1 partition" in e.text for e in events)


@pytest.mark.parametrize(("writes", "known"), [(1, True), (2, False), (5, False)])
def test_of_several_changes_of_an_isr_between_two_snapshots_no_time_is_known(writes, known):
    def shrink(paper):
        part = paper.part("orders", 0)
        part.isr, part.version, part.age = (1,), part.version + writes, age(20)

    [event] = events_of(*two(shrink), Theme.ISR)
    assert (event.at, event.not_before) == ((BEGAN + 20, None) if known else (BEGAN + 100, BEGAN))


@pytest.mark.parametrize(("isr", "words", "tone"), [((1,), "shrank [1,2,3] → [1]", Tone.BAD), ((2, 1, 3), None, None)])
def test_isr_changes_are_reported_and_another_order_is_none(isr, words, tone):
    def change(paper):
        part = paper.part("orders", 0)
        part.isr, part.version, part.age = isr, part.version + 1, age(20)

    events = events_of(*two(change), Theme.ISR)
    assert [(e.tone, e.text.removeprefix("ISR ")) for e in events] == ([] if words is None else [(tone, words)])


def test_without_zookeeper_views_are_compared_and_times_are_bounded():
    paper = cluster()
    paper.zookeeper = False
    before = at(paper, 0, "a")
    paper.part("orders", 0).write(leader=2, isr=(2, 3), age=age(20))
    events = events_of(before, at(paper, 100, "b"))
    assert {e.theme for e in events} == {Theme.LEADER, Theme.ISR}
    assert all((e.at, e.not_before) == (BEGAN + 100, BEGAN) for e in events)
    paper.zookeeper = True
    assert events_of(before, at(paper, 200, "c"), Theme.LEADER) == []  # a belief and a record are not compared


def test_brokers_vanish_register_and_register_anew():
    before, after = two(lambda p: p.forget(3))
    [gone] = events_of(before, after, Theme.BROKER)
    assert (gone.broker, gone.tone, gone.text) == (3, Tone.BAD, "broker 3 is no longer registered in ZooKeeper")
    [back] = events_of(after, registered_anew(replace(before, taken_at=BEGAN + 200), 3, 999, 150), Theme.BROKER)
    assert (back.tone, back.at, back.text) == (Tone.GOOD, BEGAN + 150, "broker 3 registered")
    [anew] = events_of(before, registered_anew(replace(before, taken_at=BEGAN + 200), 3, 999, 150), Theme.BROKER)
    assert "re-registered" in anew.text


def test_a_new_controller_is_reported_with_its_epoch():
    before, after = two(lambda paper: None)
    [event] = events_of(before, controlled_by(after, 1, 4, 60), Theme.CONTROLLER)
    assert (event.at, event.not_before, event.broker) == (BEGAN + 60, None, 1)
    assert "epoch 4 (previous: broker 3, epoch 1); 2 more elections in between" in event.text
    [none] = events_of(before, controlled_by(after, None, 1, 60), Theme.CONTROLLER)
    assert "there is no controller" in none.text


def test_two_leaders_and_two_controllers_appear_and_disappear():
    def split(paper):
        paper.part("orders", 0).seen_by[3] = (2, 1, (2, 3))
        paper.named_controller[1] = 1

    before, after = two(split)
    events = events_of(before, after, Theme.VIEWS)
    assert [e.tone for e in events] == [Tone.BAD, Tone.BAD]
    assert "1 (say brokers 1, 2); 2 (says broker 3)" in events[0].text
    healed = events_of(after, replace(before, taken_at=BEGAN + 200), Theme.VIEWS)
    assert [e.tone for e in healed] == [Tone.GOOD, Tone.GOOD]


def test_on_kraft_named_controllers_are_not_compared():
    paper = cluster()
    paper.zookeeper, paper.mode = False, Mode.KRAFT
    before = at(paper, 0, "a")
    paper.named_controller[1] = 1
    assert events_of(before, at(paper, 100, "b"), Theme.VIEWS) == []


def test_zookeeper_nodes_that_lose_the_quorum_are_reported():
    before, after = two(lambda paper: None)

    def with_modes(snapshot, *modes):
        nodes = tuple(ZooKeeperNode(f"zk{n}:2181", mode) for n, mode in enumerate(modes))
        return replace(snapshot, ensemble=nodes)

    events = events_of(
        with_modes(before, "leader", "follower"), with_modes(after, "no quorum", "leader"), Theme.ZOOKEEPER
    )
    assert [(e.tone, e.text) for e in events] == [
        (Tone.BAD, "ZooKeeper zk0:2181: leader → no quorum"),
        (Tone.NOTE, "ZooKeeper zk1:2181: follower → leader"),
    ]


def test_log_ends_that_go_back_are_loss_only_where_every_holder_was_read_again():
    before, after = two(lambda paper: None)
    old = replace(before, log_ends={ORDERS: {1: LogEnd(0, 120), 2: LogEnd(0, 100)}})
    lost = events_of(old, replace(after, log_ends={ORDERS: {1: LogEnd(0, 100), 2: LogEnd(0, 100)}}), Theme.LOSS)
    assert ["from 120 to 100 (20 offsets)" in lost[0].text, "offsets 100 to 119" in lost[1].text] == [True, True]
    assert events_of(old, replace(after, log_ends={ORDERS: {2: LogEnd(0, 100)}}), Theme.LOSS) == []
    assert events_of(old, replace(after, log_ends={ORDERS: {1: LogEnd(0, -1, "x")}}), Theme.LOSS) == []


def test_reassignments_begin_and_end():
    before, after = two(lambda paper: None)
    moving = replace(after, reassignments={ORDERS: Assignment((1, 2, 4), (4,), (3,))})
    [began] = events_of(replace(before, reassignments={}), moving, Theme.REASSIGNMENT)
    assert began.text == "reassignment began: adding [4], removing [3]"
    [ended] = events_of(moving, replace(after, reassignments={}, taken_at=BEGAN + 200), Theme.REASSIGNMENT)
    assert ended.text == "reassignment ended"


def test_settings_that_changed_are_reported_secrets_without_their_value_and_unread_ones_not():
    before, after = two(lambda paper: None)
    old = replace(before, broker_configs={1: {"a": "1", "ssl.keystore.password": "x"}, 2: {"a": "1"}})
    new = replace(after, broker_configs={1: {"a": "2", "ssl.keystore.password": "y", "b": "3"}})
    assert [e.text for e in events_of(old, new, Theme.CONFIG)] == [
        "broker 1: a: 1 → 2",
        "broker 1: ssl.keystore.password changed",
    ]
    paper = cluster()
    first = at(paper, 0, "a")
    paper.topic_settings = {"orders": {"retention.ms": "1000"}}
    assert [e.text for e in events_of(first, at(paper, 9, "b"), Theme.CONFIG)] == [
        "topic orders: retention.ms: not set → 1000"
    ]


def test_a_snapshot_without_zookeeper_proves_nothing_about_brokers():
    snapshots = founding()
    blind = replace(snapshots[2], zookeeper=None)
    assert [e for e in compare(snapshots[1], blind) if e.theme in {Theme.BROKER, Theme.LEADER, Theme.ISR}] == []
