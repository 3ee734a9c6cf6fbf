"""Compares today's findings with those of the previous audit: new, worse, still there, fixed or unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date

import pyarrow as pa

from kfix.adapters.fleet.audits import table_of
from kfix.fleet.audit.past import Past, unread_sources
from kfix.fleet.audit.sql import COMPARED
from kfix.fleet.engine import Engine
from kfix.fleet.history.worse import next_baseline
from kfix.model.audit.audit import FindingRow, Status
from kfix.model.audit.fleetcase import Stuck

_COMPARED = ("cluster", "key", "rank", "n_partitions", "since", "status", "baseline")
#: Prefixes of the checks that report partitions in trouble: no leader, diverging views, under-replicated, stuck moves.
_TROUBLE = ("KFX1", "KFX2", "KFX3", "KFX5")


def compared(
    now: Iterable[FindingRow],
    past: Past,
    collected: Mapping[str, bool],
    day: date,
    engine: Engine,
) -> tuple[FindingRow, ...]:
    """Returns the findings with status, first day and age in days, sorted by cluster and key; fixed ones included.

    `collected` has every cluster of the run. A finding that is gone is not reported as fixed while a source that
    answered the previous audit does not answer now: its state is unknown.
    """
    rows = {(r.cluster, r.key): r for r in now}
    old = {(r.cluster, r.key): r for r in past.rows}
    silent, before = unread_sources(rows.values()), past.unread_sources()
    nothing: frozenset[str] = frozenset()
    whole = [not silent.get(c) for c in collected]
    no_less = [silent.get(c, nothing) <= before.get(c, nothing) for c in collected]
    known = {
        "cluster": pa.array([*collected], pa.string()),
        "collected": pa.array([*collected.values()], pa.bool_()),
        "whole": pa.array(whole, pa.bool_()),
        "no_less": pa.array(no_less, pa.bool_()),
    }
    tables = {
        "now": table_of(FindingRow, rows.values(), _COMPARED),
        "previous": table_of(FindingRow, old.values(), _COMPARED),
        "known": pa.table(known),
    }
    both = {**old, **rows}
    found = []
    for each in engine.query(COMPARED, tables).to_pylist():
        key = (each["cluster"], each["key"])
        lasting = {"since": each["since"], "days": (day - each["since"]).days}
        reported = key in old and old[key].reported
        baseline = _baseline(rows.get(key), old.get(key))
        found.append(replace(both[key], status=each["status"], reported=reported, baseline=baseline, **lasting))
    return tuple(sorted(found, key=lambda r: (r.cluster, r.key)))


def _baseline(now: FindingRow | None, before: FindingRow | None) -> int:
    """Returns the partitions of a finding when it was last called new or worse."""
    if now is None or before is None:
        return now.n_partitions if now else before.baseline if before else 0
    return next_baseline(now.rank, now.n_partitions, before.rank, before.baseline)


def as_news(rows: Iterable[FindingRow], at_work: frozenset[str]) -> tuple[FindingRow, ...]:
    """Returns the findings; one that was never reported, because of a mute or a maintenance window, counts as new.

    `at_work` are the clusters in a maintenance window.
    """

    def one(row: FindingRow) -> FindingRow:
        if row.reported or row.muted or row.cluster in at_work or row.status == Status.FIXED:
            return row
        if row.status in {Status.STILL, Status.WORSE}:
            return replace(row, reported=True, status=Status.NEW, baseline=row.n_partitions)
        return replace(row, reported=True)

    return tuple(map(one, rows))


def stuck_in(now: Iterable[FindingRow], earlier: Iterable[FindingRow]) -> Mapping[str, tuple[Stuck, ...]]:
    """Returns, by cluster, the partitions that are in trouble now and were in trouble then, under the same code."""
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
