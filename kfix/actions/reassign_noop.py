"""Reassigns a partition to the replicas it already has, so that the controller looks at it again.

The controller re-reads the partition's state from ZooKeeper. Where its leader is gone it elects the first live member
of the ISR and cannot elect any other; where it believes in another leader it takes over
ZooKeeper's (kafka-facts B6, B7).
"""

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
from kfix.actions.words import reassign_command
from kfix.model.cluster.reading import ChangeResult
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact, about
from kfix.model.plan.plan import CheckCall, Gate, Risk
from kfix.ports import ClusterChanger


def freeze(args: Args, read: ReadFact) -> Args:
    assignment, live = assignment_and_live_isr(args, read)
    (moving_key,) = about(args.tp(), "reassigning")
    if read(moving_key).value is not None:
        raise NotApplicable("a reassignment of this partition is under way; a no-op one would replace it")
    if not live:
        raise NotApplicable("no member of the ISR is alive, so there is nobody to elect")
    return args.with_(replicas=assignment)


def preview(args: Args) -> Preview:
    tp, replicas = args.tp(), args.brokers("replicas")
    return Preview(
        what=f"reassign {tp} to the replicas it has, {list(replicas)}: the controller looks again",
        target=str(tp),
        live=f"replicas {','.join(map(str, replicas))}",
        command=reassign_command(tp, replicas, "noop", "--execute"),
        estimate=ONE_ELECTION,
    )


def inverse(_args: Args) -> Inverse:
    return Inverse(False, "none needed: the replica list stays as it is, no replica and no record moves")


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    return changer.reassign(args.tp(), args.brokers("replicas"))


def proves(args: Args) -> tuple[CheckCall, ...]:
    partition = Args({"partition": args.text("partition")})
    same = CheckCall("assignment_is", partition.with_(replicas=args.brokers("replicas")))
    return (same, CheckCall("partition_has_leader", partition))


def guards(args: Args) -> tuple[CheckCall, ...]:
    partition = Args({"partition": args.text("partition")})
    return (*live_isr_guard(args), CheckCall("no_reassignment", partition))


ACTION = Action(
    name="reassign.noop",
    summary="reassign a partition to its own replicas; elects a live ISR member and can elect no other",
    risk=Risk.ONE_PARTITION,
    gate_floor=Gate.PLAN,
    params={"partition": ArgKind.PARTITION},
    frozen={"replicas": ArgKind.BROKERS},
    reads=reads,
    writes=writes,
    freeze=freeze,
    preview=preview,
    inverse=inverse,
    apply=apply,
    probe=elected,
    guards=guards,
    proves=proves,
)
