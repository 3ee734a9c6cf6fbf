"""Looks from several places put together: what each part of the one look is taken from."""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import pytest

from kfix.core.derive.merging.merge import merge
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import (
    Assignment,
    ClusterIdentity,
    EpochEnd,
    Group,
    LogEnd,
    Mode,
    Snapshot,
    Source,
    TopicPartition,
    ZooKeeperNode,
)
from kfix.diagnose.report.verdict import exit_code
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.core.derive.places import A, B, seen_by, two
from tests.unit.diagnostics import cut_clusters, kraft_clusters, migrations
from tests.unit.diagnostics.clusters import base, healthy, offsets_uncompacted
from tests.unit.diagnostics.group_readings import held, read, reading, transaction_log

TP = TopicPartition("orders", 0)


def shape(snapshot: Snapshot) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(f.key, f.severity, tuple(sorted(c.key for c in f.folded))) for f in diagnose(snapshot).findings]


# --- an older answer and a newer failure ------------------------------------------------------------------------------


def apart(older: Snapshot, newer: Snapshot, seconds: float) -> Diagnosis:
    """What two places show that were asked so long after each other."""
    pair = [seen_by(older, "az1", older.views.keys()), seen_by(newer, "az2", newer.views.keys(), later=seconds)]
    pair[0] = replace(pair[0], sources=older.sources, quorum=older.quorum)
    pair[1] = replace(pair[1], sources=newer.sources, quorum=newer.quorum, silent=newer.silent)
    return diagnose(merge(pair))


def without_zookeeper(snapshot: Snapshot) -> Snapshot:
    kept = tuple(s for s in snapshot.sources if not s.name.startswith("zookeeper"))
    return replace(snapshot, zookeeper=None, sources=(*kept, Source("zookeeper localhost:2181", ok=False, error="x")))


def one_silent() -> Snapshot:
    paper = base()
    paper.answering.discard(3)
    paper.silent = {3: "no answer in time"}
    return paper.snapshot()


LATER: dict[str, tuple[Callable[[], Snapshot], Callable[[], Snapshot], str]] = {
    "zookeeper": (healthy, lambda: without_zookeeper(healthy()), "zookeeper: answered at az1, and not at az2"),
    "a broker": (lambda: base().snapshot(), one_silent, "broker 3: answered at az1, and not at az2"),
    "the quorum": (
        kraft_clusters.healthy,
        kraft_clusters.two_controllers_dead,
        "the active controller: answered at az1",
    ),
}


@pytest.mark.parametrize("name", LATER)
def test_an_answer_hides_no_failure_that_came_later(name: str) -> None:
    older, newer, said = LATER[name]
    found = apart(older(), newer(), 100.0)
    assert [text for text in found.could_not_read if text.startswith(said)], found.could_not_read
    assert exit_code(found) in {21, 22}
    # At the same moment two places differ by where they are.
    assert not [text for text in apart(older(), newer(), 1.0).could_not_read if text.startswith(said)]


@pytest.mark.parametrize("later", [1.0, 60.0])
def test_a_broker_that_died_between_two_snapshots_is_not_cut_off(later: float) -> None:
    paper = base()
    older = paper.snapshot()
    paper.kill(3)
    newer = paper.snapshot()
    found = apart(older, newer, later)
    alone = {f.code for f in diagnose(newer).walk()}
    assert {f.code for f in found.walk()} == alone
    assert not {code for code in alone if code.startswith("KFX80")}
    # It answered one place: whether it died, or was cut off afterwards, these snapshots do not show.
    said = "broker 3: answered at az1, and is not registered any more"
    assert [text for text in found.could_not_read if text.startswith(said)]


def test_a_broker_that_no_place_saw_registered_is_cut_off_however_old_its_answer_is() -> None:
    cut, rest = two()
    codes = {f.code for f in diagnose(merge([cut, replace(rest, taken_at=cut.taken_at + 60)])).walk()}
    assert "KFX803" in codes


def test_a_coordinator_that_refuses_later_is_not_hidden_by_its_earlier_answer() -> None:
    paper = kraft_clusters.kraft()
    view = kraft_clusters.quorum(features={"group.version": 1, "metadata.version": 30})
    older = paper.snapshot(quorum=view)
    paper.broken_groups = {"g2": (0, 16)}
    assert "KFX118" in {f.code for f in apart(older, paper.snapshot(quorum=view), 100.0).walk()}


