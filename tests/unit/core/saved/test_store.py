"""Snapshots on disk: whole or refused with one line, and a store that remembers what a sick cluster no longer tells."""

import gzip
import json
from dataclasses import MISSING, fields, replace
from pathlib import Path

import pytest
from hypothesis import given

from kfix.core.errors import UsageError
from kfix.core.saved import files
from kfix.core.saved.files import encode
from kfix.core.saved.store import KEEP, SnapshotStore
from kfix.core.snapshot.broker_answers import OffsetsLogSize
from kfix.core.snapshot.memory import AtRisk, Memory, MoveSeen
from kfix.core.snapshot.quorum import ControllerAnswer, QuorumReplica, QuorumView
from kfix.core.snapshot.snapshot import (
    Assignment,
    BrokerView,
    ClusterIdentity,
    ControllerNode,
    CoordinatorProbe,
    Endpoint,
    EpochEnd,
    Group,
    LogEnd,
    LoggedGroup,
    Mode,
    OffsetsLog,
    OpenTransaction,
    PartitionState,
    PartitionView,
    Registration,
    Sample,
    Snapshot,
    Source,
    TopicPartition,
    Vantage,
    ZooKeeperNode,
    ZooKeeperView,
)
from kfix.core.snapshot.transactions import OpenBatch, TransactionLog, TransactionState
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.core.saved.values import values_of
from tests.unit.diagnostics.group_readings import reading

TP = TopicPartition("__consumer_offsets", 0)
HERE = Endpoint("127.0.0.1", 9092)


QUORUM = QuorumView(
    leader=100,
    epoch=3,
    high_watermark=50,
    voters=(QuorumReplica(100, 50, 0.0, 0.0, "ho3x3DWyPxPVVG6QlcNQuw"),),
    observers=(QuorumReplica(1, 49, 0.4, 0.5),),
    controllers=(ControllerAnswer(100, "h:9093", active=True), ControllerAnswer(-1, "h:1", refused=True, error="no")),
    through=1,
    forwarded="x",
    offsets={1: 49},
    later={1: 51},
    apart=1.6,
    configured={100: "h:9093"},
    features={"metadata.version": 30},
    fenced=(2,),
    ignored_zookeeper="z:2181",
    supported={1: 30, 100: 30},
    controller_settings={100: {"unclean.leader.election.enable": "true"}},
    clock_ahead=-7,
)


def whole(**changes):
    """Every field filled, so that one which the format forgets is seen."""
    view = BrokerView(1, 1, {1: HERE}, {1: "a"}, {TP: PartitionView(1, 3, (1, 2), (1,), (2,), 9)})
    zookeeper = ZooKeeperView(
        connect="127.0.0.1:2181/k",
        server="127.0.0.1:2181",
        controller=ControllerNode(1, 5, 6, 7, 8, 9, 10),
        registrations={1: Registration(1, HERE, "a", 4, 5), 2: Registration(2, None, None, 6, 7)},
        assignments={TP: Assignment((1, 2), (3,), (2,))},
        states={TP: PartitionState(1, 3, (1,), 7, 2, 44, 55)},
        reassigning={TP: (1, 3)},
        deleting=frozenset({"old"}),
        topic_configs={"t": {"min.insync.replicas": "2"}},
        isr_notifications=2,
        preferred_election_pending=True,
        migrating=True,
        migrating_since_ms=123,
        copied=742,
        clock_ahead=3600,
        members_zxid=42,
    )
    snapshot = Snapshot(
        taken_at=1234.5,
        kfix="0.0.1",
        cluster=ClusterIdentity("abc", Mode.ZOOKEEPER, "127.0.0.1:9092", "127.0.0.1:2181/k"),
        sources=(Source("broker 1", ok=False, error="why", seconds=0.5),),
        views={1: view},
        zookeeper=zookeeper,
        quorum=QUORUM,
        migration=replace(QUORUM, migrating=("h:9093",)),
        broker_configs={1: {"min.insync.replicas": "1"}},
        topic_configs={"t": {"min.insync.replicas": "2"}},
        groups=(Group("g", (1, 2), "Stable", ("c/h",)),),
        groups_complete=True,
        probes=(CoordinatorProbe("g", 0, 0, 1, 0, 4, "e", 0.25),),
        group_readings=(
            reading(held={TP: OpenBatch(4, 7, 3, 1000)}),
            reading(members=None, partitions=None, endpoint=None, unconnected=None),
        ),
        offsets_logs=(
            OffsetsLog(
                0, 1, 2, 9, 5, 3, 9, (LoggedGroup("g", 1, (TP,), None),), (OpenTransaction(7, 1000, ("g",)),), "x"
            ),
        ),
        transaction_log=TransactionLog((TransactionState("ledger", 7, 3, 60_000, "Ongoing", 1000),), "no leader"),
        offsets_sizes=(
            OffsetsLogSize(0, 1, 400, 50, 2, 1000, 320),
            OffsetsLogSize(0, 2, 400),
            OffsetsLogSize(1, 2, -1, error="no answer"),
        ),
        stated_partitions={"t": 3},
        log_ends={TP: {1: LogEnd(0, 9, ""), 2: LogEnd(-1, -1, "gone")}},
        visible={TP: {1: 8}},
        epoch_ends={TP: EpochEnd(2, 3, 7, "")},
        ensemble=(ZooKeeperNode("127.0.0.1:2181", "leader", "x", 1 << 33),),
        samples=(Sample(1230.5, {TP: {1: 7, 2: 6}}, {TP: (1, 2, 3)}, {TP: 5}),),
        vantages=(Vantage("az1", 1233.5, ("broker 1",), {"broker 2": "no answer in time"}),),
        reassignments={TP: Assignment((1, 2), (3,), ())},
        addresses={1: HERE},
        silent={2: "hung"},
        foreign={"h:9099": "other"},
        memory=Memory(
            groups=("old-group",),
            brokers={9: "h:1"},
            seen={9: 1230.5},
            alive={1: 1200.5},
            dead={9: 1210.5},
            well={1: 1220.5},
            epochs={3: 1200.5},
            applied={1 << 40: 1200.5},
            moves={TP: MoveSeen(1000.5, 1200.5, ((3, 5),))},
            at_risk={TP: AtRisk(1100.5, 1, 4, 6, (1, 2), 2, 3, 70, 60, 1300.5)},
        ),
        seconds=0.75,
    )
    return replace(snapshot, **changes)


