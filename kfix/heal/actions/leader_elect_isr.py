"""Elects a live in-sync replica through the API that Kafka calls "unclean".

Kafka elects the first live member of the ISR in assignment order and loses nothing, as long as there is one. If the
last one died between the reading and the call, the election would be truly unclean; Kafka has no compare-and-set for
it. It is truly unclean as well while the broker of that member is being shut down: for seconds it is still registered
and answers, but the controller elects no replica of it (docs/facts/controller.md). So the action is not applicable
while a replica outside the ISR is alive, which would be elected then; the other remedies cannot elect it.

The ISR and the registrations are read again in the same second, a gate of its own asks, and `leader_from_isr` checks
afterwards who won. A broker whose disk failed stays alive, but its replica is offline: so the broker of each member
must answer for its replica too (`isr_replica_online`). The other elections need no such check: Kafka itself elects no
offline replica, and they cannot elect a replica outside the ISR. The runbook coordinator-stuck asks all the same, since
no election helps then.
"""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.wording import brokers_named
from kfix.heal.actions.base import Checks, Inverse, NotApplicable
from kfix.heal.actions.election import LeaderElection, assignment_and_live_isr
from kfix.heal.model.facts import ReadFact, about, brokers
from kfix.heal.model.plan import CheckCall, Gate


class ElectIsr(LeaderElection):
    name = "leader.elect_isr"
    summary = 'elect a live ISR member by the "unclean" API, after reading the ISR again; refused without one'
    gate_floor = Gate.STEP
    unclean = True
    note = "   # only while an ISR member is alive"

    def freeze(self, args: Args, read: ReadFact) -> Args:
        _, live = assignment_and_live_isr(args, read)
        if not live:
            raise NotApplicable("no member of the ISR is alive: this election would lose data")
        leader_key, alive_key = about(args.tp(), "leader", "live_replicas")
        alive = read(alive_key).value
        if isinstance(alive, tuple) and read(leader_key).value in alive:
            raise NotApplicable("a live leader is recorded; Kafka answers 84 ELECTION_NOT_NEEDED")
        outside = [b for b in brokers(read(alive_key)) if b not in live]
        if outside:
            raise NotApplicable(
                f"a replica outside the ISR is alive ({brokers_named(outside)}) and would be elected, with a loss, if "
                f"{brokers_named(live)} died or was being shut down"
            )
        return args.with_(winner=live[0])

    def what(self, args: Args) -> str:
        return f"elect broker {args.number('winner')}, the first live in-sync replica, as leader of {args.tp()}"

    def guards(self, args: Args) -> Checks:
        return (*super().guards(args), CheckCall("isr_replica_online", args.only("partition")))

    def inverse(self, _args: Args) -> Inverse:
        return Inverse(False, "none: an election is not undone; with a live in-sync replica no record is lost")
