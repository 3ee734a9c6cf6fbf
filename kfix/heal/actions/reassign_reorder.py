"""Puts one replica first in the assignment; no replica and no record moves.

It also works without a leader: Kafka then only rewrites the order (docs/facts/controller.md), which chooses the
survivor of an unclean election. With a live leader the preferred leader changes, but not the leader.
"""

from __future__ import annotations

from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.heal.actions.base import Checks, Inverse, Kinds, Names, NotApplicable, Preview
from kfix.heal.actions.moving import Moving, assigned, back
from kfix.heal.actions.ordering import LONGEST_LOG, facts_of, put_first, who_comes_first
from kfix.heal.actions.words import reassign_command
from kfix.heal.model.facts import ReadFact, about
from kfix.heal.model.plan import CheckCall, Estimate
from kfix.heal.probes.assignments import ids
from kfix.heal.probes.base import ON_PARTITION

_ESTIMATE = Estimate(partitions=1, max_loss="none: only the order changes, nothing is copied")


class ReassignReorder(Moving):
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
