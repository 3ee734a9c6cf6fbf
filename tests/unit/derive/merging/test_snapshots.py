"""Which looks go together, and what holds whatever they hold."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.derive.merging.merge import merge
from kfix.derive.merging.snapshots import APART, taken_on_trust
from kfix.errors import UsageError
from kfix.model.cluster.snapshot import (
    LogEnd,
    Snapshot,
    TopicPartition,
    Vantage,
)
from kfix_diagnostics.engine import diagnose
from tests.unit.derive.places import A, seen_by, two
from tests.unit.diagnostics import cut_clusters
from tests.unit.diagnostics.test_any_cluster import papers

TP = TopicPartition("orders", 0)


def test_looks_at_two_clusters_are_refused_by_name() -> None:
    one, other = two()
    other = replace(other, cluster=replace(other.cluster, id="prod-2"))
    with pytest.raises(UsageError, match=r"az1\.json is of cluster paper, az2\.json is of cluster prod-2") as caught:
        merge([one, other])
    assert caught.value.exit_code == 2


def test_a_snapshot_without_an_id_joins_those_that_agree_and_it_is_said() -> None:
    one, other = two()
    one = replace(one, cluster=replace(one.cluster, id=""))
    assert merge([one, other]).cluster.id == "paper"
    [said] = taken_on_trust([one, other])
    assert said == "az1.json: has no cluster id; kfix assumes cluster paper, as in the other files"
    assert taken_on_trust(two()) == ()


def test_looks_of_which_none_tells_an_id_are_refused() -> None:
    nameless = [replace(s, cluster=replace(s.cluster, id="")) for s in two()]
    with pytest.raises(UsageError, match="none has a cluster id"):
        merge(nameless)
    assert taken_on_trust(nameless) == ()


def test_looks_too_far_apart_are_refused_with_both_times() -> None:
    one, other = two()
    merge([one, replace(other, taken_at=one.taken_at + APART)])
    late = replace(other, taken_at=one.taken_at + APART + 1)
    with pytest.raises(
        UsageError, match=r"az1\.json was taken at .* 08:00:00Z, az2\.json at .* 08:02:01Z, 121 s later"
    ):
        merge([late, one])


def test_a_file_without_a_vantage_lends_it_its_name_and_no_name_comes_twice() -> None:
    one, other = (replace(s, vantages=()) for s in two())
    third = replace(other, taken_at=other.taken_at + 1, origin="b/az1.json.gz")
    named = replace(other, taken_at=other.taken_at + 2, vantages=(Vantage("az2", 1.0, ("broker 2",), {}),), origin="x")
    merged = merge([replace(one, origin="a/az1.json"), other, third, named])
    assert [v.name for v in merged.vantages] == ["az1", "az1-2", "az2", "az2-2"]
    assert next(v for v in merged.vantages if v.name == "az1").reached == ("broker 1", f"zookeeper {A}")


def test_of_one_place_the_newest_snapshot_speaks_and_the_earlier_become_samples() -> None:
    first, other = two()
    second = replace(first, taken_at=first.taken_at + 5, log_ends={TP: {1: LogEnd(0, 150), 2: LogEnd(-1, -1, "gone")}})
    third = replace(first, taken_at=first.taken_at + 9, log_ends={TP: {1: LogEnd(0, 170)}})
    merged = merge([third, other, first, second])
    assert [(s.taken_at - first.taken_at, s.ends[TP]) for s in merged.samples] == [(0, {1: 130}), (5, {1: 150})]
    assert merged.log_ends[TP][1].end == 170
    assert [v.name for v in merged.vantages] == ["az1", "az2"]


def test_two_snapshots_of_one_name_that_reached_others_are_refused() -> None:
    one, other = two()
    same = replace(other, vantages=(replace(other.vantages[0], name="az1"),))
    with pytest.raises(UsageError, match=r"az1\.json and az2\.json are both of vantage 'az1'") as caught:
        merge([one, same])
    assert "--vantage NAME" in caught.value.hint


@st.composite
def looks(draw: st.DrawFn) -> list[Snapshot]:
    """One to four looks from places of their own at a cluster that may change in between; some tell no vantage."""
    found = []
    for place in draw(st.lists(st.sampled_from(["az1", "az2", "az3", "az4"]), min_size=1, max_size=4, unique=True)):
        whole = replace(
            draw(papers()).snapshot(),
            ensemble=cut_clusters.servers(a=draw(st.sampled_from(["leader", "no quorum", "-"]))),
        )
        brokers, later = draw(st.sets(st.integers(1, 5))), draw(st.sampled_from([0.0, 1.0, 60.0]))
        look = seen_by(whole, place, brokers, zookeeper=draw(st.booleans()), later=later)
        found.append(replace(look, vantages=()) if draw(st.booleans()) else look)
    return found


@settings(max_examples=60, deadline=None)
@given(looks(), st.randoms(use_true_random=False))
def test_the_order_of_files_and_a_file_given_twice_change_nothing(given_looks: list[Snapshot], chance: object) -> None:
    merged = merge(given_looks)
    shuffled = [*given_looks, given_looks[0]]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    again = merge(shuffled)
    assert again == merged
    assert list(again.views) == list(merged.views)
    assert diagnose(again) == diagnose(merged)


@settings(max_examples=60, deadline=None)
@given(looks())
def test_one_snapshot_stays_what_it_is_but_for_its_vantage(given_looks: list[Snapshot]) -> None:
    look = given_looks[0]
    merged = merge([look, look])
    assert replace(merged, vantages=()) == replace(look, vantages=())
    assert len(merged.vantages) == 1


@settings(max_examples=60, deadline=None)
@given(looks())
def test_whom_somebody_reached_is_in_the_result(given_looks: list[Snapshot]) -> None:
    merged = merge(given_looks)
    for vantage in merged.vantages:
        for who in vantage.reached:
            kind, _, name = who.partition(" ")
            assert kind == "zookeeper" or int(name) in merged.views
        assert not set(vantage.reached) & vantage.unreached.keys()
    assert merged.views.keys() == {b for s in given_looks for b in s.views}
    assert not merged.silent.keys() & merged.views.keys() or len(given_looks) == 1
    assert len(merged.vantages) == len(given_looks)
