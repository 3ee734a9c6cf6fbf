"""Deliveries of an audit on channels: each shows what is new since its own last delivery, and records what it wrote."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kfix.fleet.audit.news import as_news_of, delivered, opening, order_of
from kfix.fleet.model.audit import AuditReport, FindingRow
from kfix.fleet.model.delivery import Delivery
from kfix.fleet.store.audits import audits, read_rows
from kfix.fleet.store.deliveries import Channel, channel_name
from kfix.fleet.store.places import left_out, place_of
from kfix.fleet.store.renames import names_at, renames_of

__all__ = ["Outgoing", "channel_name", "outgoing"]

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
