"""Another cluster behind a name is neither watched nor collected under it, as it is not diagnosed under it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.access import Access
from kfix.core.clusters import SnapshotOptions
from kfix.core.collect import collector
from kfix.core.contexts.pins import Contexts
from kfix.core.errors import RefusedError, UsageError
from kfix.core.inventory.model import ClusterEntry
from kfix.diagnose import snapshots
from kfix.diagnose.snapshots import read_entry
from kfix.heal.live.clusters import LiveClusters
from tests.unit.diagnostics.build import Paper

WATCHED = SnapshotOptions(keep=False)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cluster that answers has the id `now`."""
    answer = Paper().topic("orders", 3).snapshot()
    answer = replace(answer, cluster=replace(answer.cluster, id="now"))
    monkeypatch.setattr(collector, "collect", lambda *_: answer)
    monkeypatch.setenv("KFIX_STATE_HOME", str(tmp_path / "state"))
    return snapshots.state_folder() or tmp_path


def test_a_watch_refuses_another_cluster_than_the_one_that_its_name_stood_for(state: Path) -> None:
    named = Access("localhost:9092", name="prod")
    LiveClusters().snapshot(named, WATCHED)
    assert Contexts(state).pinned("prod") == "now"
    Contexts(state).pin("prod", "before")
    with pytest.raises(RefusedError, match="stood for cluster before, and the cluster that answers now is now"):
        LiveClusters().snapshot(named, WATCHED)
    with pytest.raises(RefusedError, match="the inventory has the id other"):
        LiveClusters().snapshot(replace(named, expected_id="other"), WATCHED)


@pytest.mark.parametrize("remember", [True, False])
def test_an_audit_collects_no_other_cluster_under_a_name(state: Path, remember: bool) -> None:
    entry = ClusterEntry("prod", bootstrap="localhost:9092")
    read_entry(entry, remember=remember)
    read_entry(replace(entry, id="now"), remember=remember)
    assert Contexts(state).pinned("prod") == "", "only a command about one cluster remembers"
    with pytest.raises(RefusedError, match="the inventory has the id other, and the cluster that answers is now"):
        read_entry(replace(entry, id="other"), remember=remember)
    Contexts(state).pin("prod", "before")
    with pytest.raises(RefusedError, match="this name stood for cluster before"):
        read_entry(entry, remember=remember)
    read_entry(replace(entry, id="now"), remember=remember)
    assert not [*state.rglob("memory.json")] or remember


def test_a_damaged_memory_of_a_name_is_one_line_of_its_cluster(state: Path) -> None:
    Contexts(state).pin("prod", "now")
    [kept] = (state / "contexts" / "ids").iterdir()
    kept.write_bytes(b"\xff\x00damaged")
    with pytest.raises(UsageError, match="cannot be read: not text"):
        read_entry(ClusterEntry("prod", bootstrap="localhost:9092"))
