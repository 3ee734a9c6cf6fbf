"""Elects a live replica that is not in sync, where the whole ISR is dead. Acknowledged records are lost forever.

Kafka elects the first live replica in assignment order, not the one with the longest log (docs/facts/controller.md), so
the winner is computed beforehand, and the action is refused where a longer log would be truncated. The loss is the
difference between the winner's log end and that of the dead leader. The other live replicas give a lower bound. The
upper bound is known only where the end of the dead leader's log was read (docs/facts/data-loss.md) and the epoch of
its last record is the winner's: a log of an older epoch may end with records of its own, which are lost or kept
uncounted. An unknown loss is not a loss of zero: the operator accepts any loss, or nothing happens.
"""

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import NO_LEADER
from kfix.core.wording import several
from kfix.heal.actions.base import ActionStatus, Checks, Inverse, Kinds, Names, NotApplicable
from kfix.heal.actions.elections import (
    AS_IT_IS,
    LONGEST_LOG,
    LeaderElection,
    LogPosition,
    facts_of,
    longest,
    ordered,
    parse_tails,
)
from kfix.heal.model.facts import Fact, ReadFact, about, brokers
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk
from kfix.heal.probes.base import ON_PARTITION
from kfix.heal.probes.moves import ids

#: Of `max_loss`: any loss. Of `known_end`, `known_epoch` and `lost_at_most`: unknown.
ANY = UNKNOWN = -1


