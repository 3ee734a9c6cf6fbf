"""What an audit is news of for one channel: everything that is new or worse since its own last delivery.

The findings of an audit have the status compared with the previous audit. A channel may have missed that one: its
output failed, or another person ran the audit. Then its report has the status compared with what it delivered.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from kfix.fleet.audit.concluding import is_worse
from kfix.fleet.model.audit import OPEN, AuditReport, ClusterRow, FindingRow, Status
from kfix.fleet.model.delivery import Delivery, Reported
from kfix.fleet.store.audits import audits, read_rows
from kfix.fleet.store.deliveries import Channel, channel_name
from kfix.fleet.store.places import left_out, place_of
from kfix.fleet.store.renames import names_at, renames_of

Key = tuple[str, str]


def opening(report: AuditReport) -> Delivery:
    """Returns what readers of a new channel are taken to know: what was reported before this audit."""
    known = {
        (f.cluster, f.key): _as_reported(f, -1 if f.status == Status.WORSE else f.n_partitions)
        for f in report.findings
        if f.reported and f.status in OPEN and f.status != Status.NEW
    }
    day, began, _ = order_of(report)
    return Delivery((day, began, ""), known, report.previous_day, report.previous_run)


def order_of(report: AuditReport) -> tuple[date, float, str]:
    """Returns the day, the start of the run and its name, by which audits are ordered."""
    return (report.day, float(report.manifest["began"]), report.run)


def as_news_of(report: AuditReport, last: Delivery, between: Sequence[FindingRow]) -> AuditReport:
    """Returns the report with the status of each finding compared with the last delivery of a channel.

    `between` are the findings of the audits after that delivery and before this one, oldest first. What began there
    and is gone again is in `passed`, if it was a warning or critical. Findings that are muted or in a maintenance
    window keep their status.
    """
    stirred = _stirred(between)
    at_work = {c.cluster for c in report.clusters if c.maintenance}
    findings = [
        f if f.cluster in at_work else _with_status(f, last.findings.get((f.cluster, f.key)), stirred)
        for f in report.findings
    ]
    still_open = {(f.cluster, f.key) for f in report.findings if f.status in OPEN}
    gone = {(f.cluster, f.key): f for f in between if f.status == Status.FIXED and (f.cluster, f.key) not in still_open}
    shown = {(f.cluster, f.key) for f in report.findings}
    fixed = [f for key, f in gone.items() if key not in shown and _known(f, last)]
    passed = [
        f
        for key, f in stirred.items()
        if key not in still_open and not _known(f, last) and f.rank > 0 and not f.unsettled
    ]
    return replace(
        report,
        previous_day=last.day,
        previous_run=last.run,
        findings=tuple(sorted((*findings, *fixed), key=lambda f: (f.cluster, -f.rank, f.key))),
        clusters=tuple(_counted(report.clusters, findings, fixed)),
        passed=tuple(sorted(passed, key=lambda f: (-f.rank, f.cluster, f.key))),
    )


def delivered(report: AuditReport, last: Delivery) -> Delivery:
    """Returns the state of the channel after the report was delivered.

    A finding that was held back by a mute or a maintenance window stays unreported. Clusters outside this audit keep
    what was reported of them.
    """
    audited = {c.cluster for c in report.clusters}
    at_work = {c.cluster for c in report.clusters if c.maintenance}
    known = {key: each for key, each in last.findings.items() if key[0] not in audited}
    for row in report.findings:
        key = (row.cluster, row.key)
        if row.status not in OPEN:
            continue
        if not row.muted and row.cluster not in at_work:
            known[key] = _as_reported(row, row.n_partitions)
        elif key in last.findings:
            known[key] = last.findings[key]
    return Delivery(order_of(report), known, report.day, report.run)


def _as_reported(row: FindingRow, partitions: int) -> Reported:
    return Reported(row.since, row.rank, partitions, not row.head)


def _known(row: FindingRow, last: Delivery) -> bool:
    before = last.findings.get((row.cluster, row.key))
    return before is not None and before.since >= row.since


def _stirred(between: Iterable[FindingRow]) -> Mapping[Key, FindingRow]:
    """Returns the last row of each finding that an audit in between reported as new or worse; new is kept."""
    found: dict[Key, FindingRow] = {}
    for row in between:
        key = (row.cluster, row.key)
        if row.status in (Status.NEW, Status.WORSE) and row.reported and not row.muted:
            before = found.get(key)
            found[key] = row if before is None or before.status != Status.NEW else replace(row, status=Status.NEW)
    return found


def _with_status(row: FindingRow, before: Reported | None, stirred: Mapping[Key, FindingRow]) -> FindingRow:
    if row.muted or row.status not in OPEN:
        return row
    meanwhile = stirred.get((row.cluster, row.key))
    now = {row.status, *([meanwhile.status] if meanwhile else ())}
    if before is None or row.since > before.since or Status.NEW in now:
        return replace(row, status=Status.NEW)
    if Status.WORSE in now or is_worse(row.rank, row.n_partitions, before.rank, before.n_partitions):
        return replace(row, status=Status.WORSE)
    return row


def _counted(
    clusters: Iterable[ClusterRow], findings: Iterable[FindingRow], fixed: Iterable[FindingRow]
) -> Iterable[ClusterRow]:
    """Yields the score cards with the numbers of new, worse, still open and fixed heads; the scores stay the same."""
    numbers: dict[tuple[str, str], int] = {}
    heads = [(f.cluster, "still" if f.status == Status.UNKNOWN else str(f.status)) for f in findings
             if not f.head and not f.muted and f.status in OPEN]  # fmt: skip
    for each in (*heads, *((f.cluster, "fixed") for f in fixed if not f.head)):
        numbers[each] = numbers.get(each, 0) + 1
    for row in clusters:
        new, worse, still, more = (numbers.get((row.cluster, word), 0) for word in ("new", "worse", "still", "fixed"))
        yield replace(row, new=new, worse=worse, still=still, fixed=row.fixed + more)


#: The number of audits since the last delivery that are searched for findings that began and ended.
_DEEP = 60


@dataclass
class Outgoing:
    """The report of an audit for one channel: `report` has the status of findings compared with its last delivery.

    `damaged` names files of the store that could not be read, one line each.
    """

    report: AuditReport
    _channel: Channel
    _last: Delivery
    _new: bool
    damaged: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Is called before the output is written. Raises UnreachableError if the store cannot be written."""
        if self._new:
            self._channel.open(self._last)

    def done(self) -> None:
        """Records the delivery; is called once the output was written and flushed."""
        self._channel.record(delivered(self.report, self._last))


def check_channel(name: str) -> None:
    """Raises UsageError for a name that is not valid."""
    channel_name(name)


def outgoing(report: AuditReport, channel: str) -> Outgoing:
    """Returns the report for a channel. Raises UsageError for a name that is not valid."""
    root = place_of(report.store)
    order, found, damaged = order_of(report), Channel(root, channel), list[str]()
    last = found.before(order, damaged)
    renames = renames_of(report.manifest.get("renamed", ()))
    if last is not None and (names := names_at(renames, last.order[0])):
        last = replace(last, findings={(names.get(c, c), key): each for (c, key), each in last.findings.items()})
    known = last or opening(report)
    between: list[FindingRow] = []
    if last is not None:
        there = [a for a in audits(root, last.order[0], damaged=damaged) if last.order < a.order < order]
        for audit in there[-_DEEP:]:
            with left_out(damaged):
                between += read_rows(FindingRow, audit.under(renames))
    return Outgoing(as_news_of(report, known, between), found, known, last is None, damaged)
