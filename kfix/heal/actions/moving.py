"""What the actions that reassign replicas share: facts, progress, bytes copied, and the way back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from kfix.core.args import Args, ArgValue
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import Assignment
from kfix.heal.actions.base import Action, ActionStatus, Checks, Names, NotApplicable
from kfix.heal.model.facts import Fact, ReadFact, about, brokers
from kfix.heal.model.plan import CheckCall, Risk, Undo
from kfix.heal.probes.assignments import standing, target_of, under_way


class Reassigning(Action):
    """A change of the assignment of one partition, or its cancel."""

    risk = Risk.ONE_PARTITION

    def writes(self, args: Args) -> Names:
        """A changed order also changes the order of the live replicas, and a removed leader moves the leadership."""
        names = ("assignment", "reassigning", "adding", "removing", "live_replicas", "leader", "leader_epoch", "isr")
        return about(args.tp(), *names, "live_isr")

    def probe(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        try:
            now = standing(reader, args.tp())
        except UnreachableError:
            return ActionStatus.UNKNOWN
        return ActionStatus.UNKNOWN if now is None else self.progress(args, now)

    @abstractmethod
    def progress(self, args: Args, now: Assignment) -> ActionStatus: ...


class Moving(Reassigning):
    """A reassignment from `before` to `replicas`."""

    def guards(self, args: Args) -> Checks:
        """No move of the partition is under way, and its replicas are those of the plan: gate and text rest on that."""
        there = CheckCall("assignment_is", args.only("partition").with_(replicas=args.brokers("before")))
        return (CheckCall("no_reassignment", args.only("partition")), there)

    def proves(self, args: Args) -> Checks:
        return (CheckCall("assignment_is", args.only("partition", "replicas")),)

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.reassign(args.tp(), args.brokers("replicas"))

    def progress(self, args: Args, now: Assignment) -> ActionStatus:
        """A move to other replicas is not this one, and then the progress of this one is unknown."""
        if under_way(now):
            return ActionStatus.IN_PROGRESS if target_of(now) == args.brokers("replicas") else ActionStatus.UNKNOWN
        if now.replicas == args.brokers("replicas"):
            return ActionStatus.DONE
        return ActionStatus.NOT_STARTED if now.replicas == args.brokers("before") else ActionStatus.UNKNOWN


def assigned(args: Args, read: ReadFact) -> tuple[int, ...]:
    """Returns the present replicas. Raises NotApplicable where there are none, or where they are being moved."""
    assignment_key, moving_key = about(args.tp(), "assignment", "reassigning")
    before = brokers(read(assignment_key))
    if not before:
        raise NotApplicable(f"{args.tp()} has no assignment")
    if read(moving_key).value is not None:
        raise NotApplicable(f"a reassignment of {args.tp()} is under way; another one would replace it")
    return before


def added(args: Args) -> tuple[int, ...]:
    before = args.brokers("before")
    return tuple(b for b in args.brokers("replicas") if b not in before)


def removed(args: Args) -> tuple[int, ...]:
    replicas = args.brokers("replicas")
    return tuple(b for b in args.brokers("before") if b not in replicas)


def back(args: Args, *, size: int, rate: int, keep: bool) -> Undo:
    """Returns the move back to the replicas of before."""
    literal: dict[str, ArgValue] = {
        "partition": args.text("partition"),
        "replicas": args.brokers("before"),
        "before": args.brokers("replicas"),
        "bytes": size,
        "rate": rate,
    }
    return Undo("reassign.move", Args(literal), keep=keep)
