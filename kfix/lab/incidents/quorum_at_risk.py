"""One of the controllers is dead, and not the active one: the loss of another one would stop every change."""

from __future__ import annotations

from kfix.core.errors import UsageError
from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import NO_QUORUM, Incident, IncidentOutcome
from kfix.lab.incidents.setup.quorum import active_id, quorum_of

_FEWEST = 3


def _refuse(context: IncidentContext) -> None:
    voters = quorum_of(context).addresses()
    if len(voters) < _FEWEST:
        raise UsageError(
            f"lab {context.lab.name!r} has {len(voters)} controller: without it none is active",
            hint="kfix lab up --controllers 3, or kfix lab break quorum-lost",
        )


@Incident(
    "quorum-at-risk",
    title="one controller of three is dead",
    does="Kills a controller that is not the active one; needs --controllers 3.",
    expect=("everything works, changes too", "the loss of one more controller stops every change"),
    not_on={ZK: NO_QUORUM},
    own_controllers=True,
    refuse=_refuse,
)
def run(context: IncidentContext) -> IncidentOutcome:
    voters = sorted(quorum_of(context).addresses())
    active = active_id(context)
    doomed = next(each for each in voters if each != active)
    context.kill_controllers([doomed])
    context.require(active_id(context) == active, f"controller {active} is still active")
    return IncidentOutcome(
        f"controller {active} is active, {len(voters) - 1} of {len(voters)} are alive; groups work",
        details={"killed": doomed, "active": active, "left": len(voters) - 1},
    )
