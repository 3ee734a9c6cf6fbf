"""Steps that kfix does not do itself: a person acts, or the cluster recovers by itself."""

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.derive.elections import UNCLEAN
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import Mode
from kfix.core.wording import brokers_named, some
from kfix.heal.actions.base import ESTIMATE, ActionStatus, Checks, Idle, Kinds, NotApplicable, Preview
from kfix.heal.model.facts import (
    Fact,
    ReadFact,
    about,
    about_brokers,
    about_cluster,
    about_effective,
    brokers,
)
from kfix.heal.model.plan import CheckCall, Gate
from kfix.heal.probes.base import ON_PARTITION


class Manual(Idle):
    """Asks a person to do something that kfix cannot or must not do; the step's checks show whether it was done."""

    name = "manual"
    summary = "ask a person to do something by hand; the step's checks must show the result"
    params: ClassVar[Kinds] = {"do": ArgKind.TEXT}

    def preview(self, args: Args) -> Preview:
        do = args.text("do")
        # Every line is a comment: people paste commands.
        command = "\n".join(f"# {line}" for line in do.splitlines())
        return Preview(what=do, target="by hand", live="done", command=command, estimate=ESTIMATE)


_SHOWN = 3


class BringBack(Idle):
    """Names the broker to start, or to repair, for a partition, and the brokers that would not help.

    Partitions that lack the same brokers are one step: `also` names the others.

    Where the whole ISR is dead only its members hold every acknowledged record: starting another replica does not
    help, and an election among the others loses records (docs/facts/controller.md). On KRaft with eligible leader
    replicas the ISR is empty then: the last known leader comes first, and the eligible ones after it, all of them
    if they were killed. It is refused on KRaft while the active controller allows unclean elections, or its
    setting is unknown, and one of several replicas is not in the ISR: Kafka elects that one every five minutes, or
    when any broker starts (docs/facts/kraft.md).
    """

    name = "manual.bring_back"
    summary = "name the broker that a person must start or repair for a partition, and those that would not help"
    params = ON_PARTITION
    frozen: ClassVar[Kinds] = {
        "wanted": ArgKind.BROKERS,
        "dead": ArgKind.BROKERS,
        "useless": ArgKind.BROKERS,
        "leaderless": ArgKind.BOOL,
        "eligible": ArgKind.BROKERS,
        "running": ArgKind.BROKERS,
        "hung": ArgKind.BROKERS,
        "copied": ArgKind.BROKERS,
        "also": ArgKind.TEXT,
    }

    def freeze(self, args: Args, read: ReadFact) -> Args:
        assigned, isr, live = (brokers(read(key)) for key in about(args.tp(), "assignment", "isr", "live_replicas"))
        elr, last = (brokers(read(key)) for key in about(args.tp(), "elr", "last_known"))
        leaderless = not set(isr) & set(live)
        if gone := tuple(b for b in last if b not in assigned):
            raise RefusedError(
                f"{args.tp()}: its last known leader {list(gone)} is no longer a replica: the controllers fail, one "
                f"after another, when a broker of {list(assigned)} registers (KFX120)",
                hint="set eligible.leader.replicas.version=0 first (kafka-features.sh downgrade), as KFX120 describes",
            )
        eligible = tuple(dict.fromkeys((*last, *elr))) if leaderless and not isr else ()
        if leaderless and not isr and not eligible:
            raise NotApplicable(
                f"{args.tp()}: Kafka no longer knows which replica holds every record (empty ISR, no eligible and no "
                "last known leader): starting brokers does not help; unclean-election is left"
            )
        whole = isr or eligible
        wanted = (
            tuple(b for b in assigned if b not in isr) if not leaderless else tuple(b for b in whole if b not in live)
        )
        if not eligible:
            wanted = tuple(sorted(wanted))
        if not wanted:
            raise NotApplicable(_all_there(args, isr, eligible))
        if leaderless and len(assigned) > 1:
            _must_elect_no_other(args, read, {*assigned} - {*isr})
        others = tuple(b for b in live if b not in whole) if leaderless else ()
        dead = tuple(b for b in wanted if b not in live)
        return args.with_(
            wanted=wanted,
            dead=dead,
            useless=others,
            leaderless=leaderless,
            eligible=eligible,
            running=_that_run(dead, read),
            hung=_of_which(wanted, "hung", read),
            copied=_of_which(dead, "only_copy", read),
            also="",
        )

    def joined(self, one: Args, other: Args) -> Args | None:
        if any(one[name] != other[name] for name in self.frozen if name != "also"):
            return None
        return one.with_(also=f"{one.text('also')} {other.text('partition')}".strip())

    def guards(self, args: Args) -> Checks:
        if not args.flag("leaderless"):
            return ()
        return tuple(
            CheckCall(name, Args({"partition": tp}))
            for tp in _partitions(args)
            for name in ("no_unclean_at_start", "last_known_is_replica")
        )

    def preview(self, args: Args) -> Preview:
        what = _words(args)
        return Preview(what=what, target=args.text("partition"), live="done", command=f"# {what}", estimate=ESTIMATE)

    def proves(self, args: Args) -> Checks:
        name = "partition_has_leader" if args.flag("leaderless") else "isr_full"
        return tuple(CheckCall(name, Args({"partition": tp})) for tp in _partitions(args))


def _partitions(args: Args) -> list[str]:
    return [args.text("partition"), *args.text("also").split()]


def _named(args: Args) -> str:
    return some(_partitions(args), _SHOWN)


