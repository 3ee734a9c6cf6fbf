"""Looks, journals and entries of logs, one after another, into the report. Looks must come in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kfix.errors import UsageError
from kfix.model.cluster.snapshot import ClusterIdentity, Mode, Snapshot
from kfix.model.diagnosis.finding import Diagnosis
from kfix.model.incident.report import IncidentReport, RunRow, SourceRow
from kfix.model.incident.timeline import Event, LogStatement, Span, SpanCertainty
from kfix.model.plan.plan import Plan
from kfix.timeline import first_snapshot as first_look
from kfix.timeline import journals
from kfix.timeline.changes import compare
from kfix.timeline.deletions import Deletions
from kfix.timeline.findings import Findings
from kfix.timeline.lanes import picture
from kfix.timeline.losses import Losses
from kfix.timeline.merging import merged
from kfix.timeline.questions import questions
from kfix.timeline.summary import summarise
from kfix.timeline.tracks import Tracks
from kfix.timeline.when import name_of

#: Events that are kept; a report of more is no report. What comes after is counted and told.
MOST_EVENTS = 300_000
#: Seconds since the epoch of the first and the last moment that a calendar knows.
_CALENDAR = (-62_135_596_800.0, 253_402_300_799.0)


@dataclass(slots=True)
class Material:
    """`look`, `journal` and `log` take the material, `report` makes the report of it."""

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

    def look(self, snapshot: Snapshot, diagnosis: Diagnosis, vantage: str = "") -> None:
        """UsageError where it is of another cluster. Compared with the look before from the same vantage point."""
        self._same_cluster(snapshot.cluster, name_of(snapshot))
        before = self._before.get(vantage)
        if before is not None:
            self._add(compare(before, snapshot))
            self.losses.pair(before, snapshot)
            self.deletions.pair(before, snapshot)
        elif not self.findings.looks:
            self._add(first_look.signs(snapshot))
        self._before[vantage] = snapshot
        self.tracks.look(snapshot)
        self.losses.look(snapshot)
        self.findings.look(snapshot, diagnosis, vantage)

    def journal(
        self, records: tuple[Mapping[str, Any], ...], name: str, notes: tuple[str, ...] = (), plan: Plan | None = None
    ) -> None:
        """`plan`: what the run carried out, where it lies beside. UsageError where the run was on another cluster."""
        run = journals.run_row(records, name, notes, plan)
        start = next((r for r in records if r["type"] == "run.start"), None)
        if start is not None and self.cluster is not None:
            told = str(start.get("cluster", ""))
            if told not in {self.cluster.id, self.cluster.name, self.cluster.bootstrap}:
                raise UsageError(
                    f"{name}: is the journal of a run on cluster {told}; {self.first_file} is of {self.cluster.name}"
                )
        if run is not None:
            self.runs.append(run)
        self._add(journals.events(records, f"journal {name}"))
        self.sources.append(SourceRow("journal", name, f"{len(records)} records", notes))

    def log(self, told: LogStatement) -> None:
        self.losses.logs = True
        self._add(told.events)
        self.tracks.told(told.partitions)
        self.tracks.told_brokers(told.brokers)
        if told.controller is not None:
            self.tracks.controller.append(told.controller)
        if told.cut is not None:
            self.losses.cuts.append(told.cut)
        if told.deleted is not None:
            self.deletions.add(*told.deleted)
        if told.unclean is not None:
            self.losses.unclean.add(told.unclean)

    def report(self, title: str, version: str, window: tuple[float | None, float | None]) -> IncidentReport:
        """`window`: since and until as they were asked for; None is what the material holds."""
        begin, end = self._extent(*window)
        rows = merged(self.deletions.quieted([*self.events, *self.findings.events]))
        runs = tuple(sorted(self.runs, key=lambda r: r.began))
        spans = tuple(Span(r.began, r.ended or r.began, None, SpanCertainty.KNOWN) for r in runs)
        self.tracks.without(self.deletions.within)
        drawn = picture(self.tracks, begin, end, spans)
        summary = summarise(self.findings, rows, runs)
        looks = tuple(self.findings.looks)
        if self.dropped:
            note = (f"{self.dropped} more events are not told: choose a shorter time with --since and --until",)
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
            questions=questions(summary, drawn, looks, runs, self.sources, rows),
            looks=looks,
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
                hint="a report is about one cluster: leave one of them out",
            )
        elif cluster.id and not self.cluster.id:
            self.cluster = cluster

    def _extent(self, since: float | None, until: float | None) -> tuple[float, float]:
        """Of all material, with a little air; at least ten seconds, so that one look has a picture."""
        times = [look.at for look in self.findings.looks]
        times += [e.at for e in self.events] + [r.ended for r in self.runs if r.ended is not None]
        first, last = min(times, default=0.0), max(times, default=0.0)
        air = min(max((last - first) * 0.02, 5.0), 3600.0)
        begin, end = max(first - air, _CALENDAR[0]), min(last + air, _CALENDAR[1])
        return (begin if since is None else since), (end if until is None else until)
