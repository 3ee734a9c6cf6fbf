"""What would stop if brokers went down: of a live cluster, or of saved snapshots. Nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kfix.app.access import Access
from kfix.app.application import App
from kfix.app.clusters import DiagnoseOptions
from kfix.app.snapshots import load_merged
from kfix.derive.casefile import open_case
from kfix.derive.failures.judging import forecast
from kfix.derive.failures.scenarios import every_failure, failure_of
from kfix.model.cluster.snapshot import Snapshot
from kfix.model.diagnosis.forecast import Forecast


def forecast_live(app: App, access: Access, down: str | None, options: DiagnoseOptions) -> Forecast:
    """Returns the forecast of a live cluster; a moment that may be an ordinary election is read again, as `diagnose`.

    `down` names one failure (`broker=3`, `broker=3,4`, `rack=b`), whose partitions are listed; None: every broker,
    every rack, and every pair of brokers in a small cluster. Raises UsageError for an unknown broker or rack, and
    UnreachableError if no source answers.
    """
    return forecast_of(app.clusters.diagnose(access, options)[1], down)


def forecast_saved(paths: Sequence[Path], down: str | None, saying: Callable[[str], None]) -> Forecast:
    """As `forecast_live`, of saved snapshots; `saying` receives the assumptions of merging several."""
    return forecast_of(load_merged(paths, saying), down)


def forecast_of(snapshot: Snapshot, down: str | None) -> Forecast:
    case = open_case(snapshot)
    if down is not None:
        return forecast(case, (failure_of(down, case),), named=True)
    return forecast(case, every_failure(case))
