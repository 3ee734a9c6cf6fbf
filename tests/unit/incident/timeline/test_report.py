"""An incident as a report (its golden file has the founding one): bounds, several vantages, losses, other clusters."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kfix.core.errors import UsageError
from kfix.core.events import Event, LogStatement, LogTruncation, Theme, Tone
from kfix.core.snapshot.snapshot import ClusterIdentity, LogEnd, Mode, TopicPartition
from kfix.incident.model import Certainty
from kfix.incident.timeline.build import Material
from kfix.incident.timeline.merging import merged
from kfix.incident.timeline.spans import MOST
from kfix_diagnostics.engine import diagnose
from tests.unit.incident.timeline.stories import (
    BEGAN,
    RUN,
    age,
    at,
    cluster,
    founding,
    founding_report,
    material,
    records,
)

OFFSETS = TopicPartition("__consumer_offsets", 0)


@pytest.fixture(scope="module")
def report():
    return founding_report()


def test_partitions_with_one_history_share_a_lane_and_those_without_change_have_none(report):
    lanes = report.picture.partitions
    assert any(len(lane.partitions) > 1 for lane in lanes)
    assert sum(len(lane.partitions) for lane in lanes) + report.picture.unchanged == 11


def test_partitions_without_a_leader_are_counted_even_where_they_are_not_drawn():
    paper = cluster().topic("many", 90)
    before = at(paper, 0, "a")
    for n in range(90):
        paper.part("many", n).write(leader=-1, isr=(2,), age=age(100 + n * 10))
    drawn = material([before, at(paper, 3000, "b")]).report("t", "0", (None, None)).picture
    assert drawn.hidden[0] == 60
    assert len(drawn.leaderless.partitions) == 90
    assert (drawn.leaderless.longest, drawn.leaderless.proved) == (2900.0, True)


def test_other_clusters_are_refused_by_name():
    snapshots = founding()
    other = replace(snapshots[1], cluster=ClusterIdentity("other", Mode.ZOOKEEPER), origin="/snapshots/strange.json")
    with pytest.raises(UsageError, match=r"strange\.json: is of cluster other; 00-healthy\.json is of cluster paper"):
        material([snapshots[0], other])
    made = material(snapshots[:1])
    with pytest.raises(UsageError, match="on cluster elsewhere"):
        made.add_journal(({**records()[0], "cluster": "elsewhere"},), "x")


def test_one_snapshot_states_that_there_is_nothing_to_compare():
    made = material(founding()[2:3]).report("t", "0", (None, None))
    assert "only one snapshot was given" in made.questions[0]
    assert made.summary.began.at == BEGAN + 300  # the znode records when the leader was lost
    assert made.summary.recovered is None


def test_a_healthy_snapshot_alone_is_no_incident():
    made = material(founding()[:1]).report("t", "0", (None, None))
    assert (made.summary.verdict, made.events, made.causes) == ("nothing to compare", (), ())


def test_snapshots_of_several_vantage_points_are_compared_each_with_its_own():
    snapshots = founding()
    here, there = snapshots[2], replace(snapshots[2], views={}, zookeeper=None, taken_at=snapshots[2].taken_at + 1)
    made = material([snapshots[1], here, there, snapshots[3]], vantage=lambda s: "az2" if s is there else "az1")
    rows = made.report("t", "0", (None, None)).events
    assert not any("no longer" in row.text and row.at == there.taken_at for row in rows)


def test_what_was_lost_is_proven_bounded_or_not_known():
    before, after = at(cluster(), 0, "a"), at(cluster(), 100, "b")
    tp = TopicPartition("orders", 0)
    proven = material(
        [replace(before, log_ends={tp: {1: LogEnd(0, 120)}}), replace(after, log_ends={tp: {1: LogEnd(0, 100)}})]
    ).report("t", "0", (None, None))
    assert [(r.certainty, "20 offsets of orders-0" in r.text) for r in proven.losses] == [(Certainty.PROVEN, True)]
    made = material([replace(before, log_ends={tp: {1: LogEnd(0, 120)}}), after])
    made.add_log_entry(LogStatement(cut=LogTruncation(BEGAN + 50, tp, 1, 90)))
    made.add_log_entry(LogStatement(cut=LogTruncation(BEGAN + 50, TopicPartition("orders", 1), 2, 90)))
    made.add_log_entry(LogStatement(unclean=TopicPartition("orders", 2)))
    rows = made.report("t", "0", (None, None)).losses
    assert [r.certainty for r in rows] == [Certainty.AT_MOST, Certainty.UNKNOWN, Certainty.UNKNOWN]
    assert "30 offsets of orders-0" in rows[0].text
    nothing = material([before, after]).report("t", "0", (None, None)).losses
    assert [r.certainty for r in nothing] == [Certainty.NONE_SEEN]


def test_a_planned_loss_is_reported_for_steps_that_were_sent():
    from kfix.incident.timeline.journals import run_row

    def step(name, loss, **args):
        return SimpleNamespace(id=name, estimate=SimpleNamespace(max_loss=loss), args=args)

    steps = (step("nudge", "20 records", lost_at_most=20), step("other", "9 records"), step("nudge", "none: nothing"))
    run = run_row(records(), RUN, (), SimpleNamespace(steps=steps))
    assert run.stakes == (("nudge: 20 records", True),)
    made = material(founding()[:1])
    assert [r.certainty for r in made.losses.rows((run,))] == [Certainty.AT_MOST]
    assert [r.certainty for r in made.losses.rows((replace(run, stakes=(("x", False),)),))] == [Certainty.UNKNOWN]


def test_a_run_that_was_stopped_is_reported_with_its_reason():
    from kfix.incident.timeline.journals import events

    *before, end = records()
    why = "step nudge: its facts could not be read again: gone\nthe second line"
    stopped = {**end, "outcome": "refused", "exit": 3, "seconds_to_proof": None, "why": why}
    *_, last = events((*before, stopped), RUN)
    assert last.text == "run ended: refused (exit 3): step nudge: its facts could not be read again: gone"


def test_a_deleted_topic_loses_its_leaders_without_being_a_sign():
    paper = cluster()
    before = at(paper, 0, "a")
    for tp in [tp for tp in paper.parts if tp.topic == "orders"]:
        del paper.parts[tp]
    made = material([before, at(paper, 100, "b")])
    tp = TopicPartition("orders", 0)
    made.add_log_entry(
        LogStatement((Event(BEGAN + 50, Theme.LEADER, Tone.BAD, "lost its leader", "server.log:1", None, tp),))
    )
    [row] = [e for e in made.report("t", "0", (None, None)).events if e.theme is Theme.LEADER]
    assert (row.tone, "being deleted" in row.text) == (Tone.PLAIN, True)


def test_hundreds_of_histories_are_bounded_and_counted():
    paper = cluster().topic("many", 200)
    before = at(paper, 0, "a")
    for n in range(200):
        paper.part("many", n).write(leader=2, isr=(1, 2, 3), age=age(100 + n * 10))
    drawn = material([before, at(paper, 3000, "b")]).report("t", "0", (None, None)).picture
    assert len(drawn.partitions) == MOST
    assert drawn.hidden[0] > 0
    assert sum(len(lane.partitions) for lane in drawn.partitions) + drawn.hidden[1] + drawn.unchanged == 211


EVENTS = st.builds(
    Event,
    at=st.floats(0, 100),
    theme=st.sampled_from(Theme),
    tone=st.sampled_from(Tone),
    text=st.sampled_from(["a", "b"]),
    source=st.sampled_from(["snapshot x", "s.log:1", "s.log:2"]),
    not_before=st.none(),
    partition=st.none() | st.builds(TopicPartition, st.just("t"), st.integers(0, 3)),
    key=st.just(""),
)


@given(st.lists(EVENTS, max_size=30))
def test_merging_loses_no_fact(events):
    rows = merged(events)
    assert [r.at for r in rows] == sorted(r.at for r in rows)
    texts = {(r.text, tp) for r in rows for tp in (r.partitions or (None,))}
    assert texts == {(e.text, e.partition) for e in events}


def test_one_fact_of_two_sources_is_one_row_with_the_better_time():
    exact = Event(50.2, Theme.BROKER, Tone.BAD, "gone", "s.log:3", key="gone:1", lasting=False)
    bounded = Event(60.0, Theme.BROKER, Tone.BAD, "gone", "snapshot b", 40.0, key="gone:1", lasting=False)
    later = Event(90.0, Theme.BROKER, Tone.BAD, "gone", "s.log:9", key="gone:1", lasting=False)
    first, second = merged([bounded, later, exact])
    assert (first.at, first.not_before, set(first.sources)) == (50.2, None, {"s.log:3", "snapshot b"})
    assert second.at == 90.0


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_a_snapshot_of_another_cluster_is_refused_whichever_comes_first(first, second):
    one, other = (
        replace(at(cluster(), number, name), cluster=ClusterIdentity(name, Mode.ZOOKEEPER))
        for number, name in enumerate((first, second))
    )
    found = Material()
    found.add_snapshot(one, diagnose(one))
    with pytest.raises(UsageError, match=f"is of cluster {second}"):
        found.add_snapshot(other, diagnose(other))
