"""Runs an audit: judge, conclude, record, store. Every report is built from the stored result."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from typing import Any

from kfix import __version__
from kfix.core.diagnosis.finding import Finding
from kfix.core.errors import UsageError
from kfix.core.fleetcase import FleetCase
from kfix.core.inventory.model import ClusterEntry, Inventory
from kfix.core.snapshot.snapshot import PROTOCOL
from kfix.fleet.audit.concluding import HeadCounts, Rules
from kfix.fleet.audit.judged import Conclusions, JudgedRun, Judging, judged_run
from kfix.fleet.audit.judging import AsDict, rows_of
from kfix.fleet.audit.past import searched
from kfix.fleet.audit.scenarios import write_scenarios
from kfix.fleet.engine import Engine
from kfix.fleet.history.recording import recorded, recorded_partitions
from kfix.fleet.model.audit import ClusterRow, FindingRow, score_of
from kfix.fleet.store.audits import Audit, table_of, write_audit
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.history_tables import EPISODES, PARTITION_CHANGES, TRANSITIONS
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.runs import Run
from kfix.fleet.store.tables import AUDITED, CLUSTERS, FINDINGS, SCENARIOS


@dataclass(frozen=True)
class Tools:
    """The functions that the caller supplies, since this package depends on neither checks nor formats."""

    judging: Judging
    fleet_checks: Callable[[FleetCase], Iterable[tuple[str, Finding]]]
    as_dict: AsDict


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
    when = datetime.fromtimestamp(run.began, UTC)
    at_work = frozenset(name for name, entry in entries.items() if entry.in_maintenance(when))
    before = searched(root, run)
    moved = recorded_partitions(root, run, before.earlier, engine)
    clock.lap("changes")
    rules = Rules(run.day, inventory.mutes, at_work, moved.recreated)
    with judged_run(run, entries, engine, tools.judging, rules, before) as judged:
        clock.lap("judge")
        found = judged.conclude(_over_the_fleet(run, entries, judged, tools))
    clock.lap("conclude")
    past, digests = judged.past, judged.digests
    judged_scenarios, unjudged = write_scenarios(root, run, engine)
    clock.lap("scenarios")
    owners = {name: entry.owner for name, entry in entries.items()}
    versions = {name: digest.settings.get(PROTOCOL, "") for name, digest in digests.items()}
    unrecorded = (f"the changes of {name} were not recorded: {why}" for name, why in moved.errors.items())
    damaged = [*past.damaged, *(f"{run.day} {run.id}: {line}" for line in unrecorded)]
    changes, episodes = recorded(
        root, run, owners, versions, found.rows, past.earlier, moved.recreated, engine, damaged
    )
    clock.lap("history")
    cards = [_card(run, name, entries[name], judged, found.counts[name]) for name in sorted(entries)]
    tables = {CLUSTERS: table_of(ClusterRow, cards)}
    files = {
        FINDINGS: found.files,
        SCENARIOS: judged_scenarios,
        PARTITION_CHANGES: moved.files,
        TRANSITIONS: changes,
        EPISODES: episodes,
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
        "rows": {"findings": sum(file.rows for file in found.files), "clusters": len(cards)},
        "seconds": clock.laps,
        "not_read": dict(sorted(judged.failed.items())),
        "could_not_read": {d.name: list(d.could_not_read) for d in digests.values() if d.could_not_read},
        # Clusters that were not read, or are not part of this run, keep what was known about them.
        "cluster_ids": {**past.ids, **{d.name: d.cluster_id for d in digests.values() if d.cluster_id}},
        "last_read": {
            n: d.isoformat() for n, d in sorted({**past.last_read, **dict.fromkeys(digests, run.day)}.items())
        },
        "renamed": list(past.renamed),
        "scenarios_unjudged": dict(unjudged),
        "damaged": damaged,
        "mutes": list(_mutes(found, inventory, run.day)),
    }
    return write_audit(root, run.day, run.id, run.began, files, tables, manifest)


def _over_the_fleet(
    run: Run, entries: Mapping[str, ClusterEntry], judged: JudgedRun, tools: Tools
) -> Mapping[str, Sequence[FindingRow]]:
    """Returns the findings of the checks over the whole fleet, by cluster."""
    case = FleetCase(
        day=run.day,
        began=run.began,
        ended=run.ended,
        entries=entries,
        digests=judged.digests,
        failed=judged.failed,
        last_read=judged.past.last_read,
        stuck=judged.stuck,
        previous_ids=judged.past.ids,
    )
    found: dict[str, list[FindingRow]] = {}
    for name, finding in tools.fleet_checks(case):
        found.setdefault(name, []).extend(rows_of(name, finding, run.day, tools.as_dict))
    return found


def _mutes(found: Conclusions, inventory: Inventory, day: date) -> Iterator[dict[str, Any]]:
    """Yields each mute with the number of findings it covers. An expired mute covers none and is listed as well."""
    for number, mute in enumerate(inventory.mutes):
        yield {
            "clusters": ", ".join(mute.clusters),
            "findings": ", ".join(mute.findings),
            "reason": mute.reason,
            "by": mute.by,
            "until": mute.until.isoformat(),
            "expired": mute.expired(day),
            "covers": sum(counted.covered[number] for counted in found.counts.values()),
        }


def _card(run: Run, name: str, entry: ClusterEntry, judged: JudgedRun, counted: HeadCounts) -> ClusterRow:
    """The score is -1 if the cluster was not read; then the risk is 100 more."""
    digest, window = judged.digests.get(name), entry.in_maintenance(datetime.fromtimestamp(run.began, UTC))
    collected = name not in judged.failed
    counts = {f.name: getattr(counted, f.name) for f in fields(HeadCounts) if f.name not in {"points", "covered"}}
    return ClusterRow(
        cluster=name,
        owner=entry.owner,
        tags=entry.tags,
        criticality=entry.criticality.word,
        collected=digest is not None,
        why=judged.failed.get(name, ""),
        maintenance="" if window is None else window.why or "maintenance",
        taken_at=digest.taken_at if digest else -1.0,
        partitions=digest.partitions if digest else 0,
        topics=digest.topics if digest else 0,
        brokers=digest.brokers if digest else 0,
        score=int(score_of(counted.points)) if collected else -1,
        risk=(counted.points + (0 if collected else 100)) * int(entry.criticality),
        seconds=_collect_seconds(run, name),
        **counts,
    )


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
