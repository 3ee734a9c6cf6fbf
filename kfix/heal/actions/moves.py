"""Moves replicas to other brokers, and cancels a reassignment that is in progress."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args, ArgValue
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.numbers import whole_number
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult, ResourceKind
from kfix.core.snapshot.snapshot import Assignment, Mode
from kfix.core.wording import known_size, several
from kfix.heal.actions.base import (
    Action,
    ActionStatus,
    Checks,
    Copied,
    Inverse,
    Kinds,
    Names,
    NotApplicable,
    Preview,
    rate_words,
    reassign_command,
)
from kfix.heal.model.facts import (
    Fact,
    ReadFact,
    about,
    about_brokers,
    about_cluster,
    about_effective,
    brokers,
    show_value,
)
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk, Undo
from kfix.heal.probes.base import ON_PARTITION
from kfix.heal.probes.moves import ids, original_of, standing, target_of, under_way


class Reassigning(Action):
    """A change of the assignment of one partition, or its cancel."""

    risk = Risk.ONE_PARTITION

    def writes(self, args: Args) -> Names:
        """A changed order also changes the order of the live replicas, and a removed leader moves the leadership."""
        names = ("assignment", "reassigning", "adding", "removing", "live_replicas", "leader", "leader_epoch", "isr")
        return about(args.tp(), *names, "live_isr")

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        now = standing(reader, args.tp())
        return ActionStatus.UNKNOWN if now is None else self.progress(args, now)

    @abstractmethod
    def progress(self, args: Args, now: Assignment) -> ActionStatus: ...


class Moving(Reassigning):
    """A reassignment from `before` to `replicas`."""

    proved: ClassVar[Mapping[str, Names]] = {"assignment_is": ("partition", "replicas")}

    def guards(self, args: Args) -> Checks:
        """No move of the partition is under way, and its replicas are those of the plan: gate and text rest on that."""
        there = CheckCall("assignment_is", args.only("partition").with_(replicas=args.brokers("before")))
        return (CheckCall("no_reassignment", args.only("partition")), there)

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.reassign(args.tp(), args.brokers("replicas"))

    def progress(self, args: Args, now: Assignment) -> ActionStatus:
        """A move to other replicas is not this one, and then the progress of this one is unknown."""
        if under_way(now):
            return ActionStatus.IN_PROGRESS if target_of(now) == args.brokers("replicas") else ActionStatus.UNKNOWN
        if now.replicas == args.brokers("replicas"):
            return ActionStatus.DONE
        return ActionStatus.NOT_STARTED if now.replicas == args.brokers("before") else ActionStatus.UNKNOWN


def assigned(args: Args, read: ReadFact) -> tuple[int, ...]:
    """Returns the present replicas. Raises NotApplicable where there are none, or where they are being moved."""
    assignment_key, moving_key = about(args.tp(), "assignment", "reassigning")
    before = brokers(read(assignment_key))
    if not before:
        raise NotApplicable(f"{args.tp()} has no assignment")
    if read(moving_key).value is not None:
        raise NotApplicable(f"a reassignment of {args.tp()} is under way; another one would replace it")
    return before


def added(args: Args) -> tuple[int, ...]:
    before = args.brokers("before")
    return tuple(b for b in args.brokers("replicas") if b not in before)


def removed(args: Args) -> tuple[int, ...]:
    replicas = args.brokers("replicas")
    return tuple(b for b in args.brokers("before") if b not in replicas)


def back(args: Args, *, size: int, rate: int, keep: bool) -> Undo:
    """Returns the move back to the replicas of before."""
    literal: dict[str, ArgValue] = {
        "partition": args.text("partition"),
        "replicas": args.brokers("before"),
        "before": args.brokers("replicas"),
        "bytes": size,
        "rate": rate,
    }
    return Undo("reassign.move", Args(literal), keep=keep)


_NO_LOSS = "none: a replica is removed only when the whole target is in sync"
_MIN_ISR = "min.insync.replicas"


class ReassignMove(Moving):
    """Moves a partition's replicas: raises or lowers their number, replaces brokers, or changes the order.

    Kafka copies first and removes afterwards: a replica is removed only when the whole target is in sync. So a
    move cannot lose a record, but one to a dead broker never ends. In the same step the controller adopts
    ZooKeeper's record of the partition; where the brokers follow another leader that is a change of its own, and
    `isr_holds_leader_log` shows whether it loses anything (docs/facts/controller.md).

    A move takes hours, so a change of the leader or of the ISR does not make its plan stale. Only the assignment,
    a move by someone else and the registration of the added brokers do.
    """

    name = "reassign.move"
    summary = "move a partition's replicas: raise or lower their number, replace brokers, or change the order"
    params: ClassVar[Kinds] = {**ON_PARTITION, "replicas": ArgKind.BROKERS}
    optional: ClassVar[Kinds] = {"rate": ArgKind.RATE}
    frozen: ClassVar[Kinds] = {"before": ArgKind.BROKERS, "bytes": ArgKind.INT}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        """Raises NotApplicable where the replicas are these already, RefusedError where the move would hang or stop
        producers.
        """
        replicas = args.brokers("replicas")
        _must_end(args, read)
        before = assigned(args, read)
        if not replicas or len(set(replicas)) < len(replicas):
            raise RefusedError(f"{args.tp()}: {ids(replicas)} is not a list of different brokers")
        if replicas == before:
            raise NotApplicable(f"the replicas of {args.tp()} are {ids(before)} already")
        literal = Args({"rate": 0, **args}).with_(before=before, bytes=0)
        if literal.number("rate") < 0:
            raise RefusedError(f"{args.tp()}: a rate of {literal.number('rate')} moves nothing; 0 means no throttle")
        new = added(literal)
        dead = tuple(b for b, key in zip(new, about_brokers(*new), strict=True) if read(key).value is not True)
        if dead:
            raise RefusedError(f"{args.tp()}: {ids(dead)} not registered: the move would never end; start them first")
        if len(replicas) < len(before):
            _must_leave_enough(literal, read)
        if not new:
            return literal
        size = read(*about(args.tp(), "replica_bytes")).value
        return literal.with_(bytes=size if isinstance(size, int) else -1)

    def preview(self, args: Args) -> Preview:
        tp, replicas, before = args.tp(), args.brokers("replicas"), args.brokers("before")
        new, gone, size, rate = added(args), removed(args), args.number("bytes"), args.number("rate")
        does = []
        if new:
            total = known_size(size * len(new) if size >= 0 else -1)
            at = f" at {rate_words(str(rate))}" if rate else ", not throttled"
            does.append(f"copies {several(len(new), 'replica')}, {total}{at}")
        if gone:
            does.append(f"removes the {'replica' if len(gone) == 1 else 'replicas'} on {','.join(map(str, gone))}")
        if not does:
            does.append("only the order changes, nothing is copied")
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

    def inverse(self, args: Args) -> Inverse:
        """Complete copies are kept unless the operator asks to remove them."""
        before, new, gone = args.brokers("before"), added(args), removed(args)
        undo = back(args, size=args.number("bytes") if gone else 0, rate=args.number("rate"), keep=bool(new))
        text = f"move {args.tp()} back to {show_value(before)}"
        if new:
            text += f"; that removes the new copies on {','.join(map(str, new))}, so only on request"
        return Inverse(True, text, undo)

    def reads(self, args: Args) -> Names:
        return (*about(args.tp(), "assignment", "reassigning"), *about_brokers(*added(args)))

    def guards(self, args: Args) -> Checks:
        """Copies come from a leader; a mere change of order needs none. A move that was not frozen, such as an inverse,
        must leave enough replicas too.
        """
        new, found, size = added(args), list(super().guards(args)), args.number("bytes")
        if new:
            found.append(CheckCall("brokers_registered", Args({"brokers": new})))
        if size > 0:
            found += [CheckCall("room_for", Args({"broker": broker, "bytes": size})) for broker in new]
        if new or removed(args):
            found.append(CheckCall("partition_has_leader", args.only("partition")))
        if len(args.brokers("replicas")) < len(args.brokers("before")):
            found.append(CheckCall("enough_stay", args.only("partition", "replicas")))
        return tuple(found)

    def proves(self, args: Args) -> Checks:
        in_sync = CheckCall("isr_full", args.only("partition"))
        return (*super().proves(args), in_sync) if added(args) else super().proves(args)

    def hopeless(self, args: Args) -> Checks:
        new = added(args)
        return (CheckCall("brokers_registered", Args({"brokers": new})),) if new else ()

    def copied(self, args: Args, reader: ClusterReader) -> Copied | None:
        new, size = added(args), args.number("bytes")
        try:
            held = [reader.log_dirs(broker).sizes.get(args.tp(), 0) for broker in new]
        except UnreachableError:
            return None
        return Copied(sum(held), size * len(new) if size >= 0 else None) if new else None

    def gate_for(self, args: Args) -> Gate:
        return Gate.STEP if len(args.brokers("replicas")) < len(args.brokers("before")) else Gate.PLAN


def _must_end(args: Args, read: ReadFact) -> None:
    """Raises RefusedError where, while a move is under way, Kafka 4.3 would both add and remove a replica forever."""
    tp, replicas = args.tp(), args.brokers("replicas")
    moving_key, adding_key = about(tp, "reassigning", "adding")
    (mode,) = about_cluster("mode")
    present = brokers(read(moving_key))
    if not present or read(mode).value != Mode.KRAFT:
        return
    adding = brokers(read(adding_key))
    dropped = tuple(b for b in adding if b not in replicas)
    if dropped and set(replicas) <= set(present):
        raise RefusedError(
            f"{tp}: a reassignment that adds {ids(adding)} is under way; one to {ids(replicas)} would remove "
            f"{ids(dropped)} and keep adding it, and never ends on Kafka 4.3 (KFX504)",
            hint="wait for its end, or cancel it: kfix runbook plan cancel-reassignment",
        )


def _must_leave_enough(args: Args, read: ReadFact) -> None:
    """Raises RefusedError where fewer replicas than min.insync.replicas would stop producers with acks=all, or where no
    remaining replica is in sync.
    """
    tp, replicas = args.tp(), args.brokers("replicas")
    demanded = read(*about_effective(ResourceKind.TOPIC, tp.topic, _MIN_ISR)).value
    least = whole_number(demanded) if isinstance(demanded, str) else None
    if least is not None and len(replicas) < least:
        text = f"{tp}: {several(len(replicas), 'replica')} is fewer than {_MIN_ISR} = {demanded}"
        raise RefusedError(f"{text}: producers with acks=all would stop")
    live = brokers(read(*about(tp, "live_isr")))
    if not added(args) and not set(replicas) & set(live):
        text = f"{tp}: none of {ids(replicas)} is alive and in sync (those are {ids(live)})"
        raise RefusedError(f"{text}: the move would never end; keep one that is")


_ESTIMATE = Estimate(partitions=1, max_loss="none: a replica from before the move is alive and in sync")


class ReassignCancel(Reassigning):
    """Cancels a move under way: the partition returns to its original replicas, the partial copies are dropped.

    Where none of the original replicas is alive and in sync, a cancel leaves the partition without a leader, and
    where unclean elections are allowed without its only good copy (KAFKA-14424, docs/facts/kraft.md): such a
    partition is skipped, the others are cancelled.
    """

    name = "reassign.cancel"
    summary = "cancel a move under way; refused where none of the original replicas is alive and in sync"
    gate_floor = Gate.STEP
    params = ON_PARTITION
    frozen: ClassVar[Kinds] = dict.fromkeys(("original", "target", "adding", "removing"), ArgKind.BROKERS)
    guarded: ClassVar[Mapping[str, Names]] = {"cancel_is_safe": ("partition",)}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        tp = args.tp()
        move_key, adding_key, removing_key, live_key = about(tp, "reassigning", "adding", "removing", "live_isr")
        replicas = brokers(read(move_key))
        if not replicas:
            raise NotApplicable(f"no reassignment of {tp} is under way")
        move = Assignment(replicas, brokers(read(adding_key)), brokers(read(removing_key)))
        original, live = original_of(move), brokers(read(live_key))
        if not set(original) & set(live):
            raise NotApplicable(
                f"{tp}: of the replicas {ids(original)} from before the move none is alive and in sync (those are "
                f"{ids(live)}): a cancel would leave it without a leader (KAFKA-14424); "
                f"start a broker of {ids(original)} and let it catch up, or {_way_to_the_end(move)}"
            )
        return args.with_(original=original, target=target_of(move), adding=move.adding, removing=move.removing)

    def preview(self, args: Args) -> Preview:
        tp, original, target, adding = args.tp(), *(args.brokers(k) for k in ("original", "target", "adding"))
        dropped = f"; the partial copies on {','.join(map(str, adding))} are dropped" if adding else ""
        return Preview(
            what=f"cancel the move of {tp} to {ids(target)}: back to {ids(original)}{dropped}",
            target=str(tp),
            live=f"to {','.join(map(str, target))}",
            command=reassign_command(tp, target, "cancel", "--cancel", "--preserve-throttles"),
            estimate=_ESTIMATE,
        )

    def inverse(self, args: Args) -> Inverse:
        moved = args.with_(replicas=args.brokers("original"), before=args.brokers("target"))
        text = f"move it to {ids(args.brokers('target'))} again, which copies everything again, so only on request"
        return Inverse(True, text, back(moved, size=-1, rate=0, keep=True))

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.reassign(args.tp(), None)

    def progress(self, args: Args, now: Assignment) -> ActionStatus:
        """A move that ended before it could be cancelled is neither done nor not started."""
        if under_way(now):
            same = (now.adding, now.removing) == (args.brokers("adding"), args.brokers("removing"))
            return ActionStatus.NOT_STARTED if same else ActionStatus.UNKNOWN
        return ActionStatus.DONE if now.replicas == args.brokers("original") else ActionStatus.UNKNOWN

    def reads(self, args: Args) -> Names:
        return about(args.tp(), "assignment", "reassigning", "adding", "removing")

    def proves(self, args: Args) -> Checks:
        there = CheckCall("assignment_is", args.only("partition").with_(replicas=args.brokers("original")))
        return (there, CheckCall("partition_has_leader", args.only("partition")))


def _way_to_the_end(move: Assignment) -> str:
    if move.contradicted:
        return f"reassign it to {ids(move.ending_target)}, which ends the move: it never ends by itself (KFX504)"
    return "let the move end: start the brokers that it waits for"
