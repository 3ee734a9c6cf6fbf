"""A reassignment to a stopped broker, for which it waits.

The controller accepts it, because the session of that broker is still alive. The broker fetches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.waiting import wait_for


class MoveRoles(NamedTuple):
    """Three brokers: one that stays alive and in sync, one that has a replica before, one that is stopped."""

    kept: int
    origin: int
    target: int


def move_roles(context: IncidentContext) -> MoveRoles:
    """Returns the roles of the lab's brokers. A broker that is the controller is kept."""
    controller = wait_for("there is a controller", context.access.controller, 10)
    return MoveRoles(*sorted(context.ids(), key=lambda each: each != controller)[:3])


def begin_waiting_move(
    context: IncidentContext, moved: TopicPartition, roles: MoveRoles, before: Sequence[int]
) -> None:
    """Creates the topic of one partition on `before`, stops the target, and begins to move it to kept and target."""
    after = (roles.kept, roles.target)
    context.topic(moved.topic, [list(before)])
    context.lab.nodes.stop(context.lab.state, roles.target)
    context.begin_move(moved, after)
    context.report(
        f"stopped broker {roles.target}, then began to reassign {moved} from {list(before)} to {list(after)}"
    )
    context.wait_state(moved, f"{roles.kept} is in sync", lambda each: roles.kept in each.isr)
