"""Elects the preferred leader, the first of the assignment. Kafka refuses it unless that one is alive and in sync."""

from __future__ import annotations

from kfix.actions.base import Action, Inverse, NotApplicable, Preview
from kfix.actions.partition import (
    ONE_ELECTION,
    assignment_and_live_isr,
    elected,
    live_isr_guard,
    reads,
    writes,
)
from kfix.model.args import Args, Kind
from kfix.model.facts import ReadFact
from kfix.model.plan import Gate, Risk
from kfix.model.reading import ChangeResult
from kfix.ports import ClusterChanger


def freeze(args: Args, read: ReadFact) -> Args:
    assignment, live = assignment_and_live_isr(args, read)
    if assignment[0] not in live:
        raise NotApplicable(f"the preferred replica {assignment[0]} is not in the live ISR {list(live)}")
    return args.with_(winner=assignment[0])


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


def inverse(_args: Args) -> Inverse:
    return Inverse(False, "none needed: leadership alone moves, no replica and no record does")


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    return changer.elect(args.tp(), unclean=False)


ACTION = Action(
    name="leader.elect_preferred",
    summary="elect the preferred replica, where it is alive and in sync; can never lose data",
    risk=Risk.ONE_PARTITION,
    gate_floor=Gate.PLAN,
    params={"partition": Kind.PARTITION},
    frozen={"winner": Kind.INT},
    reads=reads,
    writes=writes,
    freeze=freeze,
    preview=preview,
    inverse=inverse,
    apply=apply,
    probe=elected,
    guards=live_isr_guard,
)
