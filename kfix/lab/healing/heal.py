"""Leaders for partitions that have none, or two: a stronger remedy only after the milder one had its time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kfix.core.errors import LabError
from kfix.lab.healing.health import sick_partitions
from kfix.lab.waiting import POLL_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kfix.core.snapshot.snapshot import TopicPartition
    from kfix.lab.clients.access import LabClient, Znodes

# A broker that has just started shows leader -1 for a moment: only what lasts is sick.
_PATIENCE_SECONDS = 1.0
_STEP_SECONDS = 5.0
_LIMIT_SECONDS = 60.0


class Healer:
    def __init__(self, access: LabClient) -> None:
        self._access = access

    def heal(self) -> Iterator[str]:
        znodes = self._access.znodes
        remedies: list[Callable[[list[TopicPartition]], str]] = [self._elect_unclean]
        if znodes is not None:
            remedies = [
                lambda sick: self._reassign_to_itself(znodes, sick),
                self._elect_unclean,
                lambda sick: self._new_controller(znodes, sick),
            ]
        started = time.monotonic()
        # On KRaft the controller itself elects whoever may lead, and a reassignment never elects one.
        act_at = started + (_PATIENCE_SECONDS if znodes else _STEP_SECONDS)
        while sick := self._sick():
            now = time.monotonic()
            if now > started + _LIMIT_SECONDS:
                raise LabError(
                    f"{len(sick)} partitions have no agreed leader, for example {sick[0]}", hint="kfix lab down and up"
                )
            if now > act_at and remedies:
                yield remedies.pop(0)(sick)
                act_at = time.monotonic() + _STEP_SECONDS
            time.sleep(POLL_SECONDS)

    def _sick(self) -> list[TopicPartition]:
        doomed = self._access.pending_deletions()
        return [where for where in sick_partitions(self._access) if where.topic not in doomed]

    def _reassign_to_itself(self, znodes: Znodes, sick: list[TopicPartition]) -> str:
        """The controller reads such a partition from ZooKeeper again and elects a leader, inside the ISR only."""
        targets = {where: self._access.assignment(where.topic)[where.partition] for where in sick}
        try:
            self._access.reassign(targets, _STEP_SECONDS)
        except LabError:
            znodes.drop_reassignment()
        return f"reassigned {len(sick)} partitions without an agreed leader to the replicas they have"

    def _elect_unclean(self, sick: list[TopicPartition]) -> str:
        """The replicas that had the data cannot come back; a lab may lose records."""
        self._access.elect(sick, unclean=True)
        return f"elected leaders outside the ISR for {len(sick)} partitions without a live in-sync replica"

    def _new_controller(self, znodes: Znodes, sick: list[TopicPartition]) -> str:
        znodes.drop_controller()
        return f"forced a controller election: {len(sick)} partitions still had no agreed leader"
