"""KFX501 without a dead broker: whether a reassignment makes progress, by the log ends of several snapshots."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kfix.core.diagnosis.finding import Finding
from kfix.core.saved import files
from kfix.core.saved.files import encode
from kfix.core.saved.store import SnapshotStore
from kfix.core.snapshot.memory import MoveSeen
from kfix.core.snapshot.snapshot import Assignment, LogEnd, Sample, Snapshot, TopicPartition
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.build import DAY, NOW, remembering
from tests.unit.diagnostics.clusters import base

MOVED = TopicPartition("ledger", 0)
OTHER = TopicPartition("ledger", 1)


def moving(end: int = 40, *, at: float = NOW, other: int | None = None, zookeeper: bool = False) -> Snapshot:
    """ledger-0 is led by broker 1 and being moved to broker 3, which has `end` of its 900 records; so may ledger-1."""
    paper = base().topic("ledger", 2, replicas=[[1, 3], [1, 3]])
    paper = paper if zookeeper else kraft_clusters.kraft(paper)
    ends = {MOVED: end} | ({} if other is None else {OTHER: other})
    for tp in ends:
        paper.parts[tp].isr, paper.parts[tp].adding = (1,), (3,)
    paper.log_ends = {tp: {1: 900, 3: end} for tp, end in ends.items()}
    moves = {tp: Assignment((1, 3), (3,), (1,)) for tp in ends}
    quorum = {} if zookeeper else {"quorum": kraft_clusters.quorum()}
    return paper.snapshot(taken_at=at, reassignments=moves, **quorum)


def seen_before(
    snapshot: Snapshot, *, since: float, end: int = 40, last: float = 60, other: int | None = None
) -> Snapshot:
    """`since` and `last` are seconds ago."""
    ends = {MOVED: end} | ({} if other is None else {OTHER: other})
    memory = {tp: MoveSeen(NOW - since, NOW - last, ((3, each),)) for tp, each in ends.items()}
    return remembering(snapshot, moves=memory)


def found(snapshot: Snapshot) -> Finding | None:
    return next((f for f in diagnose(snapshot).walk() if f.code == "KFX501"), None)


def test_one_snapshot_never_shows_it_and_an_earlier_one_with_the_same_log_end_does() -> None:
    assert found(moving()) is None
    finding = found(seen_before(moving(), since=900))
    assert finding is not None
    assert finding.summary == "the reassignment of ledger-0 has made no progress for at least 15 min"
    assert finding.cause.text == "broker 3 has fetched nothing since: a throttle, a full disk or a bad link"
    shown = [(e.what, e.value, e.age) for e in finding.evidence if e.source == "earlier snapshots"]
    assert shown == [("ledger-0, log end", "40 on broker 3, the same since; 900 on leader 1", 900.0)]


@for_each(
    "snapshot",
    [
        seen_before(moving(), since=500),
        seen_before(moving(41), since=9000),
        # Another reassignment to the same broker may have begun since: a new replica is empty.
        seen_before(moving(0), end=0, since=9000, last=5000),
        seen_before(moving(), since=3 * DAY, last=2 * DAY),
        # The clock of this host was set back.
        seen_before(moving(), since=-60, last=-60),
        # Its broker was dead, and is back for five minutes.
        remembering(seen_before(moving(), since=9000), dead={3: NOW - 300}),
        # A log end that was not read shows no progress, and no lack of it.
        replace(seen_before(moving(), since=9000), log_ends={MOVED: {1: LogEnd(0, 900), 3: LogEnd(0, 0, "no answer")}}),
        # A throttle serves one reassignment after the other.
        seen_before(moving(other=70), since=900, other=60),
        seen_before(moving(other=70), since=900),
    ],
)
def test_progress_or_an_unknown_is_no_finding(snapshot: Snapshot) -> None:
    assert found(snapshot) is None


def test_after_an_hour_it_stands_still_although_others_are_served() -> None:
    finding = found(seen_before(moving(other=70), since=4000, other=60))
    assert finding is not None
    assert finding.partitions == (MOVED,)


def test_a_saved_snapshot_to_compare_with_dates_it_too() -> None:
    assert found(replace(moving(), samples=(Sample(NOW - 900, {MOVED: {1: 800, 3: 40}}),))) is not None
    assert found(replace(moving(), samples=(Sample(NOW - 900, {MOVED: {1: 800, 3: 39}}),))) is None
    # An empty replica may be that of another reassignment.
    assert found(replace(moving(0), samples=(Sample(NOW - 900, {MOVED: {1: 800, 3: 0}}),))) is None


def test_with_zookeeper_the_age_of_the_state_counts_unless_the_new_replica_is_seen_to_grow() -> None:
    assert found(moving(zookeeper=True)) is not None
    assert found(seen_before(moving(zookeeper=True), since=900, end=39)) is None


def stored(tmp_path: Path, snapshots: Mapping[float, int | None]) -> Snapshot:
    """Keeps one snapshot after the other, {seconds ago: log end}, and returns the last, which knows the others."""
    store = SnapshotStore(tmp_path)
    snapshot = moving()
    for ago, end in snapshots.items():
        taken = moving(0 if end is None else end, at=NOW - ago)
        if end is None:
            taken = replace(taken, log_ends={})
        snapshot = remembering(taken, moves=store.recall("paper").moves)
        store.keep(snapshot)
    return snapshot


def test_the_store_dates_it_and_any_progress_dates_it_anew(tmp_path: Path) -> None:
    assert stored(tmp_path / "a", {900: 40, 500: 40, 300: None, 0: 40}).memory.moves == {
        MOVED: MoveSeen(NOW - 900, NOW - 500, ((3, 40),))
    }
    assert found(stored(tmp_path / "a", {0: 40})) is not None
    assert found(stored(tmp_path / "b", {900: 40, 500: 41, 0: 41})) is None


def test_a_reassignment_that_has_ended_is_forgotten(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    store.keep(moving())
    assert store.recall("paper").moves.keys() == {MOVED}
    store.keep(replace(moving(), reassignments={}, memory=store.recall("paper")))
    assert store.recall("paper").moves == {}


def test_it_survives_a_file_and_a_damaged_memory_is_passed_over(tmp_path: Path) -> None:
    snapshot = seen_before(moving(), since=900)
    path = tmp_path / "s.json"
    assert files.parse(json.dumps(encode(snapshot)), path).memory.moves == snapshot.memory.moves
    store = SnapshotStore(tmp_path)
    kept = store.keep(snapshot)
    assert kept is not None
    memory = kept.parent / "memory.json"
    raw = json.loads(memory.read_text())
    rows: list[object] = [7, [], ["x", 1, []], [1, 1, [[1]]], [1, 1, 5], [-1, 1, []]]
    damaged: list[object] = [7, [7], {"t": 7}, {"t": {"x": [1, 1, []]}}, *({"t": {"0": row}} for row in rows)]
    for broken in damaged:
        memory.write_text(json.dumps(raw | {"moves": broken}))
        assert store.recall("paper").moves.keys() == {MOVED}, broken
