"""The audit names racks as the inventory does: a worker gets the names with its task."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from kfix.core.criteria import CRITERIA, Criteria
from kfix.core.inventory.model import ClusterEntry, Inventory
from kfix.fleet.audit.judging import judged
from kfix.fleet.audit.reading import report
from kfix.fleet.audit.running import audit
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run
from kfix.fleet.store.staging import RunWriter
from tests.unit.diagnostics.cut_clusters import zone_isolated

DAY = date(2026, 3, 1)
NAMED = "zone Hamburg (rack az1, broker 1)"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    writer = RunWriter(place_of(tmp_path), DAY, "r1")
    writer.write("shop", zone_isolated())
    writer.finish({}, inputs="one")
    return tmp_path


def test_a_worker_uses_the_names_that_it_is_given(store: Path) -> None:
    stored = newest_run(place_of(store), DAY, "r1").stored()["shop"]
    for criteria, named in ((Criteria(zones={"az1": "Hamburg"}), True), (CRITERIA, False)):
        rows, _ = judged("shop", stored, criteria, DAY)
        assert any(NAMED in found.summary for found in rows) == named


def test_an_audit_takes_the_names_of_the_inventory(store: Path) -> None:
    run, engine = newest_run(place_of(store), DAY, "r1"), EmbeddedEngine(1)
    entry = ClusterEntry("shop", bootstrap="h:1", zones={"az1": "Hamburg"})
    found = report(place_of(store), audit(place_of(store), run, Inventory({"shop": entry}), engine), engine)
    assert any(NAMED in each.summary for each in found.findings)
