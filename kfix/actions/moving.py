"""What the actions that reassign replicas share: facts, progress, bytes copied, and the way back."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import ActionStatus, Copied, NotApplicable
from kfix.errors import UnreachableError
from kfix.model.cluster.reading import ChangeResult
from kfix.model.plan.args import Args, ArgValue
from kfix.model.plan.facts import Fact, ReadFact, about, brokers
from kfix.model.plan.plan import CheckCall, Undo
from kfix.ports import ClusterChanger, ClusterReader
from kfix.probes.assignments import standing, target_of, under_way


def writes(args: Args) -> tuple[str, ...]:
    """A changed order also changes the order of the live replicas, and a leader that is dropped moves."""
    names = ("assignment", "reassigning", "adding", "removing", "live_replicas", "leader", "leader_epoch", "isr")
    return about(args.tp(), *names, "live_isr")


def assigned(args: Args, read: ReadFact) -> tuple[int, ...]:
    """The replicas now. NotApplicable where there are none, or where they are being moved."""
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


def as_planned(args: Args) -> tuple[CheckCall, ...]:
    """Nobody moves it, and it stands where the plan says: the gate and the words rest on that."""
    partition = Args({"partition": args.text("partition")})
    there = CheckCall("assignment_is", partition.with_(replicas=args.brokers("before")))
    return (CheckCall("no_reassignment", partition), there)


def arrived(args: Args) -> CheckCall:
    wanted = Args({"partition": args.text("partition"), "replicas": args.brokers("replicas")})
    return CheckCall("assignment_is", wanted)


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    return changer.reassign(args.tp(), args.brokers("replicas"))


def probe(args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
    """A move to anywhere else is somebody else's, and then nobody can say what became of this one."""
    try:
        now = standing(reader, args.tp())
    except UnreachableError:
        return ActionStatus.UNKNOWN
    if now is None:
        return ActionStatus.UNKNOWN
    if under_way(now):
        return ActionStatus.IN_PROGRESS if target_of(now) == args.brokers("replicas") else ActionStatus.UNKNOWN
    if now.replicas == args.brokers("replicas"):
        return ActionStatus.DONE
    return ActionStatus.NOT_STARTED if now.replicas == args.brokers("before") else ActionStatus.UNKNOWN


def copied(args: Args, reader: ClusterReader) -> Copied | None:
    """None where nothing is copied, or where one of the added brokers does not tell."""
    new, size = added(args), args.number("bytes")
    try:
        held = [reader.log_dirs(broker).sizes.get(args.tp(), 0) for broker in new]
    except UnreachableError:
        return None
    return Copied(sum(held), size * len(new) if size >= 0 else None) if new else None


def back(args: Args, *, size: int, rate: int, keep: bool) -> Undo:
    """The move back to where the replicas were."""
    literal: dict[str, ArgValue] = {
        "partition": args.text("partition"),
        "replicas": args.brokers("before"),
        "before": args.brokers("replicas"),
        "bytes": size,
        "rate": rate,
    }
    return Undo("reassign.move", Args(literal), keep=keep)


def cancelling(args: Args) -> Undo:
    """What takes a `reassign.move` back that is still under way: good copies are kept, half ones thrown away.

    Kafka puts the original replicas back in the order they have in the list of the move.
    """
    target, gone, new = args.brokers("replicas"), removed(args), added(args)
    full = (*target, *gone)
    literal: dict[str, ArgValue] = {
        "partition": args.text("partition"),
        "original": tuple(b for b in full if b not in new),
        "target": target,
        "adding": new,
        "removing": gone,
    }
    return Undo("reassign.cancel", Args(literal))