def test_a_migration_that_each_place_has_read_is_kept() -> None:
    made = migrations.waiting(prepared=(1, 2, 3), fetching=(1, 2))
    alone, both = diagnose(made), apart(made, made, 1.0)
    [one], [other] = ([f.summary for f in d.walk() if f.code == "KFX819"] for d in (alone, both))
    assert one == other


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


@for_each("name", FROM_AZ1)
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
    assert finding.facts["forecast_exact"] is False, "of the other partitions no place told the log ends"
    rows = {e.source: e.value for e in finding.evidence if e.source.startswith("from ")}
    assert rows == {
        "from az1": f"broker 1, zookeeper {A}; does not reach broker 2 (no answer in time), "
        f"broker 3 (no answer in time), zookeeper {B} (no answer in time)",
        "from az2": f"broker 2, broker 3, zookeeper {B}; does not reach zookeeper {A} (no answer in time)",
    }


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


def test_what_the_record_shows_of_topics_goes_before_what_an_isolated_broker_shows() -> None:
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


def test_a_high_watermark_stands_beside_the_log_end_of_the_same_snapshot() -> None:
    """That of an earlier one would look stuck."""
    here, there = two()
    here = replace(here, log_ends={TP: {2: LogEnd(0, 4)}}, visible={TP: {1: 1, 2: 4}})
    assert merge([here, replace(there, log_ends={TP: {2: LogEnd(0, 9)}}, visible={})]).visible == {TP: {1: 1}}


@pytest.mark.parametrize(("by_az1", "leader_known"), [((1,), False), ((), True)])
def test_ends_of_different_moments_show_no_lag(by_az1: tuple[int, ...], leader_known: bool) -> None:
    here, there = two()
    first = replace(there, log_ends={TP: {b: LogEnd(0, 50) for b in (2, 3)}})
    second = replace(there, taken_at=there.taken_at + 9, log_ends={TP: {b: LogEnd(0, 60) for b in (2, 3)}})
    merged = merge([first, second, replace(here, log_ends={TP: {b: LogEnd(0, 40) for b in by_az1}})])
    [sample] = merged.samples
    assert sample.ends[TP] == ({2: 50, 3: 50} if leader_known else {3: 50})


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
def test_an_epochs_end_is_reported_by_the_newer_leader_about_the_older_ones_epoch(end: EpochEnd, kept: bool) -> None:
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


def test_a_group_that_was_made_up_where_none_is_known_adds_nothing_to_a_known_one() -> None:
    whole = base().snapshot()
    here, there = seen_by(whole, "az1", {1}, later=5.0), seen_by(whole, "az2", {2, 3})
    known = next(probe for probe in there.probes if probe.answers)
    made_up = replace(known, group="kfix-no-such-group-1", find_error=0, fetch_error=-1, made_up=True)
    elsewhere = replace(made_up, partition=known.partition + 1)
    for order in ((here, there), (there, here)):
        both = [replace(order[0], probes=(made_up, elsewhere)), replace(order[1], probes=(known,))]
        assert merge(both).probes == (known, elsewhere)
        answered = replace(elsewhere, fetch_error=0)
        assert merge([both[0], replace(both[1], probes=(known, answered))]).probes == (known, answered)


def test_a_group_that_one_place_knows_is_not_made_up() -> None:
    whole = base().snapshot()
    here, there = seen_by(whole, "az1", {1}, later=5.0), seen_by(whole, "az2", {2, 3})
    known = replace(next(probe for probe in there.probes if probe.answers), group="kfix-no-such-group-1")
    both = [replace(here, probes=(replace(known, made_up=True),)), replace(there, probes=(known,))]
    assert [merge(order).probes for order in (both, both[::-1])] == [(known,), (known,)]


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


def test_settings_of_topics_that_one_place_read_are_known_and_those_refused_everywhere_are_not() -> None:
    here, there = two()
    lost = Source("topic configs", ok=False, error="not asked")
    here = replace(here, sources=(*here.sources, lost))
    there = replace(there, topic_configs={"orders": {"min.insync.replicas": "2"}})
    assert lost not in merge([here, there]).failed_sources
    assert lost in merge([here, replace(there, sources=(*there.sources, lost))]).failed_sources


