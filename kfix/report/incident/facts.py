"""The summary as rows of (name, value, how it is known): the same in HTML, Markdown and on the terminal."""

from __future__ import annotations

from typing import NamedTuple

from kfix.model.incident.report import IncidentReport
from kfix.report.fleet.words import amount
from kfix.report.incident.words import NOT_KNOWN, TimeFormat, apart, brokers, named


class SummaryRow(NamedTuple):
    name: str
    value: str
    why: str = ""


def times(report: IncidentReport, clock: TimeFormat) -> list[SummaryRow]:
    """When: began, noticed, served again, whole again."""
    summary = report.summary
    rows = [
        SummaryRow("Began", clock.moment(summary.began), "" if summary.began is None else summary.began.why),
        SummaryRow("Noticed", clock.moment(summary.noticed), "" if summary.noticed is None else summary.noticed.why),
    ]
    if summary.served is not None:
        rows.append(SummaryRow("Served again", clock.moment(summary.served), summary.served.why))
    rows.append(
        SummaryRow("Whole again", clock.moment(summary.whole), "" if summary.whole is None else summary.whole.why)
    )
    return rows


def durations(report: IncidentReport) -> list[SummaryRow]:
    """How long: until noticed, until served, until whole. What cannot be told is said, never left out."""
    summary = report.summary
    found = [SummaryRow("Until noticed", apart(summary.began, summary.noticed), "from the first sign")]
    if summary.served is not None:
        found.append(SummaryRow("Until served", apart(summary.began, summary.served), "clients can work again"))
    found.append(SummaryRow("Until whole", apart(summary.began, summary.whole), "nothing is found any more"))
    return found


def affected(report: IncidentReport) -> list[SummaryRow]:
    summary = report.summary
    groups = ", ".join(summary.groups) or ("none is known" if summary.others_unknown else "none")
    if summary.others_unknown:
        groups += "; maybe others, which no source could list"
    count = amount(len(summary.partitions), "partition")
    return [
        SummaryRow("Partitions", f"{count}: {named(summary.partitions)}" if summary.partitions else "none"),
        SummaryRow("Consumer groups", groups),
        SummaryRow("Brokers that came or went", brokers(summary.brokers)),
    ]


def about(report: IncidentReport) -> list[SummaryRow]:
    looks = len(report.looks)
    rows = [
        SummaryRow("Cluster", report.cluster, {"zk": "on ZooKeeper", "kraft": "on KRaft"}.get(report.mode, "")),
        SummaryRow("Made of", ", ".join(_made_of(report)) or NOT_KNOWN),
        SummaryRow("Times", "UTC, each by the clock of its source; no clock was corrected"),
    ]
    if report.log_zone:
        rows.append(
            SummaryRow("Zone of the logs", report.log_zone, "as given by --log-timezone; a log does not tell its zone")
        )
    return rows if looks or report.log_zone or report.runs else rows[:2]


def _made_of(report: IncidentReport) -> list[str]:
    kinds = (("look", "look"), ("journal", "journal of a run"), ("log", "broker's log"))
    plural = {"journal of a run": "journals of runs", "broker's log": "brokers' logs"}
    counted = [(sum(s.kind == kind for s in report.sources), noun) for kind, noun in kinds]
    return [amount(n, noun, plural.get(noun, "")) for n, noun in counted if n]