@pytest.mark.parametrize("name", ["s.json", "s.json.gz"])
def test_what_is_saved_is_what_is_read(tmp_path, name):
    path = tmp_path / name
    files.save(whole(), path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert files.parse(files.read_text(path), path) == whole(origin=str(path))


def test_unknown_parts_stay_unknown(tmp_path):
    path = tmp_path / "s.json"
    nothing = whole(zookeeper=None, reassignments=None)
    files.save(nothing, path)
    found = files.parse(files.read_text(path), path)
    assert found.zookeeper is None
    assert found.reassignments is None


def test_a_newer_format_names_the_version_that_wrote_it(tmp_path):
    path = tmp_path / "s.json"
    files.save(whole(), path)
    raw = json.loads(path.read_text()) | {"version": 2, "kfix": "9.1"}
    path.write_text(json.dumps(raw))
    with pytest.raises(UsageError, match=r"snapshot format 2 of kfix 9\.1; this kfix reads up to 1") as caught:
        files.parse(files.read_text(path), path)
    assert caught.value.hint == "upgrade kfix on this machine"


def test_every_cut_of_a_file_is_damage_and_never_a_traceback(tmp_path):
    path = tmp_path / "s.json"
    files.save(whole(), path)
    text = path.read_text()
    for end in range(0, len(text) - 1, 37):
        with pytest.raises(UsageError):
            files.parse(text[:end], path)


def test_when_a_quorum_was_last_in_each_leader_epoch_is_remembered_for_an_hour(tmp_path):
    store = SnapshotStore(tmp_path)
    first = replace(whole(), quorum=QUORUM, taken_at=1_700_000_000.0, memory=Memory())
    store.keep(first)
    assert store.recall(first.cluster.id).epochs == {3: first.taken_at}
    later = replace(
        first, quorum=replace(QUORUM, epoch=9), taken_at=first.taken_at + 60, memory=Memory(epochs={3: first.taken_at})
    )
    store.keep(later)
    assert store.recall(first.cluster.id).epochs == {3: first.taken_at, 9: later.taken_at}
    store.keep(
        replace(later, taken_at=later.taken_at + 4000, memory=Memory(epochs={3: first.taken_at, 9: later.taken_at}))
    )
    assert store.recall(first.cluster.id).epochs == {9: later.taken_at + 4000}


def test_when_the_metadata_was_found_first_at_its_newest_offset_is_remembered(tmp_path):
    store = SnapshotStore(tmp_path)
    began = 1_700_000_000.0
    first = replace(whole(), quorum=replace(QUORUM, offsets={1: 57, 2: 56}, later={}), taken_at=began)
    first = replace(first, memory=Memory(applied={40: began - 60}))
    store.keep(first)
    assert store.recall(first.cluster.id).applied == {57: began}
    again = replace(first, taken_at=began + 90, memory=Memory(applied={57: began}))
    store.keep(again)
    assert store.recall(first.cluster.id).applied == {57: began}
    # Where no broker answers, what is known stays; a snapshot before the clock was set back does not make it younger.
    store.keep(replace(again, quorum=replace(QUORUM, offsets={}, later={}), taken_at=began + 100))
    assert store.recall(first.cluster.id).applied == {57: began}
    store.keep(replace(again, quorum=replace(QUORUM, offsets={1: 58}, later={1: 60}), taken_at=began + 120))
    assert store.recall(first.cluster.id).applied == {60: began + 120}


def test_a_controller_that_stops_answering_is_remembered_as_away_unless_it_is_a_broker(tmp_path):
    store = SnapshotStore(tmp_path)
    mute = ControllerAnswer(100, "h:9093", error="no answer")
    snapshot = replace(whole(), quorum=replace(QUORUM, controllers=(mute,)), taken_at=1_700_000_000.0)
    store.keep(replace(snapshot, memory=Memory()))
    assert 100 not in store.recall(snapshot.cluster.id).dead, "it may never have been reached from here"
    store.keep(replace(snapshot, memory=Memory(alive={100: snapshot.taken_at - 60})))
    assert store.recall(snapshot.cluster.id).dead[100] == snapshot.taken_at


OPTIONAL = {f.name for f in fields(Snapshot) if f.default is not MISSING or f.default_factory is not MISSING}


@for_each("key", sorted(encode(whole())))
def test_a_missing_or_mistyped_part_is_damage_and_one_with_a_default_may_be_missing(tmp_path, key):
    path = tmp_path / "s.json"
    raw = encode(whole())
    without = {k: v for k, v in raw.items() if k != key}
    if key in OPTIONAL:
        assert files.parse(json.dumps(without), path)
        without = raw | {key: [7]}
    for broken in (without, raw | {key: [7]}):
        with pytest.raises(UsageError, match=r"damaged|not a kfix snapshot"):
            files.parse(json.dumps(broken), path)


def test_a_field_that_this_version_does_not_know_is_ignored(tmp_path):
    raw = encode(whole())
    raw["cluster"]["later"] = raw["later"] = [1]
    assert files.parse(json.dumps(raw), tmp_path) == whole(origin=str(tmp_path))


@given(values_of(Snapshot))
def test_every_field_survives_a_file(snapshot):
    views = {b: replace(view, broker=b) for b, view in snapshot.views.items()}
    vantages = tuple(replace(vantage, name="az1") for vantage in snapshot.vantages)
    zookeeper = snapshot.zookeeper
    if zookeeper is not None:
        marks = {b: replace(mark, broker=b) for b, mark in zookeeper.registrations.items()}
        zookeeper = replace(zookeeper, registrations=marks)
    wanted = replace(snapshot, views=views, vantages=vantages, zookeeper=zookeeper, origin="s.json")
    assert files.parse(json.dumps(encode(wanted)), Path("s.json")) == wanted


def test_a_torn_gzip_file_is_damage(tmp_path):
    path = tmp_path / "s.json.gz"
    files.save(whole(), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match="is damaged"):
        files.read_text(path)
    path.write_bytes(gzip.compress(b"\xff\xfe\xff"))
    with pytest.raises(UsageError, match="neither a snapshot nor text"):
        files.read_text(path)


def test_the_store_remembers_groups_and_brokers_and_keeps_the_last_ones(tmp_path):
    store = SnapshotStore(tmp_path)
    for second in range(KEEP + 5):
        store.keep(whole(taken_at=float(second), groups_complete=False))
    assert len(store.files("abc")) == KEEP
    memory = store.recall("abc")
    assert memory.groups == ("g", "old-group")
    assert memory.brokers == {9: "h:1", 1: "127.0.0.1:9092"}


def test_a_group_that_a_working_coordinator_no_longer_lists_is_forgotten(tmp_path):
    store = SnapshotStore(tmp_path)
    store.keep(whole())
    assert store.recall("abc").groups == ("g",)


def test_a_damaged_snapshot_in_the_store_is_passed_over(tmp_path):
    store = SnapshotStore(tmp_path)
    store.keep(whole(taken_at=1.0))
    newest = store.keep(whole(taken_at=2.0))
    newest.write_bytes(b"\x1f\x8bnothing")
    (newest.parent / "memory.json").write_text("{torn")
    assert "g" in store.recall("abc").groups


def test_a_store_that_cannot_write_costs_no_snapshot(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    store = SnapshotStore(blocked)
    assert store.keep(whole()) is None
    assert store.trouble
    note = f"this snapshot was not stored for later diagnoses: {store.trouble}"
    assert diagnose(replace(whole(), not_kept=store.trouble)).notes == (*diagnose(whole()).notes, note)
    assert SnapshotStore(blocked).recall("abc").groups == ()


def test_a_cluster_without_an_id_is_not_kept(tmp_path):
    nameless = whole(cluster=ClusterIdentity("", Mode.UNKNOWN))
    assert SnapshotStore(tmp_path).keep(nameless) is None


def test_a_broker_unseen_for_a_week_is_forgotten(tmp_path):
    """One that was taken out must not be missed forever (KFX404)."""
    store = SnapshotStore(tmp_path)
    store.keep(whole(taken_at=1000.0))
    later = whole(taken_at=1000.0 + 3 * 86400, memory=store.recall("abc"))
    store.keep(later)
    assert set(store.recall("abc").brokers) == {1, 9}
    store.keep(whole(taken_at=1000.0 + 8 * 86400, memory=store.recall("abc")))
    assert set(store.recall("abc").brokers) == {1}
