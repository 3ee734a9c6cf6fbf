"""Runs an audit: judge, compare, score, store. Every report is built from the stored result."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa

from kfix import __version__
from kfix.adapters.fleet.audits import Audit, table_of, write_audit
from kfix.adapters.fleet.delta import StoreTable
from kfix.adapters.fleet.places import StoreLocation
from kfix.adapters.fleet.runs import Run
from kfix.adapters.fleet.tables import AUDITED, PARTITIONS
from kfix.derive.predicate import Predicate
from kfix.errors import UsageError
from kfix.fleet.audit.history import as_news, compared, stuck_in
from kfix.fleet.audit.judging import AsDict, rows_of
from kfix.fleet.audit.past import Past, past_of
from kfix.fleet.audit.scenarios import scenarios_of
from kfix.fleet.audit.sql import SCORES
from kfix.fleet.engine import ClusterJob, Engine
from kfix.fleet.history.recording import recorded
from kfix.fleet.judging.tasks import ANSWERS, Judged, JudgeTask, RowJudge, done_of, tasks_table
from kfix.fleet.pool import Done
from kfix.fleet.stored import stored_rows
from kfix.model.audit.audit import ClusterRow, FindingRow
from kfix.model.audit.fleetcase import ClusterDigest, FleetCase
from kfix.model.audit.inventory import ClusterEntry, Inventory
from kfix.model.audit.scenarios import ScenarioRow
from kfix.model.cluster.snapshot import PROTOCOL
from kfix.model.diagnosis.finding import Finding


@dataclass(frozen=True)
class Tools:
    """The functions that the caller supplies, since this package depends on neither checks nor formats.

    `judge` must be a module-level function, since a new process imports it by name. `conditions` are all by which its
    checks ask for rows. `on_done` is called with (name, error or "") for each judged cluster.
    """

    judge: Callable[[JudgeTask], Judged]
    fleet_checks: Callable[[FleetCase], Iterable[tuple[str, Finding]]]
    as_dict: AsDict
    conditions: tuple[Predicate, ...] = ()
    on_done: Callable[[str, str], None] = lambda _name, _error: None


@dataclass
class _Results:
    """The intermediate results. `failed` maps clusters that were not collected, or are damaged, to a reason."""

    rows: list[FindingRow] = field(default_factory=list)
    digests: dict[str, ClusterDigest] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def audit_run(root: StoreLocation, run: Run, inventory: Inventory, engine: Engine, tools: Tools) -> Audit:
    """Audits a complete run and writes the result to the store; replaces an earlier audit of the same run only.

    Raises UsageError if the run has no cluster.
    """
    clock = _Clock()
    entries = {name: inventory.clusters.get(name, ClusterEntry(name)) for name in (*run.clusters, *run.failed)}
    if not entries:
        raise UsageError(f"{run.root}: the run {run.id!r} of {run.day} has no cluster: there is nothing to audit")
    for spec in AUDITED:  # A damaged table is known before any cluster is judged.
        StoreTable(root, spec).runs()
    results = _Results(failed=dict(run.failed))
    _judge(run, entries, engine, tools, results)
    clock.lap("judge")
    past = past_of(root, run.order, entries)
    _over_the_fleet(run, entries, past, inventory, tools, results)
    collected = {name: name not in results.failed for name in entries}
    at_work = frozenset(n for n, e in entries.items() if e.in_maintenance(datetime.fromtimestamp(run.began, UTC)))
    findings = as_news(_muted(compared(results.rows, past, collected, run.day, engine), inventory, run.day), at_work)
    clock.lap("compare")
    clusters = _scored(run, entries, findings, results, engine)
    clock.lap("score")
    judged = scenarios_of(root, run, engine)
    clock.lap("scenarios")
    owners = {name: entry.owner for name, entry in entries.items()}
    versions = {name: digest.settings.get(PROTOCOL, "") for name, digest in results.digests.items()}
    damaged = [*past.damaged]
    kept = recorded(root, run, owners, versions, findings, past.earlier, engine, damaged)
    clock.lap("history")
    tables = {
        FindingRow: table_of(FindingRow, findings),
        ClusterRow: table_of(ClusterRow, clusters),
        ScenarioRow: table_of(ScenarioRow, judged.rows),
    }
    manifest = {
        "kfix": __version__,
        "python": platform.python_version(),
        "engine": engine.name,
        "ended": datetime.now(UTC).timestamp(),
        "inputs": {
            "run": f"{run.day}/{run.id}",
            "clusters": len(run.clusters),
            "rows": sum(run.clusters.values()),
            "collected_by": run.kfix,
            "inventory": inventory.origin,
        },
        "previous": None if past.last is None else {"date": past.last.day.isoformat(), "run": past.last.id},
        "clusters_named": sorted(entries),
        "rows": {"findings": len(findings), "clusters": len(clusters)},
        "seconds": clock.laps,
        "not_read": dict(sorted(results.failed.items())),
        "could_not_read": {d.name: list(d.could_not_read) for d in results.digests.values() if d.could_not_read},
        # Clusters that were not read, or are not part of this run, keep what was known about them.
        "cluster_ids": {**past.ids, **{d.name: d.cluster_id for d in results.digests.values() if d.cluster_id}},
        "last_read": {
            n: d.isoformat() for n, d in sorted({**past.last_read, **dict.fromkeys(results.digests, run.day)}.items())
        },
        "scenarios_unjudged": dict(judged.unjudged),
        "damaged": damaged,
        "mutes": list(_mutes(findings, inventory, run.day)),
    }
    return write_audit(root, run.day, run.id, run.began, tables, manifest, kept)


def _judge(run: Run, entries: Mapping[str, ClusterEntry], engine: Engine, tools: Tools, results: _Results) -> None:
    tasks = {
        name: JudgeTask(name, where, run.day, entries[name].expected, entries[name].restart_grace)
        for name, where in run.stored().items()
    }
    for done in _judged(run, tasks, engine, tools):
        if done.error or done.result is None:
            results.failed[done.name] = (
                f"collected, but cannot be judged: {done.error or 'the worker returned no result'}"
            )
        else:
            results.rows += done.result.rows
            results.digests[done.name] = done.result.digest
        tools.on_done(done.name, done.error)


def _judged(run: Run, tasks: Mapping[str, JudgeTask], engine: Engine, tools: Tools) -> Iterator[Done[Judged]]:
    """Yields the results in the order of the names."""
    files = StoreTable(run.root, PARTITIONS).files(lambda day, name: (day, name) == (run.day, run.id))
    rows = stored_rows(run.root, PARTITIONS, files)
    job = ClusterJob(tasks_table(tasks.values()), rows, tools.conditions, RowJudge(tools.judge), ANSWERS)
    answers = engine.over_rows(job) if tasks else None
    if answers is None:
        yield from engine.each(tools.judge, tasks)
        return
    done = {one.name: one for one in map(done_of, answers.to_pylist())}
    yield from (done[name] for name in tasks)


def _over_the_fleet(
    run: Run,
    entries: Mapping[str, ClusterEntry],
    past: Past,
    inventory: Inventory,
    tools: Tools,
    results: _Results,
) -> None:
    case = FleetCase(
        day=run.day,
        began=run.began,
        ended=run.ended,
        entries=entries,
        digests=results.digests,
        failed=results.failed,
        last_read=past.last_read,
        # A muted finding is not reported again under another code.
        stuck=stuck_in((r for r in _muted(results.rows, inventory, run.day) if not r.muted), past.rows),
        previous_ids=past.ids,
    )
    for name, finding in tools.fleet_checks(case):
        results.rows += rows_of(name, finding, run.day, tools.as_dict)


def _muted(rows: Iterable[FindingRow], inventory: Inventory, day: date) -> tuple[FindingRow, ...]:
    """Returns the rows with their mutes. The mute of a finding covers those that it explains, too."""
    found = tuple(rows)
    active = [m for m in inventory.mutes if not m.expired(day)]
    mutes = {
        (row.cluster, row.key): mute
        for row in found
        if (mute := next((m for m in active if m.matches(row.cluster, row.code, row.key)), None)) is not None
    }

    def one(row: FindingRow) -> FindingRow:
        mute = mutes.get((row.cluster, row.key)) or mutes.get((row.cluster, row.head))
        muted, reason = mute is not None, mute.reason if mute else ""
        return row if (muted, reason) == (row.muted, row.mute_reason) else replace(row, muted=muted, mute_reason=reason)

    return tuple(map(one, found))


def _mutes(rows: tuple[FindingRow, ...], inventory: Inventory, day: date) -> Iterator[dict[str, Any]]:
    """Yields each mute with the number of findings it covers. An expired mute covers none and is listed as well."""
    for mute in inventory.mutes:
        expired = mute.expired(day)
        covers = 0 if expired else sum(mute.matches(r.cluster, r.code, r.key) for r in rows)
        yield {
            "clusters": ", ".join(mute.clusters),
            "findings": ", ".join(mute.findings),
            "reason": mute.reason,
            "by": mute.by,
            "until": mute.until.isoformat(),
            "expired": expired,
            "covers": covers,
        }


def _scored(
    run: Run, entries: Mapping[str, ClusterEntry], findings: tuple[FindingRow, ...], results: _Results, engine: Engine
) -> tuple[ClusterRow, ...]:
    names = sorted(entries)
    weights = pa.table(
        {
            "cluster": pa.array(names, pa.string()),
            "weight": pa.array([int(entries[n].criticality) for n in names], pa.int64()),
            "collected": pa.array([n not in results.failed for n in names], pa.bool_()),
        }
    )
    columns = ("cluster", "head", "status", "rank", "prevention", "muted")
    tables = {"weights": weights, "findings": table_of(FindingRow, findings, columns)}
    scores = {each.pop("cluster"): each for each in engine.query(SCORES, tables).to_pylist()}
    when = datetime.fromtimestamp(run.began, UTC)

    def row(name: str) -> ClusterRow:
        entry, digest, window = entries[name], results.digests.get(name), entries[name].in_maintenance(when)
        return ClusterRow(
            cluster=name,
            owner=entry.owner,
            tags=entry.tags,
            criticality=entry.criticality.word,
            collected=digest is not None,
            why=results.failed.get(name, ""),
            maintenance="" if window is None else window.why or "maintenance",
            taken_at=digest.taken_at if digest else -1.0,
            partitions=digest.partitions if digest else 0,
            topics=digest.topics if digest else 0,
            brokers=digest.brokers if digest else 0,
            seconds=_collect_seconds(run, name),
            **scores[name],
        )

    return tuple(map(row, names))


def _collect_seconds(run: Run, name: str) -> float:
    """Returns the seconds that the manifest records for a cluster, 0.0 if there are none."""
    noted = run.manifest.get("entries", {}).get(name, {})
    seconds = noted.get("seconds", 0.0) if isinstance(noted, dict) else 0.0
    return round(float(seconds), 3) if isinstance(seconds, int | float) else 0.0


class _Clock:
    """Measures the seconds of each part, in order."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._at = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round(now - self._at, 3)
        self._at = now
