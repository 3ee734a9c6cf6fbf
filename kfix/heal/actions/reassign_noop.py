"""Reassigns a partition to the replicas it already has, so that the controller re-reads it.

The controller reads the partition's state from ZooKeeper again. Where its leader is gone it elects the first live
member of the ISR and cannot elect any other; where it believes in another leader it adopts ZooKeeper's
(docs/facts/controller.md). On KRaft it changes nothing at all (docs/facts/kraft.md).
"""

from __future__ import annotations

from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterChanger
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import Mode
from kfix.heal.actions.base import Checks, Inverse, Kinds, NotApplicable, Preview
from kfix.heal.actions.election import ONE_ELECTION, Electing, assignment_and_live_isr
from kfix.heal.actions.words import reassign_command
from kfix.heal.model.facts import ReadFact, about, about_cluster
from kfix.heal.model.plan import CheckCall


class ReassignNoop(Electing):
    name = "reassign.noop"
    summary = "reassign a partition to its own replicas; elects a live ISR member and can elect no other"
    frozen: ClassVar[Kinds] = {"replicas": ArgKind.BROKERS}

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

    def inverse(self, _args: Args) -> Inverse:
        return Inverse(False, "none needed: the replica list stays as it is, no replica and no record moves")

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.reassign(args.tp(), args.brokers("replicas"))

    def proves(self, args: Args) -> Checks:
        same = CheckCall("assignment_is", args.only("partition", "replicas"))
        return (same, CheckCall("partition_has_leader", args.only("partition")))

    def guards(self, args: Args) -> Checks:
        return (*super().guards(args), CheckCall("no_reassignment", args.only("partition")))
