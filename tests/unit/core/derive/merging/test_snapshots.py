"""Which looks go together."""

from dataclasses import replace

import pytest

from kfix.core.derive.merging.merge import merge
from kfix.core.derive.merging.snapshots import APART, taken_on_trust
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import (
    LogEnd,
    TopicPartition,
    Vantage,
)
from tests.unit.core.derive.places import A, two

TP = TopicPartition("orders", 0)


def test_snapshots_of_two_clusters_are_refused_by_name() -> None:
    one, other = two()
    other = replace(other, cluster=replace(other.cluster, id="prod-2"))
    with pytest.raises(UsageError, match=r"az1\.json is of cluster paper, az2\.json is of cluster prod-2") as caught:
        merge([one, other])
    assert caught.value.exit_code == 2


def test_a_snapshot_without_an_id_joins_those_that_agree_and_this_is_reported() -> None:
    one, other = two()
    one = replace(one, cluster=replace(one.cluster, id=""))
    assert merge([one, other]).cluster.id == "paper"
    [said] = taken_on_trust([one, other])
    assert said == "az1.json: has no cluster id; kfix assumes cluster paper, as in the other files"
    assert taken_on_trust(two()) == ()


def test_snapshots_without_any_id_are_refused() -> None:
    nameless = [replace(s, cluster=replace(s.cluster, id="")) for s in two()]
    with pytest.raises(UsageError, match="none has a cluster id"):
        merge(nameless)
    assert taken_on_trust(nameless) == ()


def test_snapshots_too_far_apart_are_refused_with_both_times() -> None:
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
