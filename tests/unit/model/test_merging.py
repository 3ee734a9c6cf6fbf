"""Looks from several places put together: each rule, and what holds whatever the looks hold."""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.errors import UsageError
from kfix.model.merging.looks import APART, taken_on_trust
from kfix.model.merging.merge import merge
from kfix.model.snapshot import (
    Assignment,
    ClusterIdentity,
    EpochEnd,
    Group,
    LogEnd,
    Mode,
    Snapshot,
    Source,
    TopicPartition,
    Vantage,
    ZooKeeperNode,
)
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics import cut_clusters
from tests.unit.diagnostics.clusters import base, healthy
from tests.unit.diagnostics.test_any_cluster import papers
from tests.unit.model.places import seen_by

TP = TopicPartition("orders", 0)
A, B = "zk-a:2181", "zk-b:2181"


def two(whole: Snapshot | None = None) -> tuple[Snapshot, Snapshot]:
    """Zone az1 with broker 1 and one server without a quorum, and everything else a second later."""
    seen = whole if whole is not None else cut_clusters.zone_isolated()
    modes = (ZooKeeperNode(A, "no quorum"), ZooKeeperNode(B, "leader", zxid=9))
    seen = replace(seen, ensemble=modes)
    return (
        seen_by(seen, "az1", {1}, {A}, zookeeper=False),
        seen_by(seen, "az2", {2, 3}, {B}, later=1.0),
    )


def shape(snapshot: Snapshot) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(f.key, f.severity, tuple(sorted(c.key for c in f.folded))) for f in diagnose(snapshot).findings]


# --- the same finding as one observer who reaches all ---------------------------------------------------------------

FROM_AZ1: dict[str, tuple[Callable[[], Snapshot], set[int], bool]] = {
    "zone isolated": (cut_clusters.zone_isolated, {1}, False),
    "zone isolated, leading nothing": (cut_clusters.zone_isolated_leading_nothing, {1}, False),
    "two controllers": (cut_clusters.two_controllers, {1}, False),
    "link cut": (cut_clusters.link_cut, {1, 3}, True),
    "controller link cut": (cut_clusters.controller_link_cut, {1, 2}, True),
    "broker alone": (cut_clusters.broker_alone, {1}, True),
    "controller alone": (cut_clusters.controller_alone, {1, 2}, True),
    "slow link": (cut_clusters.slow_link, {1}, True),
    "healthy": (healthy, {1}, True),
}


@pytest.mark.parametrize("name", FROM_AZ1)
def test_a_cut_is_found_as_by_one_who_reaches_all(name: str) -> None:
    make, brokers, zookeeper = FROM_AZ1[name]
    whole = make()
    here = seen_by(whole, "az1", brokers, zookeeper=zookeeper)
    there = seen_by(whole, "az2", {2, 3})
    merged = merge([here, there])
    assert shape(merged) == shape(whole)
    assert diagnose(merged).could_not_read == diagnose(whole).could_not_read


def test_the_forecast_is_the_same_too() -> None:
    finding = diagnose(merge(two())).findings[0]
    assert finding.code == "KFX803"
    assert finding.facts["forecast_total"] == 30
    assert finding.facts["forecast_exact"] is True
    rows = {e.source: e.value for e in finding.evidence if e.source.startswith("from ")}
    assert rows == {
        "from az1": f"broker 1, zookeeper {A}; not broker 2 (no answer in time), broker 3 (no answer in time), "
        f"zookeeper {B} (no answer in time)",
        "from az2": f"broker 2, broker 3, zookeeper {B}; not zookeeper {A} (no answer in time)",
    }


# --- which looks go together ----------------------------------------------------------------------------------------


def test_looks_at_two_clusters_are_refused_by_name() -> None:
    one, other = two()
    other = replace(other, cluster=replace(other.cluster, id="prod-2"))
    with pytest.raises(UsageError, match=r"az1\.json is of cluster paper, az2\.json is of cluster prod-2") as caught:
        merge([one, other])
    assert caught.value.exit_code == 2


def test_a_look_without_an_id_joins_those_that_agree_and_it_is_said() -> None:
    one, other = two()
    one = replace(one, cluster=replace(one.cluster, id=""))
    assert merge([one, other]).cluster.id == "paper"
    [said] = taken_on_trust([one, other])
    assert said == "az1.json: tells no cluster id; it is taken for a look at cluster paper, as the other files are"
    assert taken_on_trust(two()) == ()


def test_looks_of_which_none_tells_an_id_are_refused() -> None:
    nameless = [replace(s, cluster=replace(s.cluster, id="")) for s in two()]
    with pytest.raises(UsageError, match="none tells a cluster id"):
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


