"""Controller changes, from the record only; `views` compares the brokers' reports."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.record import RecordedController
from kfix.core.snapshot.snapshot import Mode, Snapshot
from kfix.core.wording import several
from kfix.incident.timeline.when import between, records_of, where


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    records = records_of(before, after)
    if records is None:
        return
    old, new = (record.controller for record in records)
    if old is None or new is None or new.epoch < old.epoch or (old.node, old.epoch) == (new.node, new.epoch):
        return
    what = "controller" if records[1].mode is Mode.KRAFT else "broker"
    if new.node is None:
        at, not_before = between(before, after)
        text = f"there is no controller (previous: {what} {old.node}, epoch {old.epoch})"
        yield Event(at, Theme.CONTROLLER, Tone.BAD, text, where(after), not_before, key=f"no-controller:{old.epoch}")
        return
    at, not_before = between(before, after, new.since_ms)
    key = f"controller:{new.node}:{new.epoch}"
    yield Event(
        at, Theme.CONTROLLER, Tone.NOTE, _sentence(what, old, new), where(after), not_before, None, new.node, key
    )


def _sentence(what: str, old: RecordedController, new: RecordedController) -> str:
    skipped = new.epoch - old.epoch - 1
    more = f"; {several(skipped, 'more election')} in between" if skipped > 0 else ""
    became = "the active controller" if what == "controller" else "the controller"
    return (
        f"{what} {new.node} became {became}, epoch {new.epoch} (previous: {what} {old.node}, epoch {old.epoch}){more}"
    )
