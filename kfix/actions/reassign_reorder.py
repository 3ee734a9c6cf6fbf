"""Puts one replica first in the assignment; no replica and no record moves.

It works without a leader too: Kafka then rewrites the order and does nothing else (kafka-facts B8), which is how the
survivor of an unclean election is chosen. With a live leader the preferred one changes, and who leads does not.
"""

from __future__ import annotations

from kfix.actions.base import Action, Inverse, NotApplicable, Preview
from kfix.actions.moving import apply, arrived, as_planned, assigned, back, probe, writes
from kfix.actions.ordering import LONGEST_LOG, facts_of, put_first, who_comes_first
from kfix.actions.words import reassign_command
from kfix.errors import RefusedError
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact, about
from kfix.model.plan.plan import CheckCall, Estimate, Gate, Risk
from kfix.probes.assignments import ids

_ESTIMATE = Estimate(
    partitions=1, replicas_moved=0, bytes=0, seconds=1.0, max_loss="none: the order alone changes, nothing is copied"
)


def freeze(args: Args, read: ReadFact) -> Args:
    before = assigned(args, read)
    first = who_comes_first(args.tp(), args.text("first"), before, read)
    if before[0] == first:
        raise NotApplicable(f"broker {first} comes first in {ids(before)} already")
    return args.with_(replicas=put_first(before, first), before=before)


def preview(args: Args) -> Preview:
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


def inverse(args: Args) -> Inverse:
    text = f"put the order {ids(args.brokers('before'))} back; nothing is copied"
    return Inverse(True, text, back(args, size=0, rate=0, keep=False))


def reads(args: Args) -> tuple[str, ...]:
    tp = args.tp()
    return tuple(dict.fromkeys((*about(tp, "assignment", "reassigning"), *facts_of(tp, args.text("first")))))


def guards(args: Args) -> tuple[CheckCall, ...]:
    """RefusedError where a plan was made by hand that adds or removes replicas under the name of an order."""
    if sorted(args.brokers("replicas")) != sorted(args.brokers("before")):
        text = f"{ids(args.brokers('before'))} -> {ids(args.brokers('replicas'))} is no mere change of order"
        raise RefusedError(f"{args.tp()}: {text}")
    dead = CheckCall("isr_is_dead", Args({"partition": args.text("partition")}))
    return (*as_planned(args), dead) if args.text("first") == LONGEST_LOG else as_planned(args)


def proves(args: Args) -> tuple[CheckCall, ...]:
    return (arrived(args),)


ACTION = Action(
    name="reassign.reorder",
    summary=f"put a replica first in the assignment: {LONGEST_LOG}, other-in-sync or a broker's id; nothing is copied",
    risk=Risk.ONE_PARTITION,
    gate_floor=Gate.PLAN,
    params={"partition": ArgKind.PARTITION, "first": ArgKind.TEXT},
    frozen={"replicas": ArgKind.BROKERS, "before": ArgKind.BROKERS},
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