def test_of_one_place_the_newest_look_speaks_and_the_earlier_become_samples() -> None:
    first, other = two()
    second = replace(first, taken_at=first.taken_at + 5, log_ends={TP: {1: LogEnd(0, 150), 2: LogEnd(-1, -1, "gone")}})
    third = replace(first, taken_at=first.taken_at + 9, log_ends={TP: {1: LogEnd(0, 170)}})
    merged = merge([third, other, first, second])
    assert [(s.taken_at - first.taken_at, s.ends[TP]) for s in merged.samples] == [(0, {1: 130}), (5, {1: 150})]
    assert merged.log_ends[TP][1].end == 170
    assert [v.name for v in merged.vantages] == ["az1", "az2"]


def test_two_looks_of_one_name_that_reached_others_are_refused() -> None:
    one, other = two()
    same = replace(other, vantages=(replace(other.vantages[0], name="az1"),))
    with pytest.raises(UsageError, match=r"az1\.json and az2\.json are both of vantage 'az1'") as caught:
        merge([one, same])
    assert "--vantage NAME" in caught.value.hint


# --- what each part is taken from -----------------------------------------------------------------------------------


def test_of_each_broker_the_newest_view_counts() -> None:
    whole = healthy()
    old, new = seen_by(whole, "a", {1, 2}), seen_by(whole, "b", {2, 3}, later=2.0)
    changed = replace(whole.views[2], controller=77)
    merged = merge([replace(new, views={**new.views, 2: changed}), old])
    assert merged.views == {1: whole.views[1], 2: changed, 3: whole.views[3]}
    assert merged.taken_at == new.taken_at
    assert merged.addresses == whole.addresses
    assert merged.broker_configs == whole.broker_configs
    assert merged.silent == {}


def test_the_record_is_that_of_a_server_with_a_quorum_then_the_highest_zxid_then_the_newest() -> None:
    whole = healthy()
    assert whole.zookeeper is not None

    def look(name: str, mode: str, zxid: int, later: float) -> Snapshot:
        assert whole.zookeeper is not None
        record = replace(whole.zookeeper, server=f"{name}:1")
        seen = replace(whole, zookeeper=record, ensemble=(ZooKeeperNode(f"{name}:1", mode, zxid=zxid),))
        return seen_by(seen, name, {1, 2, 3}, later=later)

    def chosen(*looks: Snapshot) -> str:
        [server] = {m.zookeeper.server for order in permutations(looks) if (m := merge(order)).zookeeper is not None}
        return server

    assert chosen(look("a", "follower", 5, 0), look("b", "read-only", 9, 5)) == "a:1"
    assert chosen(look("a", "follower", 7, 0), look("b", "leader", 6, 5)) == "a:1"
    assert chosen(look("a", "follower", 7, 0), look("b", "leader", 7, 5)) == "b:1"
    blind = seen_by(whole, "c", {1}, zookeeper=False, later=9)
    assert chosen(look("a", "follower", 7, 0), blind) == "a:1"


def test_what_the_record_says_of_topics_goes_before_what_an_isolated_broker_says() -> None:
    here, there = two()
    here = replace(here, taken_at=there.taken_at + 5, topic_configs={"t": {"k": "old"}, "x": {"k": "only"}})
    here = replace(here, reassignments={TP: Assignment((1,))})
    there = replace(there, topic_configs={"t": {"k": "new"}}, reassignments={})
    merged = merge([here, there])
    assert merged.topic_configs == {"t": {"k": "new"}, "x": {"k": "only"}}
    assert merged.reassignments == {}
    assert merge([here, replace(there, reassignments=None)]).reassignments == {TP: Assignment((1,))}


def test_each_server_has_its_best_answer() -> None:
    here, there = two()
    here = replace(here, ensemble=(ZooKeeperNode(A, "no quorum"), ZooKeeperNode(B, "follower")))
    there = replace(there, ensemble=(ZooKeeperNode(B, "leader"), ZooKeeperNode(A, "", "no answer in time")))
    assert merge([here, there]).ensemble == (ZooKeeperNode(A, "no quorum"), ZooKeeperNode(B, "leader"))
    mute = ZooKeeperNode(A, "", "srvr is not allowed there")
    assert merge([replace(here, ensemble=(mute,)), there]).ensemble[0] == mute


def test_log_ends_and_high_watermarks_are_the_newest_that_are_no_error() -> None:
    here, there = two()
    here = replace(here, log_ends={TP: {1: LogEnd(0, 9), 2: LogEnd(0, 4)}}, visible={TP: {1: 3, 2: 1}})
    there = replace(there, log_ends={TP: {1: LogEnd(-1, -1, "gone"), 2: LogEnd(0, 5)}}, visible={TP: {2: 2}})
    merged = merge([there, here])
    assert merged.log_ends == {TP: {1: LogEnd(0, 9), 2: LogEnd(0, 5)}}
    assert merged.visible == {TP: {1: 3, 2: 2}}


