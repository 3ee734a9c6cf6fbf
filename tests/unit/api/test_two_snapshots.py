"""A live cluster that is read twice: the second snapshot counts together with the first, or nothing is sure."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from kfix.core.clusters import DiagnoseOptions
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.target import Target
from kfix.diagnose import diagnosis as module
from kfix.diagnose.diagnosis import diagnose_live
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.test_settling import just_stuck


def another_election(age: float) -> Snapshot:
    paper = just_stuck(age)
    part = paper.part(OFFSETS_TOPIC, 43)
    part.epoch, part.version = part.epoch + 1, part.version + 1
    return paper.snapshot()


@pytest.mark.parametrize(
    ("snapshots", "unsettled"),
    [
        ([just_stuck(60).snapshot()], [False]),
        ([just_stuck(4).snapshot(), just_stuck(10).snapshot()], [False]),
        ([just_stuck(4).snapshot(), another_election(3)], [True]),
        ([just_stuck(4).snapshot(), base().snapshot()], []),
    ],
    ids=["one is enough", "it lasts", "another election", "it is over"],
)
def test_what_the_first_snapshot_did_not_show_is_not_settled(
    monkeypatch: pytest.MonkeyPatch, snapshots: list[Snapshot], unsettled: list[bool]
) -> None:
    left: Iterator[Snapshot] = iter(snapshots)
    monkeypatch.setattr(module, "read_cluster", lambda *_, **__: next(left))
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    found, snapshot = diagnose_live(Target(()), DiagnoseOptions(), lambda: lambda diagnosis, _snapshot: diagnosis)
    assert [finding.unsettled for finding in found.walk() if finding.code == "KFX101"] == unsettled
    assert snapshot.views == snapshots[-1].views
    assert [*left] == []
