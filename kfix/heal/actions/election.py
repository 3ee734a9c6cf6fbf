"""What the actions that elect a leader of one partition share: facts, guards, progress, and the command by hand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.base import Action, ActionStatus, Checks, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import Fact, ReadFact, about, brokers
from kfix.heal.model.plan import CheckCall, Estimate, Risk
from kfix.heal.probes.base import ON_PARTITION

ONE_ELECTION = Estimate(partitions=1, max_loss="none: a live in-sync replica holds every acknowledged record")


class Electing(Action):
    """A change after which the controller elects a leader of one partition."""

    risk = Risk.ONE_PARTITION
    params = ON_PARTITION

    def reads(self, args: Args) -> Names:
        """Includes the live replicas: who may win an election depends on them."""
        names = ("leader", "leader_epoch", "isr", "live_isr", "assignment", "live_replicas", "reassigning")
        return about(args.tp(), *names)

    def writes(self, args: Args) -> Names:
        """An election moves leader, epoch and ISR, but neither the assignment nor the registrations."""
        return about(args.tp(), "leader", "leader_epoch", "isr", "live_isr")

    def guards(self, args: Args) -> Checks:
        return (CheckCall("partition_has_live_isr", args.only("partition")),)

    def probe(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        """Every election raises the leader epoch: while the epoch is the same, nothing has happened yet."""
        (key,) = about(args.tp(), "leader_epoch")
        try:
            reading = reader.recorded(args.tp())
        except UnreachableError:
            return ActionStatus.UNKNOWN
        if reading.state is None or reading.leaderless is None or key not in before:
            return ActionStatus.UNKNOWN
        if reading.state.leader_epoch == before[key].value:
            return ActionStatus.NOT_STARTED
        return ActionStatus.UNKNOWN if reading.leaderless else ActionStatus.DONE


class LeaderElection(Electing):
    """An election through Kafka's ElectLeaders API, whose winner is known beforehand."""

    frozen: ClassVar[Kinds] = {"winner": ArgKind.INT}
    unclean: ClassVar[bool]
    #: A comment behind the command that does the same by hand.
    note: ClassVar[str] = ""

    def proves(self, args: Args) -> Checks:
        return (CheckCall("leader_is", args.only("partition").with_(broker=args.number("winner"))),)

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.elect(args.tp(), unclean=self.unclean)

    @abstractmethod
    def what(self, args: Args) -> str: ...

    def estimate(self, _args: Args) -> Estimate:
        return ONE_ELECTION

    def preview(self, args: Args) -> Preview:
        tp = args.tp()
        return Preview(
            what=self.what(args),
            target=str(tp),
            live=f"broker {args.number('winner')}",
            command=(
                "kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type "
                f"{'unclean' if self.unclean else 'preferred'} --topic {tp.topic} --partition {tp.partition}{self.note}"
            ),
            estimate=self.estimate(args),
        )


def assignment_and_live_isr(args: Args, read: ReadFact) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns (assignment, live ISR), both in assignment order: the order in which Kafka chooses a leader.

    Raises NotApplicable where the partition has no assignment.
    """
    assignment_key, live_key = about(args.tp(), "assignment", "live_isr")
    assignment = brokers(read(assignment_key))
    live = brokers(read(live_key))
    if not assignment:
        raise NotApplicable(f"{args.tp()} has no assignment")
    return assignment, tuple(b for b in assignment if b in live)
