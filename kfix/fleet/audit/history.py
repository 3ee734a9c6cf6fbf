"""Today's findings against those of the audit before: what is new, worse, still there, fixed, or not to be seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date

import pyarrow as pa

from kfix.adapters.fleet.audits import Audit, audits, read_table, rows_from, table_of
from kfix.adapters.fleet.places import Place, place_of
from kfix.fleet.audit.sql import COMPARED
from kfix.fleet.engine import Engine
from kfix.model.audit import FindingRow, Status
from kfix.model.fleetcase import Stuck

_COMPARED = ("cluster", "key", "rank", "n_partitions", "since")
#: Codes that tell of partitions in trouble today: without a leader, not fully replicated, in a move that does not end.
_TROUBLE = ("KFX1", "KFX2", "KFX3", "KFX5")
Key = tuple[str, str]


def before(root: Place, day: date, began: float, run: str) -> Audit | None:
    """The last complete audit before this one. One that is repeated is not compared with itself."""
    earlier = [a for a in audits(root) if a.order < (day, began, run)]
    return earlier[-1] if earlier else None


def findings_of(audit: Audit | None) -> tuple[FindingRow, ...]:
    """What was the matter then: fixed findings are history."""
    if audit is None:
        return ()
    rows = rows_from(FindingRow, read_table(place_of(audit.findings)))
    return tuple(r for r in rows if r.status != Status.FIXED)


def compared(
    now: Iterable[FindingRow],
    earlier: Iterable[FindingRow],
    collected: Mapping[str, bool],
    day: date,
    engine: Engine,
) -> tuple[FindingRow, ...]:
    """With status, first day and days, those that ended too, by cluster and key. `collected` has every cluster of the
    run; what an earlier audit found of a cluster that is in it no more is dropped.
    """
    rows = {(r.cluster, r.key): r for r in now}
    old = {(r.cluster, r.key): r for r in earlier}
    tables = {
        "now": table_of(FindingRow, rows.values(), day, "now", _COMPARED),
        "before": table_of(FindingRow, old.values(), day, "before", _COMPARED),
        "known": pa.table(
            {"cluster": pa.array([*collected], pa.string()), "collected": pa.array([*collected.values()], pa.bool_())}
        ),
    }
    both = {**old, **rows}
    found = []
    for each in engine.query(COMPARED, tables).to_pylist():
        row = both[(each["cluster"], each["key"])]
        lasting = {"since": each["since"], "days": (day - each["since"]).days}
        found.append(replace(row, status=each["status"], **lasting))
    return tuple(sorted(found, key=lambda r: (r.cluster, r.key)))


def stuck_in(now: Iterable[FindingRow], earlier: Iterable[FindingRow]) -> Mapping[str, tuple[Stuck, ...]]:
    """By cluster: partitions that are in trouble under the same code as then."""
    then: dict[tuple[str, str], dict[str, date]] = {}
    for row in earlier:
        if row.code.startswith(_TROUBLE) and not row.prevention:
            for partition in row.partitions:
                then.setdefault((row.cluster, row.code), {})[partition] = row.since
    found: dict[str, dict[str, dict[str, date]]] = {}
    for row in now:
        known = then.get((row.cluster, row.code), {})
        for partition in row.partitions:
            if partition in known:
                found.setdefault(row.cluster, {}).setdefault(row.code, {})[partition] = known[partition]
    return {
        cluster: tuple(Stuck(code, tuple(sorted(tps)), min(tps.values())) for code, tps in sorted(codes.items()))
        for cluster, codes in found.items()
    }
