"""The summary as rows of (name, value, basis), the same in HTML, in Markdown and on the terminal."""

from typing import Final, Literal, NamedTuple

from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json
from kfix.core.wording import several
from kfix.incident.model import IncidentReport
from kfix.incident.report.words import UNKNOWN, TimeFormat, apart, brokers, named

#: {a key moment: (what the time until then is called, what it means)}.
_TIME_TO: Final = {
    "Detected": ("detect", "from the first sign"),
    "Service restored": ("service restored", "clients can work again"),
    "Fully recovered": ("full recovery", "no findings any more"),
}


class SummaryRow(NamedTuple):
    name: str
    value: str
    why: str = ""


def times(report: IncidentReport, clock: TimeFormat) -> list[SummaryRow]:
    """Returns the key moments: began, detected, service restored, fully recovered."""
    moments = report.summary.moments
    return [SummaryRow(name, clock.moment(each), "" if each is None else each.why) for name, each in moments]


def durations(report: IncidentReport) -> list[SummaryRow]:
    """Returns the times to detection, to service restored and to full recovery; an unknown one is stated as unknown."""
    began = report.summary.began
    return [
        SummaryRow(f"Time to {_TIME_TO[name][0]}", apart(began, each), _TIME_TO[name][1])
        for name, each in report.summary.moments
        if name in _TIME_TO
    ]


def affected(report: IncidentReport) -> list[SummaryRow]:
    summary = report.summary
    groups = ", ".join(summary.groups) or ("none known" if summary.others_unknown else "none")
    if summary.others_unknown:
        groups += "; possibly others, which no source could list"
    count = several(len(summary.partitions), "partition")
    return [
        SummaryRow("Partitions", f"{count}: {named(summary.partitions)}" if summary.partitions else "none"),
        SummaryRow("Consumer groups", groups),
        SummaryRow("Brokers lost or restarted", brokers(summary.brokers)),
    ]


def about(report: IncidentReport) -> list[SummaryRow]:
    snapshots = len(report.snapshots)
    rows = [
        SummaryRow("Cluster", report.cluster, {"zk": "on ZooKeeper", "kraft": "on KRaft"}.get(report.mode, "")),
        SummaryRow("Based on", ", ".join(_made_of(report)) or UNKNOWN),
        SummaryRow("Times", "UTC, by the clock of each source; no clock was corrected"),
    ]
    if report.log_zone:
        rows.append(
            SummaryRow("Log time zone", report.log_zone, "from --log-timezone; a log does not contain its zone")
        )
    return rows if snapshots or report.log_zone or report.runs else rows[:2]


def _made_of(report: IncidentReport) -> list[str]:
    kinds = (("recorder", "recording"), ("snapshot", "snapshot"), ("journal", "run journal"), ("log", "broker log"))
    counted = [(sum(s.kind == kind for s in report.sources), noun) for kind, noun in kinds]
    return [several(n, noun) for n, noun in counted if n]


# The post-mortem as JSON, format `kfix.incident/1`: all fields of `IncidentReport`.


class _Incident:
    format: Literal["kfix.incident"]
    version: Literal[1]


class IncidentJson(IncidentReport, _Incident):
    """The report of an incident: kfix report incident --json

    Where `not_before` is null, the time `at` is exact; otherwise the event
    happened after `not_before` and no later than `at`.
    """


def incident_json(report: IncidentReport) -> str:
    return for_json(written(IncidentJson, report), indent=1, ascii_only=True)