@pytest.mark.parametrize(
    ("end", "kept"),
    [
        (EpochEnd(2, 0, 100), True),
        (EpochEnd(2, -1, 100), True),  # an older epoch: no record lies between
        (EpochEnd(2, 1, 100), False),  # the end of a later one
        (EpochEnd(3, 0, 100), False),  # of one who does not lead
        (EpochEnd(1, 0, 100), False),  # of the older leader itself
    ],
)
def test_an_epochs_end_is_told_by_the_newer_leader_about_the_older_ones_epoch(end: EpochEnd, kept: bool) -> None:
    here, there = two()
    merged = merge([here, replace(there, epoch_ends={TP: end})])
    assert merged.epoch_ends == ({TP: end} if kept else {})
    assert two()[1].views[2].partitions[TP].leader_epoch == 1


def test_a_probe_that_was_answered_goes_before_one_that_was_not() -> None:
    whole = base().snapshot()
    here = seen_by(whole, "az1", {1}, later=5.0)
    there = seen_by(whole, "az2", {2, 3})
    assert not all(p.answers for p in here.probes)
    merged = merge([here, there])
    assert [p.answers for p in merged.probes] == [True, True, True]
    refused = replace(there.probes[0], find_error=15, fetch_error=None, coordinator=None)
    silent = replace(there.probes[0], find_error=-1, fetch_error=None, coordinator=None)
    for order in (([refused], [silent]), ([silent], [refused])):
        merged = merge([replace(there, probes=tuple(order[0])), replace(here, probes=tuple(order[1]))])
        assert merged.probes == (refused,)


def test_groups_are_listed_by_everybody_and_complete_where_every_live_broker_has_listed() -> None:
    here, there = two(healthy())
    here = replace(here, groups=(Group("g", (1,)), Group("h", (1,), "Stable")))
    there = replace(there, groups=(Group("g", (2, 3), "Empty", ("m",)),))
    merged = merge([here, there])
    assert merged.groups == (Group("g", (1, 2, 3), "Empty", ("m",)), Group("h", (1,), "Stable"))
    assert merged.groups_complete
    refused = Source("groups on broker 1", ok=False, error="not authorised")
    assert not merge([replace(here, sources=(*here.sources, refused)), there]).groups_complete
    assert not merge([here, seen_by(healthy(), "az2", {2})]).groups_complete


def test_a_source_has_failed_only_where_it_answered_nowhere() -> None:
    here, there = two()
    lost = Source("log ends broker 3", ok=False, error="no answer in time")
    here = replace(here, sources=(*here.sources, Source("zookeeper elsewhere:2181", ok=False, error="refused")))
    merged = merge([here, replace(there, sources=(*there.sources, lost))])
    assert merged.failed_sources == (lost,)
    assert merged.silent == {}
    nobody = merge([seen_by(healthy(), "a", {1}), seen_by(healthy(), "b", {2})])
    assert nobody.silent == {3: "no answer in time"}
    assert [s.name for s in nobody.failed_sources] == ["broker 3"]


def test_an_address_that_was_tried_in_vain_is_the_broker_that_another_place_found_there() -> None:
    here, there = two()
    vantage = replace(there.vantages[0], unreached={"localhost:9091": "refused", "localhost:7": "refused"})
    merged = merge([here, replace(there, vantages=(vantage,))])
    assert merged.vantages[1].unreached == {"broker 1": "refused", "localhost:7": "refused"}


def test_the_cluster_has_every_address_and_the_mode_that_somebody_knows() -> None:
    here, there = two()
    here = replace(here, cluster=ClusterIdentity("paper", Mode.UNKNOWN, "b1:1,b2:1", ""))
    there = replace(there, cluster=ClusterIdentity("paper", Mode.ZOOKEEPER, "b2:1,b3:1", "zk:2181"))
    merged = merge([here, there])
    assert merged.cluster == ClusterIdentity("paper", Mode.ZOOKEEPER, "b2:1,b3:1,b1:1", "zk:2181")
    assert merged.origin == "az1.json, az2.json"


def test_what_earlier_looks_remember_is_put_together() -> None:
    here, there = two()
    here = replace(here, remembered_groups=("g", "h"), remembered_brokers={7: "old:1", 8: "b8:1"})
    there = replace(there, remembered_groups=("h", "i"), remembered_brokers={7: "new:1"})
    merged = merge([here, there])
    assert merged.remembered_groups == ("h", "i", "g")
    assert merged.remembered_brokers == {7: "new:1", 8: "b8:1"}


# --- whatever the looks hold ----------------------------------------------------------------------------------------


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
def test_one_look_stays_what_it_is_but_for_its_vantage(given_looks: list[Snapshot]) -> None:
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
