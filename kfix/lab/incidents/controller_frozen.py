"""The active controller is stopped: it keeps its connections and answers nothing."""

from __future__ import annotations

from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import NO_QUORUM, Incident, IncidentOutcome
from kfix.lab.incidents.setup.quorum import active_id, quorum_of, wait_none_active, wait_record_stands_still
from kfix.lab.waiting import wait_for

_ELECTED_SECONDS = 20.0


@Incident(
    "controller-frozen",
    title="the active controller is frozen: it is connected and does not answer",
    does="Stops the active controller (SIGSTOP).",
    expect=(
        "producers, consumers and groups work",
        "requests that brokers had forwarded to it hang, and are executed when it continues: their result is unknown",
    ),
    not_on={ZK: NO_QUORUM},
    own_controllers=True,
)
def run(context: IncidentContext) -> IncidentOutcome:
    quorum = quorum_of(context)
    frozen = active_id(context)
    others = [each for each in quorum.addresses() if each != frozen]
    context.lab.nodes.stop(context.lab.state, frozen, "controller")
    context.report(f"stopped controller {frozen}, the active one (SIGSTOP)")
    if others:
        successor = _successor(context, frozen)
        checked = f"controller {successor} is active, controller {frozen} does not answer"
    else:
        wait_none_active(context)
        wait_record_stands_still(context)
        checked = f"controller {frozen}, the only one, does not answer; no broker's record grows"
    context.require(
        context.lab.nodes.condition(context.lab.state, "controller", frozen) == "stopped",
        f"controller {frozen} is stopped",
    )
    return IncidentOutcome(
        checked,
        (f"another controller, {successor}, is active" if others else "no controller is active: nothing can change",),
        details={"frozen": frozen, "active": successor if others else "none"},
    )


def _successor(context: IncidentContext, frozen: int) -> int:
    def elected() -> int | None:
        active = quorum_of(context).active()
        return active.leader if active is not None and active.leader != frozen else None

    return wait_for("another controller is active", elected, _ELECTED_SECONDS)
