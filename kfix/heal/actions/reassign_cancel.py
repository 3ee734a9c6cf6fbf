"""Cancels a move under way: the partition returns to its original replicas, the partial copies are dropped.

Where none of the original replicas is alive and in sync, a cancel leaves the partition without a leader, and where
unclean elections are allowed without its only good copy (KAFKA-14424, docs/facts/kraft.md): such a partition is
skipped, the others are cancelled.
"""

from __future__ import annotations

from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterChanger
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import Assignment
from kfix.heal.actions.base import ActionStatus, Checks, Inverse, Kinds, Names, NotApplicable, Preview
from kfix.heal.actions.moving import Reassigning, back
from kfix.heal.actions.words import reassign_command
from kfix.heal.model.facts import ReadFact, about, brokers
from kfix.heal.model.plan import CheckCall, Estimate, Gate
from kfix.heal.probes.assignments import ids, original_of, target_of, under_way
from kfix.heal.probes.base import ON_PARTITION

_ESTIMATE = Estimate(partitions=1, max_loss="none: a replica from before the move is alive and in sync")


class ReassignCancel(Reassigning):
    name = "reassign.cancel"
    summary = "cancel a move under way; refused where none of the original replicas is alive and in sync"
    gate_floor = Gate.STEP
    params = ON_PARTITION
    frozen: ClassVar[Kinds] = dict.fromkeys(("original", "target", "adding", "removing"), ArgKind.BROKERS)

    def freeze(self, args: Args, read: ReadFact) -> Args:
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
                f"start a broker of {ids(original)} and let it catch up, or {_way_to_the_end(move)}"
            )
        return args.with_(original=original, target=target_of(move), adding=move.adding, removing=move.removing)

    def preview(self, args: Args) -> Preview:
        tp, original, target, adding = args.tp(), *(args.brokers(k) for k in ("original", "target", "adding"))
        dropped = f"; the partial copies on {','.join(map(str, adding))} are dropped" if adding else ""
        return Preview(
            what=f"cancel the move of {tp} to {ids(target)}: back to {ids(original)}{dropped}",
            target=str(tp),
            live=f"to {','.join(map(str, target))}",
            command=reassign_command(tp, target, "cancel", "--cancel", "--preserve-throttles"),
            estimate=_ESTIMATE,
        )

    def inverse(self, args: Args) -> Inverse:
        moved = args.with_(replicas=args.brokers("original"), before=args.brokers("target"))
        text = f"move it to {ids(args.brokers('target'))} again, which copies everything again, so only on request"
        return Inverse(True, text, back(moved, size=-1, rate=0, keep=True))

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.reassign(args.tp(), None)

    def progress(self, args: Args, now: Assignment) -> ActionStatus:
        """A move that ended before it could be cancelled is neither done nor not started."""
        if under_way(now):
            same = (now.adding, now.removing) == (args.brokers("adding"), args.brokers("removing"))
            return ActionStatus.NOT_STARTED if same else ActionStatus.UNKNOWN
        return ActionStatus.DONE if now.replicas == args.brokers("original") else ActionStatus.UNKNOWN

    def reads(self, args: Args) -> Names:
        return about(args.tp(), "assignment", "reassigning", "adding", "removing")

    def guards(self, args: Args) -> Checks:
        return (CheckCall("cancel_is_safe", args.only("partition")),)

    def proves(self, args: Args) -> Checks:
        there = CheckCall("assignment_is", args.only("partition").with_(replicas=args.brokers("original")))
        return (there, CheckCall("partition_has_leader", args.only("partition")))


def _way_to_the_end(move: Assignment) -> str:
    if move.contradicted:
        return f"reassign it to {ids(move.ending_target)}, which ends the move: it never ends by itself (KFX504)"
    return "let the move end: start the brokers that it waits for"
