"""Controller changes, by ZooKeeper's record only; what brokers report is compared in `views`."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.model.cluster.snapshot import ControllerNode, Snapshot
from kfix.model.incident.timeline import Event, Theme, Tone
from kfix.timeline.when import between, where
from kfix.wording import several


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    if before.zookeeper is None or after.zookeeper is None:
        return
    old, new = before.zookeeper.controller, after.zookeeper.controller
    if new.epoch < old.epoch or (old.broker, old.epoch) == (new.broker, new.epoch):
        return
    if new.broker is None:
        at, not_before = between(before, after)
        text = f"there is no controller (previous: broker {old.broker}, epoch {old.epoch})"
        yield Event(at, Theme.CONTROLLER, Tone.BAD, text, where(after), not_before, key=f"no-controller:{old.epoch}")
        return
    at, not_before = between(before, after, new.elected_ms)
    key = f"controller:{new.broker}:{new.epoch}"
    yield Event(at, Theme.CONTROLLER, Tone.NOTE, _sentence(old, new), where(after), not_before, None, new.broker, key)


def _sentence(old: ControllerNode, new: ControllerNode) -> str:
    skipped = new.epoch - old.epoch - 1
    more = f"; {several(skipped, 'more election')} in between" if skipped > 0 else ""
    return (
        f"broker {new.broker} became the controller, epoch {new.epoch} (previous: broker {old.broker}, epoch "
        f"{old.epoch}){more}"
    )
