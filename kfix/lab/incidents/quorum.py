"""Incidents of the KRaft quorum, and of a migration to it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kfix.core.errors import UsageError
from kfix.lab.definition.recipes import KRAFT, ZK
from kfix.lab.definition.state import BrokerDef
from kfix.lab.incidents.setup.content import FIRST
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import NO_QUORUM, Incident, IncidentOutcome
from kfix.lab.incidents.setup.quorum import active_id, quorum_of, wait_none_active, wait_record_stands_still
from kfix.lab.incidents.setup.roles import SEEN_SECONDS, assign_roles
from kfix.lab.nodes.failures import start_on_lost_disk, start_on_new_disk
from kfix.lab.nodes.migrating import (
    CONTROLLER,
    add_controller,
    move_to_kraft,
    prepare_brokers,
    taken_over,
    wait_taken_over,
)
from kfix.lab.waiting import wait_for

_FEWEST = 3


def _refuse_few_controllers(context: IncidentContext) -> None:
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
    refuse=_refuse_few_controllers,
)
def quorum_at_risk(context: IncidentContext) -> IncidentOutcome:
    """One of the controllers is dead, and not the active one: the loss of another one would stop every change."""
    voters = sorted(quorum_of(context).addresses())
    active = active_id(context)
    doomed = next(each for each in voters if each != active)
    context.kill_controllers([doomed])
    context.require(active_id(context) == active, f"controller {active} is still active")
    return IncidentOutcome(
        f"controller {active} is active, {len(voters) - 1} of {len(voters)} are alive; groups work",
        details={"killed": doomed, "active": active, "left": len(voters) - 1},
    )


@Incident(
    "quorum-lost",
    title="the controllers have lost their majority, and none is active",
    does="Kills the active controller, and with three of them another one.",
    expect=(
        "producers, consumers and groups work, from the record as it was",
        "requests that brokers forward to the controller hang: reassignments, elections, topics, settings",
        "the next broker that dies is not noticed: its partitions keep it as leader",
    ),
    not_on={ZK: NO_QUORUM},
    own_controllers=True,
)
def quorum_lost(context: IncidentContext) -> IncidentOutcome:
    """The controllers have lost their majority: brokers serve on from the record as it was, and nothing can change
    it.
    """
    active = active_id(context)
    voters = sorted(quorum_of(context).addresses(), key=lambda each: each != active)
    dying = voters[: len(voters) // 2 + 1]
    context.kill_controllers(dying)
    wait_none_active(context)
    offsets = wait_record_stands_still(context)
    context.require(offsets.keys() == set(context.ids()), "every broker answers")
    context.require(context.access.live_ids() == frozenset(context.ids()), "the brokers still name all brokers")
    left = len(voters) - len(dying)
    return IncidentOutcome(
        f"{left} of {len(voters)} controllers are alive, none is active; no broker's record grows; groups work",
        details={
            "controllers_killed": ",".join(map(str, sorted(dying))),
            "controllers_left": left,
            "was_active": active,
            **{f"applied_{broker}": offset for broker, offset in offsets.items()},
        },
    )


@Incident(
    "controller-disk-lost",
    title="the disk of one controller of three is lost for good",
    does="Kills a controller that is not the active one, and takes its disk away; needs --controllers 3.",
    expect=("everything works, changes too", "the controller cannot start: its disk has to be replaced"),
    not_on={ZK: NO_QUORUM},
    own_controllers=True,
    refuse=_refuse_few_controllers,
)
def controller_disk_lost(context: IncidentContext) -> IncidentOutcome:
    """The disk of one controller is lost: it cannot start again without another one."""
    outcome = quorum_at_risk.act(context)
    context.lose_disks([int(outcome.details["killed"])])
    return outcome


@Incident(
    "quorum-majority-lost",
    title="the disks of two controllers of three are lost for good, and none is active",
    does="Kills the active controller and another one, and takes their disks away; needs --controllers 3.",
    expect=(
        "producers, consumers and groups work, from the record as it was",
        "starting controllers does not help: quorum-recover makes the controller that is left the only voter",
    ),
    not_on={ZK: NO_QUORUM},
    own_controllers=True,
    refuse=_refuse_few_controllers,
)
def quorum_majority_lost(context: IncidentContext) -> IncidentOutcome:
    """The disks of most controllers are lost for good: those that are left cannot elect one."""
    outcome = quorum_lost.act(context)
    context.lose_disks(map(int, str(outcome.details["controllers_killed"]).split(",")))
    return outcome


def _refuse_static_quorum(context: IncidentContext) -> None:
    _refuse_few_controllers(context)
    if not context.lab.state.spec.dynamic_quorum:
        raise UsageError(
            f"lab {context.lab.name!r} has a static quorum, whose voters have no directory id",
            hint="kfix lab up --controllers 3 --dynamic-quorum",
        )


@Incident(
    "voter-wrong-directory",
    title="a controller of three runs with a new disk, and the voter is the one with its old disk",
    does="Kills a controller that is not the active one, takes its disk away, and starts it with an empty one; needs "
    "--controllers 3 --dynamic-quorum.",
    expect=(
        "everything works, changes too; the loss of one more controller stops every change",
        "the controller follows as an observer: its voter has to be removed, and the controller added",
    ),
    not_on={ZK: NO_QUORUM},
    own_controllers=True,
    refuse=_refuse_static_quorum,
)
def voter_wrong_directory(context: IncidentContext) -> IncidentOutcome:
    """A controller runs with a new disk: its directory id is not that of the voter."""
    outcome = controller_disk_lost.act(context)
    number = int(outcome.details["killed"])
    start_on_new_disk(context.lab, number)
    context.report(f"started controller {number} with an empty disk, formatted to join the quorum")
    return _on_wrong_disk(context, number)


@Incident(
    "old-voter-returns",
    title="a controller whose voter was replaced is started with its old disk again",
    does="Replaces the disk and the voter of a controller that is not the active one, then starts it with the "
    "old disk; needs --controllers 3 --dynamic-quorum.",
    expect=(
        "everything works, changes too; the loss of one more controller stops every change",
        "the controller follows as an observer, and does not vote; with the disk of its voter it is one again",
    ),
    not_on={ZK: NO_QUORUM},
    own_controllers=True,
    refuse=_refuse_static_quorum,
)
def old_voter_returns(context: IncidentContext) -> IncidentOutcome:
    """The disk of a voter that was replaced is back, with the same node id."""
    quorum = quorum_of(context)
    number = int(voter_wrong_directory.act(context).details["controller"])
    old, new = quorum.replace_voter(number)
    wait_for(f"controller {number} is a voter again", lambda: quorum.voters().get(number) == new, _FOLLOWS_SECONDS)
    context.report(f"replaced voter {number}: removed directory id {old}, added {new}")
    start_on_lost_disk(context.lab, number)
    context.report(f"killed controller {number} and started it with its old disk")
    return _on_wrong_disk(context, number)


def _on_wrong_disk(context: IncidentContext, number: int) -> IncidentOutcome:
    """Waits until a controller follows with a directory id that is not that of its voter."""
    quorum, own = quorum_of(context), quorum_of(context).directory_of(number)

    wait_for(f"controller {number} follows as an observer", lambda: own in quorum.observers(), _FOLLOWS_SECONDS)
    voter = quorum.voters()[number]
    context.require(voter != own, f"controller {number} is no voter with its disk")
    return IncidentOutcome(
        f"controller {number} follows as an observer with directory id {own}; the voter has {voter}; groups work",
        details={"controller": number, "directory": own, "voter": voter, "active": active_id(context)},
    )


_ELECTED_SECONDS = 20.0
#: A controller starts its process first.
_FOLLOWS_SECONDS = 90.0


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
def controller_frozen(context: IncidentContext) -> IncidentOutcome:
    """The active controller is stopped: it keeps its connections and answers nothing."""
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


_WRITTEN = 20


@Incident(
    "broker-cut-from-controllers",
    title="a broker is cut from the controllers alone: it leads beside its successor",
    does="Drops the packets between a zone and the controllers of the other zones; then writes to the old leader.",
    expect=(
        "it is fenced and others lead; it does not learn of that, and leads and coordinates for those who ask it",
        (
            "records sent to it with acks=1 are acknowledged, and truncated when it returns; only a repaired "
            "network helps"
        ),
    ),
    zones=True,
    not_on={ZK: NO_QUORUM},
    options={"acks": "acks of the writer at the old leader: 1 (default), 0 or all"},
    choices={"acks": ("1", "0", "all")},
)
def broker_cut_from_controllers(context: IncidentContext) -> IncidentOutcome:
    """A broker is cut from the controllers alone: it leads beside its successor, as long as the cut lasts."""
    roles = assign_roles(context)
    zombie, acks = roles.one, str(context.options["acks"])
    where, _ = roles.ledger(zombie, roles.other)
    roles.isolate(zombie, "controller")
    roles.wait_unregistered(zombie)
    moved = context.wait_state(where, "another leads", lambda each: each.leader not in {-1, zombie}, SEEN_SECONDS)
    wait_for(
        f"brokers {zombie} and {moved.leader} both lead {where}",
        lambda: all(context.error_as_leader(broker, where) == 0 for broker in (zombie, moved.leader)),
        SEEN_SECONDS,
    )
    context.report(f"checked: brokers {zombie} and {moved.leader} both answer as leader of {where}")
    before = context.log_ends(where, [zombie])[zombie]
    acknowledged = context.access.produce_at(zombie, where, _WRITTEN, acks)
    appended = context.log_ends(where, [zombie])[zombie] - before
    context.report(
        f"wrote {_WRITTEN} records to {where} at broker {zombie} with acks={acks}: "
        f"{acknowledged} acknowledged, {appended} appended"
    )
    context.require(appended >= _WRITTEN, f"broker {zombie} appends what it is sent")
    return IncidentOutcome(
        partitions=[where],
        details={
            "cut_off": zombie,
            "zone": roles.zone(zombie),
            "controller": roles.active,
            "new_leader": moved.leader,
            "acknowledged": acknowledged,
            "appended": appended,
        },
        hung=None,
    )


_HELD_SECONDS = 2.0


@Incident(
    "broker-fenced-alive",
    title="the heartbeats of a broker are lost: it is fenced, although it runs and follows the metadata",
    does="Drops the heartbeats (API key 63) between a zone and the controllers of the other zones, nothing else.",
    expect=(
        "it leads nothing and is in no ISR, although its process, its port and its metadata appear healthy",
        "clients continue with the other brokers",
    ),
    zones=True,
    not_on={ZK: NO_QUORUM},
)
def broker_fenced_alive(context: IncidentContext) -> IncidentOutcome:
    """The heartbeats of a broker are lost and nothing else: it is fenced, although it runs and follows the metadata."""
    roles = assign_roles(context)
    fenced = roles.one
    roles.ledger(fenced, roles.other)
    roles.isolate(fenced, "heartbeats")
    roles.wait_unregistered(fenced)
    context.wait_state(FIRST, "another leads", lambda each: each.leader not in {-1, fenced}, SEEN_SECONDS)
    _require_it_follows(context, fenced)
    return IncidentOutcome(
        f"broker {fenced} is fenced, answers, and applies the metadata",
        partitions=[FIRST],
        details={"fenced": fenced, "zone": roles.zone(fenced), "controller": roles.active},
        hung=None,
    )


def _require_it_follows(context: IncidentContext, fenced: int) -> None:
    quorum = quorum_of(context)
    before = quorum.applied().get(fenced, -1)
    wait_for(
        f"broker {fenced} applies the metadata",
        lambda: quorum.applied().get(fenced, -1) > before >= 0,
        SEEN_SECONDS,
    )
    time.sleep(_HELD_SECONDS)
    context.require(fenced not in context.access.live_ids(), f"broker {fenced} stays fenced")
    seen = context.access.metadata(fenced)
    context.require(seen is not None and fenced not in seen.brokers, f"broker {fenced} knows that it is fenced")


#: In the order in which a migration comes to them.
_WAITING, _TAKEN_OVER, _MIXED, _UNFINISHED = "waiting", "taken-over", "mixed", "unfinished"


def _unfit(brokers: Sequence[BrokerDef]) -> str:
    if any(each.zone is not None for each in brokers):
        return "it has zones, and the KRaft controller would be in none"
    return ""


def _refuse_other_modes(context: IncidentContext) -> None:
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
    refuse=_refuse_other_modes,
    not_on={
        KRAFT: "it begins with ZooKeeper",
        "2.7.1": "Kafka 2.7 has no migration: it came with 3.4",
    },
)
def migration_stuck(context: IncidentContext) -> IncidentOutcome:
    """A migration from ZooKeeper to KRaft that waits for a broker, or that was left half finished."""
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
