"""Names the broker to start, or to repair, for one partition, and the brokers that would not help.

Where the whole ISR is dead only its members hold every acknowledged record: starting another replica does not help, and
an election among the others loses records (docs/facts/controller.md).
"""

from __future__ import annotations

from typing import ClassVar

from kfix.actions.base import Checks, Kinds, NotApplicable, Preview
from kfix.actions.idle import ESTIMATE, Idle
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact, about, brokers
from kfix.model.plan.plan import CheckCall
from kfix.probes.base import ON_PARTITION


class BringBack(Idle):
    name = "manual.bring_back"
    summary = "name the broker that a person must start or repair for a partition, and those that would not help"
    params = ON_PARTITION
    frozen: ClassVar[Kinds] = {
        "wanted": ArgKind.BROKERS,
        "dead": ArgKind.BROKERS,
        "useless": ArgKind.BROKERS,
        "leaderless": ArgKind.BOOL,
    }

    def freeze(self, args: Args, read: ReadFact) -> Args:
        assigned, isr, live = (brokers(read(key)) for key in about(args.tp(), "assignment", "isr", "live_replicas"))
        leaderless = not set(isr) & set(live)
        wanted = (
            tuple(b for b in assigned if b not in isr) if not leaderless else tuple(b for b in isr if b not in live)
        )
        if not wanted:
            raise NotApplicable(f"every replica of {args.tp()} is in sync")
        others = tuple(b for b in live if b not in isr) if leaderless else ()
        dead = tuple(b for b in wanted if b not in live)
        return args.with_(wanted=wanted, dead=dead, useless=others, leaderless=leaderless)

    def preview(self, args: Args) -> Preview:
        what = _words(args)
        return Preview(what=what, target=args.text("partition"), live="done", command=f"# {what}", estimate=ESTIMATE)

    def proves(self, args: Args) -> Checks:
        name = "partition_has_leader" if args.flag("leaderless") else "isr_full"
        return (CheckCall(name, args.only("partition")),)


def _words(args: Args) -> str:
    tp, wanted, dead, useless = args.tp(), *(args.brokers(k) for k in ("wanted", "dead", "useless"))
    if args.flag("leaderless"):
        one = " or ".join(map(str, wanted))
        text = f"start broker {one} with its old disk: of {tp} only the ISR {list(wanted)} holds every record"
        if not useless:
            return text
        alone = len(useless) == 1
        out = f"broker {useless[0]} is" if alone else f"brokers {' and '.join(map(str, useless))} are"
        return f"{text}; {out} alive, but out of sync"
    slow = tuple(b for b in wanted if b not in dead)
    parts = [f"start broker {b}" for b in dead]
    parts += [f"find out why broker {b} does not catch up (disk, network, a throttle)" for b in slow]
    return f"{tp}: {'; '.join(parts)}"


ACTION = BringBack()
