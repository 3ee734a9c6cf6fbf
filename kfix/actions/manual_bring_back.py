"""Tells a person which broker to start, or to mend, for one partition: this one, and not that one.

Where the whole ISR is dead only its members hold every acknowledged record: starting another replica helps nobody, and
an election among the others loses records (kafka-facts B8, incidents B1, B3, B4).
"""

from __future__ import annotations

from kfix.actions.base import Action, NotApplicable, Preview
from kfix.actions.idle import ESTIMATE, never, nothing_to_undo, only_people_know
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact, about, brokers
from kfix.model.plan.plan import CheckCall, Gate, Risk
from kfix.probes.base import no_reads


def freeze(args: Args, read: ReadFact) -> Args:
    assigned, isr, live = (brokers(read(key)) for key in about(args.tp(), "assignment", "isr", "live_replicas"))
    leaderless = not set(isr) & set(live)
    wanted = tuple(b for b in assigned if b not in isr) if not leaderless else tuple(b for b in isr if b not in live)
    if not wanted:
        raise NotApplicable(f"every replica of {args.tp()} is in sync")
    others = tuple(b for b in live if b not in isr) if leaderless else ()
    dead = tuple(b for b in wanted if b not in live)
    return args.with_(wanted=wanted, dead=dead, useless=others, leaderless=leaderless)


def preview(args: Args) -> Preview:
    what = _words(args)
    return Preview(what=what, target=args.text("partition"), live="done", command=f"# {what}", estimate=ESTIMATE)


def _words(args: Args) -> str:
    tp, wanted, dead, useless = args.tp(), *(args.brokers(k) for k in ("wanted", "dead", "useless"))
    if args.flag("leaderless"):
        one = " or ".join(map(str, wanted))
        text = f"start broker {one} with its old disk: of {tp} only the ISR {list(wanted)} holds every record"
        return f"{text}; broker {' and '.join(map(str, useless))} lives, but is out of sync" if useless else text
    slow = tuple(b for b in wanted if b not in dead)
    parts = [f"start broker {b}" for b in dead]
    parts += [f"find out why broker {b} does not catch up (disk, network, a throttle)" for b in slow]
    return f"{tp}: {'; '.join(parts)}"


def proves(args: Args) -> tuple[CheckCall, ...]:
    partition = Args({"partition": args.text("partition")})
    name = "partition_has_leader" if args.flag("leaderless") else "isr_full"
    return (CheckCall(name, partition),)


ACTION = Action(
    name="manual.bring_back",
    summary="tell a person which broker to start or to mend for a partition, and which one would not help",
    risk=Risk.NOTHING,
    gate_floor=Gate.STEP,
    params={"partition": ArgKind.PARTITION},
    frozen={"wanted": ArgKind.BROKERS, "dead": ArgKind.BROKERS, "useless": ArgKind.BROKERS, "leaderless": ArgKind.BOOL},
    reads=no_reads,
    writes=no_reads,
    freeze=freeze,
    preview=preview,
    inverse=nothing_to_undo,
    apply=never,
    probe=only_people_know,
    proves=proves,
    changes=False,
)
