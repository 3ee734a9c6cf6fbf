"""Builds the report from snapshots, journals and log entries, added one by one. Snapshots must be in order of time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.errors import UsageError
from kfix.core.events import Event, LogStatement, Span, SpanCertainty
from kfix.core.snapshot.snapshot import ClusterIdentity, Mode, Snapshot
from kfix.heal.model.plan import Plan
from kfix.incident.model import IncidentReport, RunRow, SourceRow
from kfix.incident.timeline import first_snapshot, journals
from kfix.incident.timeline.changes import compare
from kfix.incident.timeline.findings import Findings
from kfix.incident.timeline.losses import Deletions, Losses
from kfix.incident.timeline.merging import merged
from kfix.incident.timeline.spans import Tracks, picture
from kfix.incident.timeline.summary import questions, summarise
from kfix.incident.timeline.when import name_of

#: Most events that are kept; further events are counted, and the report states how many.
MOST_EVENTS = 300_000
#: The first and the last moment of Python's calendar, in seconds since the epoch.
_CALENDAR = (-62_135_596_800.0, 253_402_300_799.0)


@dataclass(slots=True)
class Material:
    """Collects snapshots, journals and log entries; `report` makes the report from them."""

    cluster: ClusterIdentity | None = None
    first_file: str = ""
    tracks: Tracks = field(default_factory=Tracks)
    findings: Findings = field(default_factory=Findings)
    losses: Losses = field(default_factory=Losses)
    deletions: Deletions = field(default_factory=Deletions)
    events: list[Event] = field(default_factory=list)
    runs: list[RunRow] = field(default_factory=list)
    sources: list[SourceRow] = field(default_factory=list)
    log_zone: str = ""
    dropped: int = 0
    _before: dict[str, Snapshot] = field(default_factory=dict)

    def add_snapshot(self, snapshot: Snapshot, diagnosis: Diagnosis, vantage: str = "") -> None:
        """Adds a snapshot and compares it with the previous one from the same vantage point.

        Raises UsageError if it is of another cluster.
        """
        self._same_cluster(snapshot.cluster, name_of(snapshot))
        before = self._before.get(vantage)
        if before is not None:
            self._add(compare(before, snapshot))
            self.losses.pair(before, snapshot)
            self.deletions.pair(before, snapshot)
        elif not self.findings.snapshots:
            self._add(first_snapshot.signs(snapshot))
        self._before[vantage] = snapshot
        self.tracks.add_snapshot(snapshot)
        self.losses.add_snapshot(snapshot)
        self.findings.add_snapshot(snapshot, diagnosis, vantage)

    def add_journal(
        self, records: tuple[Mapping[str, Any], ...], name: str, notes: tuple[str, ...] = (), plan: Plan | None = None
    ) -> None:
        """Adds the journal of a run; `plan` is the plan that the run carried out, if it was found.

        Raises UsageError if the run was on another cluster.
        """
        run = journals.run_row(records, name, notes, plan)
        start = next((r for r in records if r["type"] == "run.start"), None)
        if start is not None and self.cluster is not None:
            run_cluster = str(start.get("cluster", ""))
            if run_cluster not in {self.cluster.id, self.cluster.name, self.cluster.bootstrap}:
                raise UsageError(
                    f"{name}: is the journal of a run on cluster {run_cluster}; {self.first_file} is of "
                    f"{self.cluster.name}"
                )
        if run is not None:
            self.runs.append(run)
        self._add(journals.events(records, f"journal {name}"))
        self.sources.append(SourceRow("journal", name, f"{len(records)} records", notes))

    def add_remark(self, event: Event) -> None:
        """Adds a remark of the watch that recorded the snapshots, such as that the cluster did not answer."""
        self._add([event])

    def add_log_entry(self, entry: LogStatement) -> None:
        self.losses.logs = True
        self._add(entry.events)
        self.tracks.add_partitions(entry.partitions)
        self.tracks.add_brokers(entry.brokers)
        if entry.controller is not None:
            self.tracks.controller.append(entry.controller)
        if entry.cut is not None:
            self.losses.cuts.append(entry.cut)
        if entry.deleted is not None:
            self.deletions.add(*entry.deleted)
        if entry.unclean is not None:
            self.losses.unclean.add(entry.unclean)

    def report(self, title: str, version: str, window: tuple[float | None, float | None]) -> IncidentReport:
        """Returns the report; `window` is (since, until) in seconds since the epoch, None: no limit."""
        begin, end = self._extent(*window)
        rows = merged(self.deletions.quieted([*self.events, *self.findings.events]))
        runs = tuple(sorted(self.runs, key=lambda r: r.began))
        spans = tuple(Span(r.began, r.ended or r.began, None, SpanCertainty.KNOWN) for r in runs)
        self.tracks.without(self.deletions.within)
        drawn = picture(self.tracks, begin, end, spans)
        summary = summarise(self.findings, rows, runs)
        snapshots = tuple(self.findings.snapshots)
        if self.dropped:
            note = (f"{self.dropped} more events were left out; choose a shorter period with --since and --until",)
            self.sources.append(SourceRow("report", "events", f"{MOST_EVENTS} kept", note))
        cluster = self.cluster or ClusterIdentity("", Mode.UNKNOWN)
        return IncidentReport(
            title=title,
            cluster=cluster.name,
            mode=cluster.mode.value,
            kfix=version,
            since=begin,
            until=end,
            summary=summary,
            causes=self.findings.causes(),
            runs=runs,
            losses=self.losses.rows(runs),
            picture=drawn,
            events=rows,
            questions=questions(summary, drawn, snapshots, runs, self.sources, rows),
            snapshots=snapshots,
            sources=tuple(self.sources),
            log_zone=self.log_zone,
        )

    def _add(self, events: Iterable[Event]) -> None:
        for event in events:
            if len(self.events) < MOST_EVENTS:
                self.events.append(event)
            else:
                self.dropped += 1

    def _same_cluster(self, cluster: ClusterIdentity, name: str) -> None:
        if self.cluster is None:
            self.cluster, self.first_file = cluster, name
        elif cluster.id and self.cluster.id and cluster.id != self.cluster.id:
            raise UsageError(
                f"{name}: is of cluster {cluster.id}; {self.first_file} is of cluster {self.cluster.id}",
                hint="a report covers one cluster: leave one of the files out",
            )
        elif cluster.id and not self.cluster.id:
            self.cluster = cluster

    def _extent(self, since: float | None, until: float | None) -> tuple[float, float]:
        """Returns the period of all material, with a margin of at least 5 s on each side: one snapshot is visible."""
        times = [snapshot.at for snapshot in self.findings.snapshots]
        times += [e.at for e in self.events] + [r.ended for r in self.runs if r.ended is not None]
        first, last = min(times, default=0.0), max(times, default=0.0)
        air = min(max((last - first) * 0.02, 5.0), 3600.0)
        begin, end = max(first - air, _CALENDAR[0]), min(last + air, _CALENDAR[1])
        return (begin if since is None else since), (end if until is None else until)
