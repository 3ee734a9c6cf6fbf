"""Moves a partition's replicas: raises or lowers their number, replaces brokers, or changes the order.

Kafka copies first and removes afterwards: a replica leaves only when the whole target is in sync. So a move cannot lose
a record, but one to a dead broker never ends (kafka-facts B6). In the same step the controller takes over ZooKeeper's
record of the partition; where the brokers follow another leader (B7) that is a change of its own, and
`isr_holds_leader_log` tells whether it loses anything.

A change of the leader or of the ISR makes no plan stale that takes hours: only the assignment, a move of somebody
else's and the registration of the added brokers do.
"""

from __future__ import annotations

from kfix.actions.base import Action, Inverse, NotApplicable, Preview
from kfix.actions.moving import (
    added,
    apply,
    arrived,
    as_planned,
    assigned,
    back,
    copied,
    probe,
    removed,
    writes,
)
from kfix.actions.words import amount, rate_words, reassign_command, several
from kfix.errors import RefusedError
from kfix.model.cluster.reading import ResourceKind
from kfix.model.numbers import whole_number
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact, about, about_brokers, about_effective, brokers, show_value
from kfix.model.plan.plan import CheckCall, Estimate, Gate, Risk
from kfix.probes.assignments import ids

_NO_LOSS = "none: a replica is removed only when all of the target are in sync"
_MIN_ISR = "min.insync.replicas"


def freeze(args: Args, read: ReadFact) -> Args:
    """NotApplicable where the replicas are these already; RefusedError where the move would hang or stop producers."""
    replicas = args.brokers("replicas")
    before = assigned(args, read)
    if not replicas or len(set(replicas)) < len(replicas):
        raise RefusedError(f"{args.tp()}: {ids(replicas)} is no list of replicas: each broker once, at least one")
    if replicas == before:
        raise NotApplicable(f"the replicas of {args.tp()} are {ids(before)} already")
    literal = Args({"rate": 0, **args}).with_(before=before, bytes=0)
    if literal.number("rate") < 0:
        raise RefusedError(f"{args.tp()}: a rate of {literal.number('rate')} moves nothing; 0 is not throttled")
    new = added(literal)
    dead = tuple(b for b, key in zip(new, about_brokers(*new), strict=True) if read(key).value is not True)
    if dead:
        raise RefusedError(f"{args.tp()}: {ids(dead)} not registered: a move to them would never end; start them first")
    if len(replicas) < len(before):
        _must_leave_enough(literal, read)
    if not new:
        return literal
    size = read(*about(args.tp(), "replica_bytes")).value
    return literal.with_(bytes=size if isinstance(size, int) else -1)


def _must_leave_enough(args: Args, read: ReadFact) -> None:
    """Fewer replicas than min.insync.replicas: no producer with acks=all can write any more."""
    tp, replicas = args.tp(), args.brokers("replicas")
    demanded = read(*about_effective(ResourceKind.TOPIC, tp.topic, _MIN_ISR)).value
    least = whole_number(demanded) if isinstance(demanded, str) else None
    if least is not None and len(replicas) < least:
        text = f"{tp}: {several(len(replicas), 'replica')} is fewer than {_MIN_ISR} = {demanded}"
        raise RefusedError(f"{text}: producers with acks=all would stop")
    live = brokers(read(*about(tp, "live_isr")))
    if not added(args) and not set(replicas) & set(live):
        text = f"{tp}: none of {ids(replicas)} is alive and in sync (those are {ids(live)})"
        raise RefusedError(f"{text}: the move would wait for ever; keep one that is")


def preview(args: Args) -> Preview:
    tp, replicas, before = args.tp(), args.brokers("replicas"), args.brokers("before")
    new, gone, size, rate = added(args), removed(args), args.number("bytes"), args.number("rate")
    does = []
    if new:
        total = amount(size * len(new) if size >= 0 else -1)
        at = f" at {rate_words(str(rate))}" if rate else ", not throttled"
        does.append(f"copies {several(len(new), 'replica')}, {total}{at}")
    if gone:
        does.append(f"removes the {'replica' if len(gone) == 1 else 'replicas'} on {','.join(map(str, gone))}")
    if not does:
        does.append("the order alone changes, nothing is copied")
    moved = max(size, 0) * len(new)
    return Preview(
        what=f"{tp}: {ids(before)} -> {ids(replicas)}; {'; '.join(does)}",
        target=str(tp),
        live=f"replicas {','.join(map(str, before))}",
        command=reassign_command(tp, replicas, "move", *((f"--throttle {rate}",) if rate else ()), "--execute"),
        estimate=Estimate(
            partitions=1,
            replicas_moved=len(new),
            bytes=moved,
            seconds=moved / rate if rate else 0.0,
            max_loss=_NO_LOSS,
        ),
    )


def inverse(args: Args) -> Inverse:
    """Of the good copies none is thrown away unless somebody asks for that."""
    before, new, gone = args.brokers("before"), added(args), removed(args)
    undo = back(args, size=args.number("bytes") if gone else 0, rate=args.number("rate"), keep=bool(new))
    text = f"move {args.tp()} back to {show_value(before)}"
    if new:
        text += f"; that throws the new copies on {','.join(map(str, new))} away, so only when asked for"
    return Inverse(True, text, undo)


def reads(args: Args) -> tuple[str, ...]:
    return (*about(args.tp(), "assignment", "reassigning"), *about_brokers(*added(args)))


def guards(args: Args) -> tuple[CheckCall, ...]:
    """Copies come from a leader; a mere change of order needs none. A move that was not frozen, as an inverse is not,
    must leave enough too.
    """
    new, found, size = added(args), list(as_planned(args)), args.number("bytes")
    partition = Args({"partition": args.text("partition")})
    if new:
        found.append(CheckCall("brokers_registered", Args({"brokers": new})))
    if size > 0:
        found += [CheckCall("room_for", Args({"broker": broker, "bytes": size})) for broker in new]
    if new or removed(args):
        found.append(CheckCall("partition_has_leader", partition))
    if len(args.brokers("replicas")) < len(args.brokers("before")):
        found.append(CheckCall("enough_stay", partition.with_(replicas=args.brokers("replicas"))))
    return tuple(found)


def proves(args: Args) -> tuple[CheckCall, ...]:
    in_sync = CheckCall("isr_full", Args({"partition": args.text("partition")}))
    return (arrived(args), in_sync) if added(args) else (arrived(args),)


def hopeless(args: Args) -> tuple[CheckCall, ...]:
    new = added(args)
    return (CheckCall("brokers_registered", Args({"brokers": new})),) if new else ()


def floor(args: Args) -> Gate:
    return Gate.STEP if len(args.brokers("replicas")) < len(args.brokers("before")) else Gate.PLAN


ACTION = Action(
    name="reassign.move",
    summary="move a partition's replicas: raise or lower their number, replace brokers, or change the order",
    risk=Risk.ONE_PARTITION,
    gate_floor=Gate.PLAN,
    params={"partition": ArgKind.PARTITION, "replicas": ArgKind.BROKERS},
    optional={"rate": ArgKind.RATE},
    frozen={"before": ArgKind.BROKERS, "bytes": ArgKind.INT},
    reads=reads,
    writes=writes,
    freeze=freeze,
    preview=preview,
    inverse=inverse,
    apply=apply,
    probe=probe,
    guards=guards,
    proves=proves,
    hopeless=hopeless,
    copied=copied,
    floor=floor,
)
