"""Elects a live in-sync replica through the API that Kafka calls "unclean".

Kafka takes the first live member of the ISR in assignment order and loses nothing, as long as there is one. Were the
last one to die in the instant between the look and the call, the election would be truly unclean; Kafka has no
compare-and-set for it. So the ISR and the registrations are read again in the same second, a gate of its own asks, and
`leader_from_isr` afterwards tells who won. A broker lives on when its disk fails, and its replica does not: so each
member must answer for its replica too (`isr_replica_online`). The other elections need not ask: Kafka itself elects no
offline replica, and they can elect nobody outside the ISR.
"""

from __future__ import annotations

from kfix.actions.base import Action, Inverse, NotApplicable, Preview
from kfix.actions.partition import (
    ONE_ELECTION,
    assignment_and_live_isr,
    elected,
    live_isr_guard,
    reads,
    won,
    writes,
)
from kfix.model.cluster.reading import ChangeResult
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact, about
from kfix.model.plan.plan import CheckCall, Gate, Risk
from kfix.ports import ClusterChanger


def freeze(args: Args, read: ReadFact) -> Args:
    _, live = assignment_and_live_isr(args, read)
    if not live:
        raise NotApplicable("no member of the ISR is alive: this election would lose data")
    leader_key, alive_key = about(args.tp(), "leader", "live_replicas")
    alive = read(alive_key).value
    if isinstance(alive, tuple) and read(leader_key).value in alive:
        raise NotApplicable("ZooKeeper records a live leader; Kafka answers 84 ELECTION_NOT_NEEDED")
    return args.with_(winner=live[0])


def preview(args: Args) -> Preview:
    tp, winner = args.tp(), args.number("winner")
    return Preview(
        what=f"elect broker {winner}, the first live in-sync replica, as leader of {tp}",
        target=str(tp),
        live=f"broker {winner}",
        command=(
            "kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type unclean "
            f"--topic {tp.topic} --partition {tp.partition}   # only while an ISR member is alive"
        ),
        estimate=ONE_ELECTION,
    )


def guards(args: Args) -> tuple[CheckCall, ...]:
    return (*live_isr_guard(args), CheckCall("isr_replica_online", Args({"partition": args.text("partition")})))


def inverse(_args: Args) -> Inverse:
    return Inverse(False, "none: an election is not taken back; with a live in-sync replica nothing is lost")


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    return changer.elect(args.tp(), unclean=True)


ACTION = Action(
    name="leader.elect_isr",
    summary='elect a live ISR member by the "unclean" API, after reading the ISR again; refused without one',
    risk=Risk.ONE_PARTITION,
    gate_floor=Gate.STEP,
    params={"partition": ArgKind.PARTITION},
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
