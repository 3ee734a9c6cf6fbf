"""Elects a live replica that is not in sync, where everybody who was is dead. Acknowledged records are lost for ever.

Kafka takes the first live replica in assignment order, not the longest log (kafka-facts B8), so the winner is computed
beforehand and a longer log that would lose is refused. What is lost lies between the winner's log end and that of the
dead leader; the other live replicas bound it from below, and only whoever read the dead leader's log knows the bound
from above (kafka-facts F), and only where the epoch of that leader's last record is that of the winner's: a log of an
older epoch may end with records of its own, which are lost or kept uncounted. Unknown is not none: then the operator
says that any loss will do, or nothing happens.
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import Action, ActionStatus, Inverse, NotApplicable, Preview
from kfix.actions.ordering import AS_IT_IS, LONGEST_LOG, LogPosition, facts_of, longest, ordered, parse_tails
from kfix.actions.partition import elected, won
from kfix.actions.partition import reads as partition_reads
from kfix.actions.partition import writes as election_writes
from kfix.actions.words import several
from kfix.errors import RefusedError, UnreachableError
from kfix.model.cluster.reading import ChangeResult
from kfix.model.cluster.snapshot import NO_LEADER
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import Fact, ReadFact, about, brokers
from kfix.model.plan.plan import CheckCall, Estimate, Gate, Risk
from kfix.ports import ClusterChanger, ClusterReader
from kfix.probes.assignments import ids

#: Of `max_loss`: any. Of `known_end`, `known_epoch` and `lost_at_most`: nobody knows.
ANY = UNKNOWN = -1


def freeze(args: Args, read: ReadFact) -> Args:
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


def _best(args: Args, order: tuple[int, ...], tails: Mapping[int, LogPosition], winner: int) -> int:
    """Who holds most. Where nobody can tell, a person who named the winner has decided, and nothing is claimed."""
    try:
        return longest(args.tp(), order, tails)
    except RefusedError:
        if args.text("after_reorder").isdecimal():
            return winner
        raise


def _must_be_the_last_resort(args: Args, read: ReadFact) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(assignment, live replicas). NotApplicable where an election loses nothing, or cannot be held at all."""
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
    """One leader an epoch: of logs whose last records are of one epoch the shorter is the beginning of the longer."""
    known, epoch, tp = args.number("known_end"), args.number("known_epoch"), args.tp()
    newest = max(tails, key=lambda b: tails[b].epoch)
    if UNKNOWN < epoch < tails[newest].epoch:
        text = f"{tp}: known_epoch {epoch} is before the epoch {tails[newest].epoch} of broker {newest}'s last record"
        raise RefusedError(f"{text}: that is not where the last leader's log ended")
    if known == UNKNOWN:
        return UNKNOWN
    # A longer log of an older epoch has a tail of its own; of the same, or of nobody knows which, it cannot be.
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
            f"{tp}: how many records are lost nobody alive knows, so max_loss {cap} cannot be kept{_why_unknown(args)}",
            hint="read the end of the dead leader's log and the partitionLeaderEpoch of its last batch "
            "(kafka-dump-log.sh), give them as known_end and known_epoch, "
            f"or accept any loss with max_loss {ANY}",
        )
    if most > cap:
        raise RefusedError(f"{tp}: up to {several(most, 'record')} may be lost, max_loss allows {cap}")


def _why_unknown(args: Args) -> str:
    """Only where an end was given: without one there is nothing to reason about."""
    if args.number("known_end") == UNKNOWN:
        return ""
    if args.number("known_epoch") == UNKNOWN:
        return " (known_epoch, the epoch of its last record, is not given: the logs may differ before their ends)"
    epoch = parse_tails(args.text("tails"))[args.number("winner")].epoch
    own = "unknown" if epoch < 0 else str(epoch)
    return f" (its last record is of epoch {args.number('known_epoch')}, the winner's of {own}: the logs may differ)"


def _loss(args: Args) -> str:
    """Never starts with "none": nobody is to read it as harmless."""
    least, most = args.number("lost_at_least"), args.number("lost_at_most")
    if most == UNKNOWN:
        text = f"at least {several(least, 'acknowledged record')}, how many at most nobody alive knows"
        return text + _why_unknown(args)
    return f"at least {least} and at most {several(most, 'acknowledged record')}, by the given end of the last leader"


def preview(args: Args) -> Preview:
    tp, winner = args.tp(), args.number("winner")
    return Preview(
        what=f"elect broker {winner} (log end {args.number('winner_end')}), which is NOT in sync, as leader of {tp}; "
        f"lost for ever: {_loss(args)}",
        target=str(tp),
        live=f"broker {winner}",
        command=(
            "kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type unclean "
            f"--topic {tp.topic} --partition {tp.partition}   # loses records"
        ),
        estimate=Estimate(partitions=1, replicas_moved=0, bytes=0, seconds=1.0, max_loss=_loss(args)),
    )


def inverse(args: Args) -> Inverse:
    end = args.number("winner_end")
    text = (
        f"none: records from offset {end} on are lost for ever; a broker of the old ISR truncates its log to that of "
    )
    return Inverse(False, f"{text}broker {args.number('winner')} when it starts: copy its log directory before")


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    return changer.elect(args.tp(), unclean=True)


def probe(args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
    """Another winner than the computed one is nothing that this change can account for."""
    found = elected(args, before, reader)
    if found is not ActionStatus.DONE:
        return found
    try:
        state = reader.recorded(args.tp()).state
    except UnreachableError:
        return ActionStatus.UNKNOWN
    leader = NO_LEADER if state is None else state.leader
    return ActionStatus.DONE if leader == args.number("winner") else ActionStatus.UNKNOWN


def reads(args: Args) -> tuple[str, ...]:
    word = args.text("after_reorder")
    more = () if word == AS_IT_IS else facts_of(args.tp(), word)
    return tuple(dict.fromkeys((*partition_reads(args), *about(args.tp(), "log_tails"), *more)))


def writes(args: Args) -> tuple[str, ...]:
    """The others truncate to the winner and follow it."""
    return (*election_writes(args), *about(args.tp(), "log_tails"))


def guards(args: Args) -> tuple[CheckCall, ...]:
    partition = Args({"partition": args.text("partition")})
    winner = partition.with_(broker=args.number("winner"))
    return (CheckCall("isr_is_dead", partition), CheckCall("unclean_winner_is", winner))


ACTION = Action(
    name="leader.elect_unclean",
    summary="elect a live replica that is not in sync; loses acknowledged records, refused while an ISR member lives",
    risk=Risk.DATA_LOSS,
    gate_floor=Gate.TYPED,
    params={"partition": ArgKind.PARTITION, "max_loss": ArgKind.INT},
    optional={"after_reorder": ArgKind.TEXT, "known_end": ArgKind.INT, "known_epoch": ArgKind.INT},
    frozen={
        "winner": ArgKind.BROKER,
        "winner_end": ArgKind.INT,
        "lost_at_least": ArgKind.INT,
        "lost_at_most": ArgKind.INT,
        "tails": ArgKind.TEXT,
    },
    reads=reads,
    writes=writes,
    freeze=freeze,
    preview=preview,
    inverse=inverse,
    apply=apply,
    probe=probe,
    guards=guards,
    proves=won,
)
