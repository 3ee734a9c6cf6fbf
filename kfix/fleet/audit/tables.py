"""The tables that `kfix audit query` reads.

partitions   one row per partition of the snapshots: cluster, day, run, then the columns of docs/fleet-store.md
findings     one row per finding of the audits, `kfix.model.audit.audit.FindingRow`
clusters     one row per cluster of the audits, `kfix.model.audit.audit.ClusterRow`
runs         one row per run: day, run, began, ended, kfix, clusters, failed, partitions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa

from kfix.adapters.fleet.audits import Audit, audits, schema_of
from kfix.adapters.fleet.places import StoreLocation
from kfix.adapters.fleet.runs import Run, runs
from kfix.adapters.fleet.schema import PARTITIONS
from kfix.errors import UsageError
from kfix.fleet.engine import View
from kfix.model.audit.audit import ClusterRow, FindingRow

#: Uses only functions that DuckDB and Spark share; the file name is the cluster's name, percent-encoded
#: (`places.file_name`).
_PLACED: Final = """
SELECT url_decode(regexp_extract(filename, '.*/date=[0-9-]*/run=[^/]*/partitions/([^/?]*)[.]parquet', 1)) AS cluster,
       CAST(regexp_extract(filename, '.*/date=([0-9-]*)/run=[^/]*/partitions/[^/]*', 1) AS DATE) AS day,
       regexp_extract(filename, '.*/date=[0-9-]*/run=([^/]*)/partitions/[^/]*', 1) AS run,
       {columns}
FROM partition_files
"""


def tables(root: StoreLocation, *, days: int, run: str = "", snapshots: int = 1) -> Mapping[str, Any]:
    """Returns the tables by name: audits of the last `days` days, partitions of the last `snapshots` runs.

    With `run` both are those of that run. Raises UsageError if the store has no such run.
    """
    seen = [r for r in runs(root, damaged=[]) if not run or r.id == run]
    judged = [a for a in _lately(audits(root, damaged=[]), days) if not run or a.id == run]
    if not seen and not judged:
        raise UsageError(
            f"{root}: no complete run{f' called {run!r}' if run else ''}",
            hint="kfix audit or kfix fleet collect creates one; kfix fleet runs lists the stored runs",
        )
    files = [table for each in seen[-snapshots:] for table in each.tables.values()]
    shown: dict[str, Any] = {
        "partition_files": files or pa.schema([*PARTITIONS, pa.field("filename", pa.string())]).empty_table(),
        "partitions": View(_PLACED.format(columns=", ".join(PARTITIONS.names))),
        "findings": [a.findings for a in judged] or schema_of(FindingRow).empty_table(),
        "clusters": [a.clusters for a in judged] or schema_of(ClusterRow).empty_table(),
        "runs": _runs(seen),
    }
    return shown


def _lately(all_: Sequence[Audit], days: int) -> list[Audit]:
    first = max((a.day for a in all_), default=date.max) - timedelta(days=days - 1)
    return [a for a in all_ if a.day >= first]


def _runs(all_: Sequence[Run]) -> Any:
    return pa.table(
        {
            "day": pa.array([r.day for r in all_], pa.date32()),
            "run": pa.array([r.id for r in all_], pa.string()),
            "began": pa.array([r.began for r in all_], pa.float64()),
            "ended": pa.array([r.ended for r in all_], pa.float64()),
            "kfix": pa.array([r.kfix for r in all_], pa.string()),
            "clusters": pa.array([len(r.clusters) for r in all_], pa.int64()),
            "failed": pa.array([len(r.failed) for r in all_], pa.int64()),
            "partitions": pa.array([sum(r.clusters.values()) for r in all_], pa.int64()),
        }
    )
