"""Elects the preferred leader, the first of the assignment. Kafka refuses it unless that one is alive and in sync.

With `after_reorder` it is planned for the order that `reassign.reorder` makes with the same word in an earlier step.
"""

from __future__ import annotations

from kfix.actions.base import Action, Inverse, NotApplicable, Preview
from kfix.actions.ordering import AS_IT_IS, facts_of, ordered
from kfix.actions.partition import (
    ONE_ELECTION,
    assignment_and_live_isr,
    elected,
    live_isr_guard,
    won,
    writes,
)
from kfix.actions.partition import reads as partition_reads
from kfix.model.cluster.reading import ChangeResult
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact
from kfix.model.plan.plan import CheckCall, Gate, Risk
from kfix.ports import ClusterChanger


def freeze(args: Args, read: ReadFact) -> Args:
    assignment, live = assignment_and_live_isr(args, read)
    literal = Args({"after_reorder": AS_IT_IS, **args})
    order = ordered(args.tp(), literal.text("after_reorder"), assignment, read)
    if order[0] not in live:
        raise NotApplicable(f"the preferred replica {order[0]} is not in the live ISR {list(live)}")
    return literal.with_(winner=order[0])


def preview(args: Args) -> Preview:
    tp, winner = args.tp(), args.number("winner")
    return Preview(
        what=f"elect the preferred replica, broker {winner}, as leader of {tp}",
        target=str(tp),
        live=f"broker {winner}",
        command=(
            "kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type preferred "
            f"--topic {tp.topic} --partition {tp.partition}"
        ),
        estimate=ONE_ELECTION,
    )


def reads(args: Args) -> tuple[str, ...]:
    word = args.text("after_reorder")
    return partition_reads(args) if word == AS_IT_IS else (*partition_reads(args), *_more(args, word))


def _more(args: Args, word: str) -> tuple[str, ...]:
    return tuple(key for key in facts_of(args.tp(), word) if key not in partition_reads(args))


def guards(args: Args) -> tuple[CheckCall, ...]:
    """Where the reorder before it did not take, the wrong one would be elected.

    A leader is only put aside on purpose where something is wrong with it, and perhaps with who is in sync: then the
    new one must be seen to hold all that any live replica holds.
    """
    if args.text("after_reorder") == AS_IT_IS:
        return live_isr_guard(args)
    first = Args({"partition": args.text("partition"), "broker": args.number("winner")})
    return (*live_isr_guard(args), CheckCall("preferred_is", first), CheckCall("holds_longest_log", first))


def inverse(_args: Args) -> Inverse:
    return Inverse(False, "none needed: leadership alone moves, no replica and no record does")


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    return changer.elect(args.tp(), unclean=False)


ACTION = Action(
    name="leader.elect_preferred",
    summary="elect the preferred replica, where it is alive and in sync; can never lose data",
    risk=Risk.ONE_PARTITION,
    gate_floor=Gate.PLAN,
    params={"partition": ArgKind.PARTITION},
    optional={"after_reorder": ArgKind.TEXT},
    frozen={"winner": ArgKind.INT},
    reads=reads,
    writes=writes,
    freeze=freeze,
    preview=preview,
    inverse=inverse,
    apply=apply,
    probe=elected,
    guards=guards,
    proves=won,
)
