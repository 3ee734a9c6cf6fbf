"""A migration from ZooKeeper to KRaft that waits for a broker, or that was left half finished."""

from __future__ import annotations

from collections.abc import Sequence

from kfix.core.errors import UsageError
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.definition.state import BrokerDef
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.nodes.migrating import (
    CONTROLLER,
    add_controller,
    move_to_kraft,
    prepare_brokers,
    taken_over,
    wait_taken_over,
)

#: In the order in which a migration comes to them.
_WAITING, _TAKEN_OVER, _MIXED, _UNFINISHED = "waiting", "taken-over", "mixed", "unfinished"


def _unfit(brokers: Sequence[BrokerDef]) -> str:
    if any(each.zone is not None for each in brokers):
        return "it has zones, and the KRaft controller would be in none"
    return ""


def _refuse(context: IncidentContext) -> None:
    lab = context.lab
    if lab.state.spec.is_keeper_secured or lab.state.spec.is_secured:
        raise UsageError(f"lab {lab.name!r} is secured: its controller would be, too", hint="kfix lab up without it")


@Incident(
    "migration-stuck",
    title="a migration from ZooKeeper to KRaft waits for a broker, or is half finished",
    does="Starts a KRaft controller for a migration, and restarts brokers up to the chosen step.",
    expect=(
        "clients notice nothing",
        "once the KRaft controller is in charge, no change may be based on what ZooKeeper records",
    ),
    options={"step": "how far the migration has come: waiting for a broker, taken-over, mixed or unfinished"},
    choices={"step": (_WAITING, _TAKEN_OVER, _MIXED, _UNFINISHED)},
    needs=2,
    suits=_unfit,
    refuse=_refuse,
    not_on={
        KRAFT: "it begins with ZooKeeper",
        "2.7.1": "Kafka 2.7 has no migration: it came with 3.4",
    },
)
def run(context: IncidentContext) -> IncidentOutcome:
    lab, step = context.lab, str(context.options["step"])
    *early, late = sorted(context.ids())
    add_controller(lab, context.znodes)
    context.report(f"started KRaft controller {CONTROLLER}, which waits for the brokers to register with it")
    prepare_brokers(lab, early if step == _WAITING else (*early, late))
    context.report(f"restarted {len(early) + (step != _WAITING)} brokers with the settings of the migration")
    on_kraft: tuple[int, ...] = ()
    if step == _WAITING:
        context.require(not taken_over(context.znodes), "the KRaft controller has not taken over")
        context.report(f"checked: the KRaft controller waits for broker {late}")
    else:
        wait_taken_over(context.znodes)
        context.report(f"KRaft controller {CONTROLLER} has taken over, and writes ZooKeeper, too")
        on_kraft = {_TAKEN_OVER: (), _MIXED: (early[0],), _UNFINISHED: (*early, late)}[step]
        move_to_kraft(lab, context.access, on_kraft)
    if on_kraft:
        context.report(f"restarted broker {' and '.join(map(str, on_kraft))} on KRaft")
    return IncidentOutcome(
        "" if on_kraft else "all groups work",
        details={"step": step, "controller": CONTROLLER, "late": late, "on_kraft": len(on_kraft)},
        hung=None if on_kraft else (),
    )
