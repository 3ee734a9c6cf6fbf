"""Elects an in-sync leader of one partition. `leader_elect_unclean` elects one that is not in sync."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.numbers import broker_id
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import brokers_named
from kfix.heal.actions.base import Action, ActionStatus, Checks, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import Fact, ReadFact, about, about_brokers, brokers, show_value
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk
from kfix.heal.probes.base import ON_PARTITION

ONE_ELECTION = Estimate(partitions=1, max_loss="none: a live in-sync replica holds every acknowledged record")


class Electing(Action):
    """A change after which the controller elects a leader of one partition."""

    risk = Risk.ONE_PARTITION
    params = ON_PARTITION
    guarded: ClassVar[Mapping[str, Names]] = {"partition_has_live_isr": ("partition",)}

    def reads(self, args: Args) -> Names:
        """Includes the live replicas: who may win an election depends on them."""
        names = ("leader", "leader_epoch", "isr", "live_isr", "assignment", "live_replicas", "reassigning")
        return about(args.tp(), *names)

    def writes(self, args: Args) -> Names:
        """An election moves leader, epoch and ISR, but neither the assignment nor the registrations."""
        return about(args.tp(), "leader", "leader_epoch", "isr", "live_isr")

    def status(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        """Every election raises the leader epoch: while the epoch is the same, nothing has happened yet."""
        (key,) = about(args.tp(), "leader_epoch")
        reading = reader.recorded(args.tp())
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


# Which replica is to come first in the assignment, and the order that results.
#
# The first replica of the assignment is the preferred leader, and an unclean election elects the first live one
# (docs/facts/controller.md). `reassign.reorder` makes the order; `leader.elect_preferred` and `leader.elect_unclean`
# expect it.

LONGEST_LOG = "longest-log"
OTHER_IN_SYNC = "other-in-sync"
#: The order stays as it is.
AS_IT_IS = ""


class LogPosition(NamedTuple):
    """The end of a log; the greater of two holds more (docs/facts/data-loss.md). Epoch -1: empty or unknown."""

    epoch: int
    end: int

    @property
    def words(self) -> str:
        return f"log end {self.end}, epoch {'unknown' if self.epoch < 0 else self.epoch}"


def parse_tails(text: str) -> Mapping[int, LogPosition]:
    """Reads the text of the fact `log_tails`, such as `2:5/10412 3:5/10398` (broker:epoch/end)."""
    found = {}
    for each in text.split():
        broker, _, rest = each.partition(":")
        epoch, _, end = rest.partition("/")
        found[int(broker)] = LogPosition(int(epoch), int(end))
    return found


def longest(tp: TopicPartition, order: tuple[int, ...], tails: Mapping[int, LogPosition]) -> int:
    """Returns the replica that holds most, of equals the first in `order`; raises RefusedError where that is unknown.

    Where no epoch at all is known the log ends alone decide.
    """
    live = [b for b in order if b in tails]
    unknown = [b for b in live if tails[b].epoch < 0 and tails[b].end > 0]
    if unknown and any(tails[b].epoch >= 0 for b in live):
        text = f"{tp}: the epoch of the last record of {show_value(tuple(unknown))} is unknown"
        raise RefusedError(f"{text}, so the longest log is unknown too; name the broker that is to come first")
    return max(live, key=lambda b: (tails[b], -live.index(b)))


def put_first(order: tuple[int, ...], broker: int) -> tuple[int, ...]:
    return (broker, *(b for b in order if b != broker))


def who_comes_first(tp: TopicPartition, word: str, order: tuple[int, ...], read: ReadFact) -> int:
    """Returns the broker that the word means.

    Raises NotApplicable where no replica fits the word, RefusedError where the word names no replica that could lead.
    """
    if word == LONGEST_LOG:
        return _longest_log(tp, order, read)
    if word == OTHER_IN_SYNC:
        return _other_in_sync(tp, order, read)
    broker = _id(tp, word)
    if broker not in order:
        raise RefusedError(f"{tp}: broker {broker} holds no replica; the replicas are {show_value(order)}")
    if read(*about_brokers(broker)).value is not True:
        raise RefusedError(f"{tp}: broker {broker} is not registered, so it cannot be elected")
    return broker


def facts_of(tp: TopicPartition, word: str) -> tuple[str, ...]:
    """Returns the facts that `who_comes_first` reads."""
    if word == LONGEST_LOG:
        return about(tp, "leader", "live_isr", "live_replicas", "log_tails")
    return about(tp, "leader", "live_isr") if word == OTHER_IN_SYNC else about_brokers(_id(tp, word))


def ordered(tp: TopicPartition, word: str, order: tuple[int, ...], read: ReadFact) -> tuple[int, ...]:
    """Returns the order after `reassign.reorder` with that word; the present order where no word is given."""
    return order if word == AS_IT_IS else put_first(order, who_comes_first(tp, word, order, read))


def _id(tp: TopicPartition, word: str) -> int:
    found = broker_id(word)
    if found is None:
        raise RefusedError(f"{tp}: {word!r} is neither {LONGEST_LOG} nor {OTHER_IN_SYNC} nor the id of a broker")
    return found


def _longest_log(tp: TopicPartition, order: tuple[int, ...], read: ReadFact) -> int:
    live_isr_key, live_key, leader_key = about(tp, "live_isr", "live_replicas", "leader")
    live, live_isr = brokers(read(live_key)), brokers(read(live_isr_key))
    if live_isr:
        raise NotApplicable(f"{show_value(live_isr)} of the ISR is alive and holds every acknowledged record")
    if read(leader_key).value in live:
        raise NotApplicable(f"{tp} has a live leader; which log is longest does not matter")
    if not live:
        raise NotApplicable(f"no replica of {tp} is alive")
    return longest(tp, order, parse_tails(str(read(*about(tp, "log_tails")).value)))


def _other_in_sync(tp: TopicPartition, order: tuple[int, ...], read: ReadFact) -> int:
    leader_key, live_isr_key = about(tp, "leader", "live_isr")
    leader, live = read(leader_key).value, brokers(read(live_isr_key))
    others = [b for b in order if b in live and b != leader]
    if not others:
        raise NotApplicable(f"no replica but the leader {leader} is alive and in sync: live ISR {show_value(live)}")
    return others[0]


class ElectIsr(LeaderElection):
    """Elects a live in-sync replica through the API that Kafka calls "unclean".

    Kafka elects the first live member of the ISR in assignment order and loses nothing, as long as there is one.
    If the last one died between the reading and the call, the election would be truly unclean; Kafka has no
    compare-and-set for it. It is truly unclean as well while the broker of that member is being shut down: for
    seconds it is still registered and answers, but the controller elects no replica of it
    (docs/facts/controller.md). So the action is not applicable while a replica outside the ISR is alive, which
    would be elected then; the other remedies cannot elect it.

    The ISR and the registrations are read again in the same second, a gate of its own asks, and `leader_from_isr`
    checks afterwards who won. A broker whose disk failed stays alive, but its replica is offline: so the broker of
    each member must answer for its replica too (`isr_replica_online`). The other elections need no such check:
    Kafka itself elects no offline replica, and they cannot elect a replica outside the ISR. The runbook
    coordinator-stuck asks all the same, since no election helps then.
    """

    name = "leader.elect_isr"
    summary = 'elect a live ISR member by the "unclean" API, after reading the ISR again; refused without one'
    gate_floor = Gate.STEP
    unclean = True
    note = "   # only while an ISR member is alive"
    irreversible = "none: an election is not undone; with a live in-sync replica no record is lost"

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


class ElectPreferred(LeaderElection):
    """Elects the preferred leader, the first of the assignment. Kafka refuses it unless that one is alive and in
    sync.

    With `after_reorder` it is planned for the order that `reassign.reorder` makes with the same word in an earlier
    step.
    """

    name = "leader.elect_preferred"
    summary = "elect the preferred replica, where it is alive and in sync; can never lose data"
    optional: ClassVar[Kinds] = {"after_reorder": ArgKind.TEXT}
    unclean = False
    irreversible = "none needed: only the leadership moves, no replica and no record does"

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
