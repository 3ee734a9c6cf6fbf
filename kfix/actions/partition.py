"""What the actions on one partition share: facts they rest on, facts they move, and how to tell what happened."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import ActionStatus, NotApplicable
from kfix.errors import UnreachableError
from kfix.model.plan.args import Args
from kfix.model.plan.facts import Fact, ReadFact, about, brokers
from kfix.model.plan.plan import CheckCall, Estimate
from kfix.ports import ClusterReader

NO_LOSS_WITH_LIVE_ISR = "none: a live in-sync replica holds every acknowledged record"
ONE_ELECTION = Estimate(partitions=1, replicas_moved=0, bytes=0, seconds=1.0, max_loss=NO_LOSS_WITH_LIVE_ISR)


def reads(args: Args) -> tuple[str, ...]:
    """Live replicas are read too: who may win an election depends on them."""
    names = ("leader", "leader_epoch", "isr", "live_isr", "assignment", "live_replicas", "reassigning")
    return about(args.tp(), *names)


def writes(args: Args) -> tuple[str, ...]:
    """An election moves leader, epoch and ISR; nothing here moves the assignment or who is alive."""
    return about(args.tp(), "leader", "leader_epoch", "isr", "live_isr")


def live_isr_guard(args: Args) -> tuple[CheckCall, ...]:
    return (CheckCall("partition_has_live_isr", Args({"partition": args.text("partition")})),)


def leads(args: Args, broker: int) -> CheckCall:
    return CheckCall("leader_is", Args({"partition": args.text("partition"), "broker": broker}))


def won(args: Args) -> tuple[CheckCall, ...]:
    return (leads(args, args.number("winner")),)


def assignment_and_live_isr(args: Args, read: ReadFact) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(assignment, live ISR), both in assignment order: the order in which Kafka looks for a leader."""
    assignment_key, live_key = about(args.tp(), "assignment", "live_isr")
    assignment = brokers(read(assignment_key))
    live = brokers(read(live_key))
    if not assignment:
        raise NotApplicable(f"{args.tp()} has no assignment")
    return assignment, tuple(b for b in assignment if b in live)


def elected(args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
    """Every election raises the leader epoch, so an epoch that did not move means that nothing has happened yet."""
    (key,) = about(args.tp(), "leader_epoch")
    try:
        reading = reader.recorded(args.tp())
    except UnreachableError:
        return ActionStatus.UNKNOWN
    if reading.state is None or reading.leaderless is None or key not in before:
        return ActionStatus.UNKNOWN
    if reading.state.leader_epoch == before[key].value:
        return ActionStatus.NOT_STARTED
    return ActionStatus.UNKNOWN if reading.leaderless else ActionStatus.DONE