class ElectUnclean(LeaderElection):
    name = "leader.elect_unclean"
    summary = "elect a live out-of-sync replica; loses acknowledged records, refused while an ISR member is alive"
    risk = Risk.DATA_LOSS
    gate_floor = Gate.TYPED
    params: ClassVar[Kinds] = {**ON_PARTITION, "max_loss": ArgKind.INT}
    optional: ClassVar[Kinds] = {
        "after_reorder": ArgKind.TEXT,
        "known_end": ArgKind.INT,
        "known_epoch": ArgKind.INT,
    }
    frozen: ClassVar[Kinds] = {
        "winner": ArgKind.BROKER,
        "winner_end": ArgKind.INT,
        "lost_at_least": ArgKind.INT,
        "lost_at_most": ArgKind.INT,
        "tails": ArgKind.TEXT,
    }
    unclean = True
    note = "   # loses records"

    def freeze(self, args: Args, read: ReadFact) -> Args:
        literal = Args({"after_reorder": AS_IT_IS, "known_end": UNKNOWN, "known_epoch": UNKNOWN, **args})
        tp = args.tp()
        order, live = _must_be_the_last_resort(literal, read)
        text = str(read(*about(tp, "log_tails")).value)
        tails = parse_tails(text)
        after = ordered(tp, literal.text("after_reorder"), order, read)
        winner = next(b for b in after if b in live)
        best = _best(literal, order, tails, winner)
        if tails[winner] < tails[best] and literal.text("after_reorder") == AS_IT_IS:
            raise RefusedError(
                f"{tp}: Kafka would elect broker {winner} ({tails[winner].words}), but broker {best} holds more "
                f"({tails[best].words})",
                hint=f"put it first with reassign.reorder ({LONGEST_LOG}), and give after_reorder the same word",
            )
        literal = literal.with_(
            winner=winner,
            winner_end=tails[winner].end,
            lost_at_least=max(0, tails[best].end - tails[winner].end),
            lost_at_most=_at_most(literal, tails, winner),
            tails=text,
        )
        _must_be_accepted(literal)
        return literal

    def what(self, args: Args) -> str:
        winner, end = args.number("winner"), args.number("winner_end")
        text = f"elect broker {winner} (log end {end}), which is NOT in sync, as leader of {args.tp()}"
        return f"{text}; lost forever: {_loss(args)}"

    def estimate(self, args: Args) -> Estimate:
        return Estimate(partitions=1, max_loss=_loss(args))

    def inverse(self, args: Args) -> Inverse:
        end, winner = args.number("winner_end"), args.number("winner")
        text = f"none: records from offset {end} on are lost forever; a broker of the old ISR truncates its log to"
        return Inverse(False, f"{text} that of broker {winner} when it starts: copy its log directory before")

    def status(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        """Returns UNKNOWN where another replica than the computed one won: this change does not explain that."""
        found = super().status(args, before, reader)
        if found is not ActionStatus.DONE:
            return found
        state = reader.recorded(args.tp()).state
        leader = NO_LEADER if state is None else state.leader
        return ActionStatus.DONE if leader == args.number("winner") else ActionStatus.UNKNOWN

    def reads(self, args: Args) -> Names:
        word = args.text("after_reorder")
        more = () if word == AS_IT_IS else facts_of(args.tp(), word)
        return tuple(dict.fromkeys((*super().reads(args), *about(args.tp(), "log_tails"), *more)))

    def writes(self, args: Args) -> Names:
        """The other replicas truncate to the winner and follow it."""
        return (*super().writes(args), *about(args.tp(), "log_tails"))

    def proves(self, args: Args) -> Checks:
        return (CheckCall("unclean_winner_leads", args.only("partition").with_(broker=args.number("winner"))),)

    def guards(self, args: Args) -> Checks:
        partition = args.only("partition")
        winner = partition.with_(broker=args.number("winner"))
        return (CheckCall("isr_is_dead", partition), CheckCall("unclean_winner_is", winner))


def _best(args: Args, order: tuple[int, ...], tails: Mapping[int, LogPosition], winner: int) -> int:
    """Returns the replica that holds most; the winner itself where that is unknown and a person named the winner."""
    try:
        return longest(args.tp(), order, tails)
    except RefusedError:
        if args.text("after_reorder").isdecimal():
            return winner
        raise


def _must_be_the_last_resort(args: Args, read: ReadFact) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns (assignment, live replicas). Raises NotApplicable where no loss is needed, or no election possible."""
    tp = args.tp()
    order, live, live_isr = (brokers(read(key)) for key in about(tp, "assignment", "live_replicas", "live_isr"))
    leader = read(*about(tp, "leader")).value
    if live_isr:
        text = f"{ids(live_isr)} of the ISR is alive: an election among the ISR loses nothing (leader.elect_isr)"
        raise NotApplicable(text)
    if not live:
        text = f"no broker of {ids(order)} is alive: no election of any kind can help (KFX104, KFX105)"
        raise NotApplicable(f"{text}; start one of them")
    if leader in live:
        raise NotApplicable(f"{tp} has a live leader, broker {leader}")
    return order, live


def _at_most(args: Args, tails: Mapping[int, LogPosition], winner: int) -> int:
    """Returns the largest possible loss in records, or UNKNOWN.

    An epoch has one leader: of two logs whose last records are of the same epoch the shorter is a prefix of the longer.
    """
    known, epoch, tp = args.number("known_end"), args.number("known_epoch"), args.tp()
    newest = max(tails, key=lambda b: tails[b].epoch)
    if UNKNOWN < epoch < tails[newest].epoch:
        text = f"{tp}: known_epoch {epoch} is before the epoch {tails[newest].epoch} of broker {newest}'s last record"
        raise RefusedError(f"{text}: that is not where the last leader's log ended")
    if known == UNKNOWN:
        return UNKNOWN
    # A longer log of an older epoch may end with records of its own; one of the same or an unknown epoch cannot.
    furthest = max((b for b in tails if epoch in {UNKNOWN, tails[b].epoch}), key=lambda b: tails[b].end, default=None)
    if furthest is not None and known < tails[furthest].end:
        text = f"{tp}: known_end {known} is before the log end {tails[furthest].end} of broker {furthest}"
        raise RefusedError(f"{text}: that is not where the last leader's log ended")
    comparable = tails[winner].end == 0 or (epoch != UNKNOWN and tails[winner].epoch == epoch)
    return known - tails[winner].end if comparable else UNKNOWN


def _must_be_accepted(args: Args) -> None:
    tp, most, cap = args.tp(), args.number("lost_at_most"), args.number("max_loss")
    if cap < ANY:
        raise RefusedError(f"{tp}: max_loss {cap}: give the number of records that may be lost, or {ANY} for any")
    if cap == ANY:
        return
    if most == UNKNOWN:
        raise RefusedError(
            f"{tp}: the number of lost records is unknown, so max_loss {cap} cannot be kept{_why_unknown(args)}",
            hint="read the end of the dead leader's log and the partitionLeaderEpoch of its last batch "
            "(kafka-dump-log.sh), give them as known_end and known_epoch, "
            f"or accept any loss with max_loss {ANY}",
        )
    if most > cap:
        raise RefusedError(f"{tp}: up to {several(most, 'record')} may be lost, max_loss allows {cap}")


def _why_unknown(args: Args) -> str:
    """Returns the reason in brackets where `known_end` was given, else nothing."""
    if args.number("known_end") == UNKNOWN:
        return ""
    if args.number("known_epoch") == UNKNOWN:
        return " (known_epoch, the epoch of its last record, is not given: the logs may differ before their ends)"
    epoch = parse_tails(args.text("tails"))[args.number("winner")].epoch
    own = "unknown" if epoch < 0 else str(epoch)
    return f" (its last record is of epoch {args.number('known_epoch')}, the winner's of {own}: the logs may differ)"


def _loss(args: Args) -> str:
    """Returns the loss in words; it never starts with "none", which would read as harmless."""
    least, most = args.number("lost_at_least"), args.number("lost_at_most")
    if most == UNKNOWN:
        text = f"at least {several(least, 'acknowledged record')}, the upper bound is unknown"
        return text + _why_unknown(args)
    return f"at least {least} and at most {several(most, 'acknowledged record')}, by the given end of the last leader"
