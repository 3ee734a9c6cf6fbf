"""Writes a partition's assignment with the replicas that it has: as it is, or in another order."""

from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterChanger
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import Mode
from kfix.heal.actions.base import Checks, Inverse, Kinds, Names, NotApplicable, Preview, reassign_command
from kfix.heal.actions.elections import (
    LONGEST_LOG,
    ONE_ELECTION,
    Electing,
    assignment_and_live_isr,
    facts_of,
    put_first,
    who_comes_first,
)
from kfix.heal.actions.moves import Moving, assigned, back
from kfix.heal.model.facts import ReadFact, about, about_cluster
from kfix.heal.model.plan import CheckCall, Estimate
from kfix.heal.probes.base import ON_PARTITION
from kfix.heal.probes.moves import ids


class ReassignNoop(Electing):
    """Reassigns a partition to the replicas it already has, so that the controller re-reads it.

    The controller reads the partition's state from ZooKeeper again. Where its leader is gone it elects the first
    live member of the ISR and cannot elect any other; where it believes in another leader it adopts ZooKeeper's
    (docs/facts/controller.md). On KRaft it changes nothing at all (docs/facts/kraft.md).
    """

    name = "reassign.noop"
    summary = "reassign a partition to its own replicas; elects a live ISR member and can elect no other"
    frozen: ClassVar[Kinds] = {"replicas": ArgKind.BROKERS}
    irreversible = "none needed: the replica list stays as it is, no replica and no record moves"

    def freeze(self, args: Args, read: ReadFact) -> Args:
        (mode,) = about_cluster("mode")
        if read(mode).value == Mode.KRAFT:
            raise NotApplicable("on KRaft a reassignment to the same replicas changes nothing and elects no leader")
        assignment, live = assignment_and_live_isr(args, read)
        (moving_key,) = about(args.tp(), "reassigning")
        if read(moving_key).value is not None:
            raise NotApplicable("a reassignment of this partition is under way; a no-op one would replace it")
        if not live:
            raise NotApplicable("no member of the ISR is alive, so no replica can be elected")
        return args.with_(replicas=assignment)

    def preview(self, args: Args) -> Preview:
        tp, replicas = args.tp(), args.brokers("replicas")
        return Preview(
            what=f"reassign {tp} to the replicas it has, {list(replicas)}: the controller re-reads it",
            target=str(tp),
            live=f"replicas {','.join(map(str, replicas))}",
            command=reassign_command(tp, replicas, "noop", "--execute")
            + "   # refused while one of these brokers is dead; then only the admin API does it, as kfix does",
            estimate=ONE_ELECTION,
        )

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.reassign(args.tp(), args.brokers("replicas"))

    def proves(self, args: Args) -> Checks:
        same = CheckCall("assignment_is", args.only("partition", "replicas"))
        return (same, CheckCall("partition_has_leader", args.only("partition")))

    def guards(self, args: Args) -> Checks:
        return (*super().guards(args), CheckCall("no_reassignment", args.only("partition")))


_ESTIMATE = Estimate(partitions=1, max_loss="none: only the order changes, nothing is copied")


class ReassignReorder(Moving):
    """Puts one replica first in the assignment; no replica and no record moves.

    It also works without a leader: Kafka then only rewrites the order (docs/facts/controller.md), which chooses
    the survivor of an unclean election. With a live leader the preferred leader changes, but not the leader.
    """

    name = "reassign.reorder"
    summary = f"put a replica first in the assignment: {LONGEST_LOG}, other-in-sync or a broker's id; nothing is copied"
    params: ClassVar[Kinds] = {**ON_PARTITION, "first": ArgKind.TEXT}
    frozen: ClassVar[Kinds] = {"replicas": ArgKind.BROKERS, "before": ArgKind.BROKERS}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        before = assigned(args, read)
        first = who_comes_first(args.tp(), args.text("first"), before, read)
        if before[0] == first:
            raise NotApplicable(f"broker {first} is already first in {ids(before)}")
        return args.with_(replicas=put_first(before, first), before=before)

    def preview(self, args: Args) -> Preview:
        tp, replicas, before = args.tp(), args.brokers("replicas"), args.brokers("before")
        why = "" if args.text("first").isdecimal() else f" ({args.text('first')})"
        return Preview(
            what=f"{tp}: {ids(before)} -> {ids(replicas)}: broker {replicas[0]} comes first{why}, nothing is copied",
            target=str(tp),
            live=f"replicas {','.join(map(str, before))}",
            command=reassign_command(tp, replicas, "reorder", "--execute")
            + "   # the tool refuses a list with a dead broker, Kafka's API does not",
            estimate=_ESTIMATE,
        )

    def inverse(self, args: Args) -> Inverse:
        text = f"restore the order {ids(args.brokers('before'))}; nothing is copied"
        return Inverse(True, text, back(args, size=0, rate=0, keep=False))

    def reads(self, args: Args) -> Names:
        tp = args.tp()
        return tuple(dict.fromkeys((*about(tp, "assignment", "reassigning"), *facts_of(tp, args.text("first")))))

    def guards(self, args: Args) -> Checks:
        """Raises RefusedError where a plan made by hand adds or removes replicas under the name of a reorder."""
        if sorted(args.brokers("replicas")) != sorted(args.brokers("before")):
            text = f"{ids(args.brokers('before'))} -> {ids(args.brokers('replicas'))} changes more than the order"
            raise RefusedError(f"{args.tp()}: {text}")
        dead = CheckCall("isr_is_dead", args.only("partition"))
        return (*super().guards(args), dead) if args.text("first") == LONGEST_LOG else super().guards(args)