def _must_elect_no_other(args: Args, read: ReadFact, others: set[int]) -> None:
    """Raises RefusedError where Kafka may elect one of the replicas outside the ISR on KRaft."""
    if not others:
        return
    (mode,), (unclean,) = about_cluster("mode"), about_effective(ResourceKind.TOPIC, args.tp().topic, UNCLEAN)
    if read(mode).value != Mode.KRAFT:
        return
    value = read(unclean).value
    if str(value).lower() != "false":
        state = "is true" if value is not None else "is unknown, since the active controller did not report it"
        raise RefusedError(
            f"{args.tp()}: {UNCLEAN} {state}: Kafka may elect a replica that lacks records",
            hint=f"set {UNCLEAN}=false on topic {args.tp().topic} first",
        )


def _that_run(dead: tuple[int, ...], read: ReadFact) -> tuple[int, ...]:
    """Returns the brokers that are fenced and run. With ZooKeeper nothing shows the address of one that left."""
    (mode,) = about_cluster("mode")
    if not dead or read(mode).value != Mode.KRAFT:
        return ()
    return _of_which(dead, "runs", read)


def _of_which(brokers_: tuple[int, ...], name: str, read: ReadFact) -> tuple[int, ...]:
    """Returns those of the brokers of which this fact is true."""
    return tuple(b for b in brokers_ if read(*about_brokers(b, name=name)).value)


def _all_there(args: Args, isr: tuple[int, ...], eligible: tuple[int, ...]) -> str:
    if isr or not eligible:
        return f"every replica of {args.tp()} is in sync"
    return f"{args.tp()}: {list(eligible)}, which may lead without data loss, are alive: no broker needs to be started"


def _words(args: Args) -> str:
    text, running = f"{_to_start(args)}{_first_words(args)}", args.brokers("running")
    if not running:
        return text
    alone = len(running) == 1
    who = f"{brokers_named(running)} {'runs, but is' if alone else 'run, but are'} fenced"
    advice = f"{who}: find out why (KFX814), and start no second process"
    if not set(running) >= set(args.brokers("dead")):
        return f"{text}; {advice}"
    hung = "it hangs, end it" if alone else "they hang, end them"
    rest = text.removeprefix(f"{_named(args)}: ")
    return f"{_named(args)}: {advice}. If {hung}, and then {rest}"


def _first_words(args: Args) -> str:
    """Returns what comes before a start: a frozen process holds port and disks, and a disk may be the only copy."""
    hung = [b for b in args.brokers("hung") if b in args.brokers("dead")]
    text = ""
    if hung:
        what, verb = ("its process", "does") if len(hung) == 1 else ("their processes", "do")
        text = f". {brokers_named(hung).capitalize()} {verb} not answer and may be frozen: end {what} first"
    if copied := args.brokers("copied"):
        its = "the disk" if len(copied) == 1 else "the disks"
        text += f". Copy {its} of {brokers_named(copied)} first: no other broker has its records (KFX809)"
    return text


def _to_start(args: Args) -> str:
    wanted, dead, useless = (args.brokers(k) for k in ("wanted", "dead", "useless"))
    if args.brokers("eligible"):
        return _eligible_words(args)
    if args.flag("leaderless"):
        one = " or ".join(map(str, wanted))
        text = f"start broker {one} with its old disk: of {_named(args)} only the ISR {list(wanted)} holds every record"
        if not useless:
            return text
        alone = len(useless) == 1
        out = f"broker {useless[0]} is" if alone else f"brokers {' and '.join(map(str, useless))} are"
        return f"{text}; {out} alive, but out of sync"
    parts = [f"start broker {b} with its old disk" for b in dead]
    parts += [_that_lags(b, args) for b in wanted if b not in dead]
    return f"{_named(args)}: {'; '.join(parts)}"


def _that_lags(broker: int, args: Args) -> str:
    if broker in args.brokers("hung"):
        return (
            f"broker {broker} is registered and does not answer (KFX402): if its process is frozen, end it and start it"
        )
    return f"find out why broker {broker} does not catch up (disk, network, a throttle)"


def _eligible_words(args: Args) -> str:
    """One that was shut down is elected at once; where all were killed, the last one to come back frees the leader."""
    first, *more = args.brokers("wanted")
    alive = [b for b in args.brokers("eligible") if b not in args.brokers("wanted")]
    text = f"start broker {first} with its old disk: it may lead {_named(args)} without data loss"
    if more:
        others = f"broker {more[0]}" if len(more) == 1 else f"brokers {', then '.join(map(str, more))}"
        text += f"; if that elects no leader, it was killed: start {others} as well, with the old disk"
    if alive:
        text += (
            f"; if broker {(first, *more)[-1]} was killed, it is no longer eligible once it is back: then broker "
            f"{alive[0]}, which led last and is alive, is elected automatically"
        )
    return text


class WaitAction(Idle):
    """Waits until the step's checks hold: a loading coordinator or a replica that is catching up recovers by itself."""

    name = "wait"
    summary = "change nothing and wait until the step's checks hold"
    gate_floor = Gate.AUTO

    def preview(self, _args: Args) -> Preview:
        return Preview(
            what="wait until the checks of this step hold",
            target="the cluster",
            live="wait",
            command="# wait, then check again",
            estimate=ESTIMATE,
        )

    def status(self, _args: Args, _before: Mapping[str, Fact], _reader: ClusterReader) -> ActionStatus:
        """Waiting cannot be half done; the checks decide."""
        return ActionStatus.DONE
