"""What would stop if brokers went down: in a live cluster, or in saved snapshots. It changes nothing."""

from collections.abc import Callable, Sequence
from pathlib import Path

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clusters import DiagnoseOptions
from kfix.core.derive.casefile import open_case
from kfix.core.diagnosis.forecast import Forecast
from kfix.core.failures.judging import forecast
from kfix.core.failures.scenarios import every_failure, failure_of
from kfix.core.snapshot.snapshot import Snapshot
from kfix.diagnose.snapshots import load_merged


def forecast_live(app: App, access: Access, down: str | None, options: DiagnoseOptions) -> Forecast:
    """Returns the forecast of a live cluster; as in a diagnosis, a second snapshot settles an ordinary election.

    `down` names one failure (`broker=3`, `broker=3,4`, `rack=b`), whose partitions are listed; None: every broker,
    every rack, and every pair of brokers in a small cluster. Raises UsageError for an unknown broker or rack, and
    UnreachableError if no source answers.
    """
    return forecast_of(app.clusters.diagnose(access, options)[1], down)


def forecast_saved(paths: Sequence[Path], down: str | None, warn: Callable[[str], None]) -> Forecast:
    """As `forecast_live`, from saved snapshots; `warn` receives the assumptions of a merge."""
    return forecast_of(load_merged(paths, warn), down)


def forecast_of(snapshot: Snapshot, down: str | None) -> Forecast:
    case = open_case(snapshot)
    if down is not None:
        return forecast(case, (failure_of(down, case),), named=True)
    return forecast(case, every_failure(case))