def test_an_address_that_was_tried_in_vain_is_the_broker_that_another_place_found_there() -> None:
    here, there = two()
    vantage = replace(there.vantages[0], unreached={"localhost:9091": "refused", "localhost:7": "refused"})
    merged = merge([here, replace(there, vantages=(vantage,))])
    assert merged.vantages[1].unreached == {"broker 1": "refused", "localhost:7": "refused"}


def test_the_cluster_has_every_address_and_any_known_mode() -> None:
    here, there = two()
    here = replace(here, cluster=ClusterIdentity("paper", Mode.UNKNOWN, "b1:1,b2:1", ""))
    there = replace(there, cluster=ClusterIdentity("paper", Mode.ZOOKEEPER, "b2:1,b3:1", "zk:2181"))
    merged = merge([here, there])
    assert merged.cluster == ClusterIdentity("paper", Mode.ZOOKEEPER, "b2:1,b3:1,b1:1", "zk:2181")
    assert merged.origin == "az1.json, az2.json"


def test_what_earlier_snapshots_remember_is_put_together() -> None:
    here, there = two()
    here = replace(here, memory=Memory(("g", "h"), {7: "old:1", 8: "b8:1"}))
    there = replace(there, memory=Memory(("h", "i"), {7: "new:1"}))
    merged = merge([here, there])
    assert merged.memory.groups == ("h", "i", "g")
    assert merged.memory.brokers == {7: "new:1", 8: "b8:1"}


# --- readings of a group ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("apart", "found"), [(0.3, False), (9.9, False), (10.0, True), (60.0, True)])
def test_a_rebalance_that_two_places_see_at_one_moment_does_not_last(apart: float, found: bool) -> None:
    rebalancing = reading(state="PreparingRebalance")
    places = [_at(read(rebalancing), "a.json", 0), _at(read(rebalancing), "b.json", apart)]
    assert [f.code for f in diagnose(merge(places)).walk()] == ["KFX111"] * found
    transaction = read(held(), transaction_log=transaction_log())
    places = [_at(transaction, "a.json", 0), _at(transaction, "b.json", apart)]
    assert [f.code for f in diagnose(merge(places)).walk()] == ["KFX116"] * found


def test_of_readings_at_one_moment_the_most_complete_counts() -> None:
    refused = _at(read(reading(members=None, partitions=None)), "b.json", 1)
    (only,) = merge([_at(read(reading()), "a.json", 0), refused]).group_readings
    assert only.members is not None


def test_a_log_that_one_place_found_uncompacted_stays_so_where_another_did_not_read_it() -> None:
    found = replace(offsets_uncompacted(), origin="a.json")
    short = tuple(size._replace(records=-1, keys=-1, last_ms=-1, behind=-1) for size in found.offsets_sizes)
    unread = replace(found, origin="b.json", taken_at=found.taken_at + 1, offsets_sizes=short)
    assert merge([found, unread]).offsets_sizes == found.offsets_sizes
    refused = replace(unread, offsets_sizes=tuple(size._replace(error="refused") for size in short))
    assert merge([found, refused]).offsets_sizes == found.offsets_sizes
    assert merge([replace(unread, taken_at=found.taken_at), refused]).offsets_sizes == short


@pytest.mark.parametrize(("errors", "error"), [(("", "gone"), ""), (("gone", ""), ""), (("gone", "away"), "away")])
def test_transactions_that_one_place_has_read_are_known(errors: tuple[str, str], error: str) -> None:
    here, there = (_at(read(held(), transaction_log=transaction_log(e)), f"{n}.json", n) for n, e in enumerate(errors))
    merged = merge([here, there]).transaction_log
    assert merged is not None
    assert merged.error == error
    assert [state.producer for state in merged.found] == ([] if error else [4000])


def _at(snapshot: Snapshot, origin: str, later: float) -> Snapshot:
    readings = tuple(replace(r, taken_at=r.taken_at + later) for r in snapshot.group_readings)
    return replace(snapshot, origin=origin, taken_at=snapshot.taken_at + later, group_readings=readings)
