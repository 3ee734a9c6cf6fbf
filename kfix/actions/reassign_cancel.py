"""Cancels a move under way: the partition goes back to the replicas it had, the copies begun are thrown away.

Where none of the replicas it had is alive and in sync, a cancel leaves the partition without a leader, and where
unclean elections are allowed without its only good copy (KAFKA-14424, kraft-facts 7): it is left, the others go on.
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import Action, ActionStatus, Inverse, NotApplicable, Preview
from kfix.actions.moving import back, writes
from kfix.actions.words import reassign_command
from kfix.errors import UnreachableError
from kfix.model.cluster.reading import ChangeResult
from kfix.model.cluster.snapshot import Assignment
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import Fact, ReadFact, about, brokers
from kfix.model.plan.plan import CheckCall, Estimate, Gate, Risk
from kfix.ports import ClusterChanger, ClusterReader
from kfix.probes.assignments import ids, original_of, standing, target_of, under_way

_ESTIMATE = Estimate(
    partitions=1,
    replicas_moved=0,
    bytes=0,
    seconds=1.0,
    max_loss="none: a replica from before the move is alive and in sync",
)


def freeze(args: Args, read: ReadFact) -> Args:
    tp = args.tp()
    move_key, adding_key, removing_key, live_key = about(tp, "reassigning", "adding", "removing", "live_isr")
    replicas = brokers(read(move_key))
    if not replicas:
        raise NotApplicable(f"no reassignment of {tp} is under way")
    move = Assignment(replicas, brokers(read(adding_key)), brokers(read(removing_key)))
    original, live = original_of(move), brokers(read(live_key))
    if not set(original) & set(live):
        raise NotApplicable(
            f"{tp}: of the replicas {ids(original)} from before the move none is alive and in sync (those are "
            f"{ids(live)}): a cancel would leave it without a leader (KAFKA-14424); "
            f"start a broker of {ids(original)} and let it catch up, "
            "or let the move end: start what it waits for, or reassign to brokers that live"
        )
    return args.with_(original=original, target=target_of(move), adding=move.adding, removing=move.removing)


def preview(args: Args) -> Preview:
    tp, original, target, adding = args.tp(), *(args.brokers(k) for k in ("original", "target", "adding"))
    thrown = f"; the copies begun on {','.join(map(str, adding))} are thrown away" if adding else ""
    return Preview(
        what=f"cancel the move of {tp} to {ids(target)}: back to {ids(original)}{thrown}",
        target=str(tp),
        live=f"to {','.join(map(str, target))}",
        command=reassign_command(tp, target, "cancel", "--cancel", "--preserve-throttles"),
        estimate=_ESTIMATE,
    )


def inverse(args: Args) -> Inverse:
    moved = args.with_(replicas=args.brokers("original"), before=args.brokers("target"))
    text = f"move it to {ids(args.brokers('target'))} again, which copies all anew, so only when asked for"
    return Inverse(True, text, back(moved, size=-1, rate=0, keep=True))


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    return changer.reassign(args.tp(), None)


def probe(args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
    """A move that came to its end before it could be cancelled is neither."""
    try:
        now = standing(reader, args.tp())
    except UnreachableError:
        return ActionStatus.UNKNOWN
    if now is None:
        return ActionStatus.UNKNOWN
    if under_way(now):
        same = (now.adding, now.removing) == (args.brokers("adding"), args.brokers("removing"))
        return ActionStatus.NOT_STARTED if same else ActionStatus.UNKNOWN
    return ActionStatus.DONE if now.replicas == args.brokers("original") else ActionStatus.UNKNOWN


def reads(args: Args) -> tuple[str, ...]:
    return about(args.tp(), "assignment", "reassigning", "adding", "removing")


def guards(args: Args) -> tuple[CheckCall, ...]:
    return (CheckCall("cancel_is_safe", Args({"partition": args.text("partition")})),)


def proves(args: Args) -> tuple[CheckCall, ...]:
    partition = Args({"partition": args.text("partition")})
    there = CheckCall("assignment_is", partition.with_(replicas=args.brokers("original")))
    return (there, CheckCall("partition_has_leader", partition))


ACTION = Action(
    name="reassign.cancel",
    summary="cancel a move under way; refused where none of the original replicas is alive and in sync",
    risk=Risk.ONE_PARTITION,
    gate_floor=Gate.STEP,
    params={"partition": ArgKind.PARTITION},
    frozen={
        "original": ArgKind.BROKERS,
        "target": ArgKind.BROKERS,
        "adding": ArgKind.BROKERS,
        "removing": ArgKind.BROKERS,
    },
    reads=reads,
    writes=writes,
    freeze=freeze,
    preview=preview,
    inverse=inverse,
    apply=apply,
    probe=probe,
    guards=guards,
    proves=proves,
)
