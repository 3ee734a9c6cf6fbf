"""Runs an audit: judge, conclude, record, store. Every report is built from the stored result."""

import platform
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime
from typing import Any

from kfix import __version__
from kfix.core.cyclic import without_collector
from kfix.core.errors import UsageError
from kfix.core.fleetcase import FleetCase
from kfix.core.inventory.model import ClusterEntry, Inventory
from kfix.core.snapshot.snapshot import PROTOCOL
from kfix.fleet.audit.concluding import HeadCounts, Rules
from kfix.fleet.audit.judged import JudgedRun, conclude, judged_run
from kfix.fleet.audit.judging import rows_of
from kfix.fleet.audit.past import Past, past_of
from kfix.fleet.audit.scenarios import write_scenarios
from kfix.fleet.engines.engine import Engine
from kfix.fleet.history.recording import recorded, snapshots_to_compare
from kfix.fleet.model.audit import ClusterRow, FindingRow, score_of
from kfix.fleet.store.audits import Audit, table_of, write_audit
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.history_tables import EPISODES, PARTITION_CHANGES, TRANSITIONS
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.runs import Run
from kfix.fleet.store.staging import RunTable
from kfix.fleet.store.stored import written_rows
from kfix.fleet.store.tables import AUDITED, CLUSTERS, FINDINGS, SCENARIOS
from kfix_diagnostics.fleet import FLEET


def audit(
    root: StoreLocation,
    run: Run,
    inventory: Inventory,
    engine: Engine,
    on_done: Callable[[str, str], None] = lambda _name, _error: None,
) -> Audit:
    """Audits a complete run and writes the result to the store; replaces an earlier audit of the same run only.

    `on_done` is called with (name, error or "") for each cluster that is judged. Raises UsageError if the run has no
    cluster.
    """
    with without_collector():
        return _audited(root, run, inventory, engine, on_done)


def _audited(
    root: StoreLocation, run: Run, inventory: Inventory, engine: Engine, on_done: Callable[[str, str], None]
) -> Audit:
    clock = _Clock()
    entries = {name: inventory.clusters.get(name, ClusterEntry(name)) for name in (*run.clusters, *run.failed)}
    if not entries:
        raise UsageError(f"{run.root}: the run {run.id!r} of {run.day} has no cluster: there is nothing to audit")
    for spec in AUDITED:  # A damaged table is known before any cluster is judged.
        StoreTable(root, spec).runs()
    when = datetime.fromtimestamp(run.began, UTC)
    at_work = frozenset(name for name, entry in entries.items() if entry.in_maintenance(when))
    past = past_of(root, run, entries)
    compared, unrecorded = snapshots_to_compare(root, run, past.earlier)
    rules = Rules(run.day, inventory.mutes, at_work)
    judged = judged_run(run, entries, engine, rules, past, compared, on_done)
    clock.lap("judge")
    findings, counts = conclude(judged, run, entries, _over_the_fleet(run, entries, judged, past), past, rules)
    clock.lap("conclude")
    digests, moved = judged.digests, judged.changes
    judged_scenarios, unjudged = write_scenarios(root, run, engine)
    clock.lap("scenarios")
    owners = {name: entry.owner for name, entry in entries.items()}
    versions = {name: digest.settings.get(PROTOCOL, "") for name, digest in digests.items()}
    lost = {**unrecorded, **moved.errors}.items()
    lines = (f"{run.day} {run.id}: the changes of {name} were not recorded: {why}" for name, why in lost)
    damaged = [*past.damaged, *lines]
    rows = written_rows(RunTable.of(run, FINDINGS), findings)
    changes, episodes = recorded(root, run, owners, versions, rows, past.earlier, moved.recreated, engine, damaged)
    clock.lap("history")
    cards = [_card(run, name, entries[name], judged, counts[name]) for name in sorted(entries)]
    tables = {CLUSTERS: table_of(ClusterRow, cards)}
    files = {
        FINDINGS: findings,
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
        "rows": {"findings": sum(file.rows for file in findings), "clusters": len(cards)},
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
        "mutes": list(_mutes(counts.values(), inventory, run.day)),
    }
    return write_audit(root, run.day, run.id, run.began, files, tables, manifest)


def _over_the_fleet(
    run: Run, entries: Mapping[str, ClusterEntry], judged: JudgedRun, past: Past
) -> Mapping[str, Sequence[FindingRow]]:
    """Returns the findings of the checks over the whole fleet, by cluster."""
    case = FleetCase(
        day=run.day,
        began=run.began,
        ended=run.ended,
        entries=entries,
        digests=judged.digests,
        failed=judged.failed,
        last_read=past.last_read,
        stuck=judged.stuck,
        previous_ids=past.ids,
    )
    found: dict[str, list[FindingRow]] = {}
    for check in FLEET:
        for name, finding in check.findings(case):
            found.setdefault(name, []).extend(rows_of(name, finding, run.day))
    return found


def _mutes(counts: Collection[HeadCounts], inventory: Inventory, day: date) -> Iterator[dict[str, Any]]:
    """Yields each mute with the number of findings it covers. An expired mute covers none and is listed as well."""
    for number, mute in enumerate(inventory.mutes):
        yield {
            "clusters": ", ".join(mute.clusters),
            "findings": ", ".join(mute.findings),
            "reason": mute.reason,
            "by": mute.by,
            "until": mute.until.isoformat(),
            "expired": mute.expired(day),
            "covers": sum(counted.covered[number] for counted in counts),
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
