"""Elects the preferred leader, the first of the assignment. Kafka refuses it unless that one is alive and in sync.

With `after_reorder` it is planned for the order that `reassign.reorder` makes with the same word in an earlier step.
"""

from __future__ import annotations

from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.heal.actions.base import Checks, Inverse, Kinds, Names, NotApplicable
from kfix.heal.actions.election import LeaderElection, assignment_and_live_isr
from kfix.heal.actions.ordering import AS_IT_IS, facts_of, ordered
from kfix.heal.model.facts import ReadFact
from kfix.heal.model.plan import CheckCall


class ElectPreferred(LeaderElection):
    name = "leader.elect_preferred"
    summary = "elect the preferred replica, where it is alive and in sync; can never lose data"
    optional: ClassVar[Kinds] = {"after_reorder": ArgKind.TEXT}
    unclean = False

    def freeze(self, args: Args, read: ReadFact) -> Args:
        assignment, live = assignment_and_live_isr(args, read)
        literal = Args({"after_reorder": AS_IT_IS, **args})
        order = ordered(args.tp(), literal.text("after_reorder"), assignment, read)
        if order[0] not in live:
            raise NotApplicable(f"the preferred replica {order[0]} is not in the live ISR {list(live)}")
        return literal.with_(winner=order[0])

    def what(self, args: Args) -> str:
        return f"elect the preferred replica, broker {args.number('winner')}, as leader of {args.tp()}"

    def reads(self, args: Args) -> Names:
        word = args.text("after_reorder")
        more = () if word == AS_IT_IS else facts_of(args.tp(), word)
        return tuple(dict.fromkeys((*super().reads(args), *more)))

    def guards(self, args: Args) -> Checks:
        """If the reorder before it failed, the wrong replica would be elected.

        A leader is only replaced on purpose where something is wrong with it, and perhaps with the ISR: then the new
        one must hold all that any live replica holds.
        """
        if args.text("after_reorder") == AS_IT_IS:
            return super().guards(args)
        first = args.only("partition").with_(broker=args.number("winner"))
        return (*super().guards(args), CheckCall("preferred_is", first), CheckCall("holds_longest_log", first))

    def inverse(self, _args: Args) -> Inverse:
        return Inverse(False, "none needed: only the leadership moves, no replica and no record does")
