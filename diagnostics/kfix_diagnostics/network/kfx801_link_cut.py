"""KFX801 link-cut: two brokers do not reach each other; everybody else reaches both.

Why it matters
    Clients near one of the two are told that the other leads, and cannot reach it: they neither write nor read these
    partitions. A producer with acks=all and retries gets errors and leaves duplicates behind. Everybody else works.

How kfix knows
    Both are registered, all brokers agree on controller and leaders, and the isr of what each of the two leads lacks
    exactly the other, dropped while it was registered. Where there were two looks, the log end of who was dropped did
    not move: a slow replica's does. Who is dropped by one side only follows somebody else in time, and this leader
    nowhere. Idle partitions never shrink.

What helps
    Mend the network between the two. The isr is whole again within seconds, by itself.

What not to do
    No election and no reassignment: leaders are where they should be. No restart: it changes nothing about the network.

Sources
    Kafka 2.7.1, the link between two of three zones cut: isr shrinks after 1.0 to 1.5 x replica.lag.time.max.ms, state
    version + 1, leader epoch unchanged. A cut in one direction looks the same, since both need answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.cuts import CutKind
from kfix.model.diagnosis.finding import Blocked, Cause, Confidence, Finding, Severity
from kfix_diagnostics._words import per_topic
from kfix_diagnostics.network._cut import (
    NEVER,
    clients_of,
    for_and_against,
    gap_words,
    partition_rows,
    place_of,
    remedies,
    since,
    vantage_rows,
)

CODE = "KFX801"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    cut = case.cut
    if cut is None or cut.kind is not CutKind.LINK:
        return
    one, other = place_of(case, cut.brokers), place_of(case, cut.peers)
    sides = {gap.leader for gap in cut.gaps}
    dropped = sorted({gap.missing for gap in cut.gaps})
    way = (
        "both ways: each has dropped the other, which one lost direction does too"
        if len(sides) == 2
        else f"seen from broker {next(iter(sides))} only: broker {dropped[0]} does not fetch from it"
    )
    tps = tuple(sorted({gap.tp for gap in cut.gaps}))
    yield Finding(
        code=CODE,
        severity=Severity.WARNING,
        obj=cut.obj,
        summary=f"{one} and {other} do not reach each other ({way}); {since(case, cut)}",
        cause=Cause(
            f"the network between {one} and {other} is cut",
            Confidence.LIKELY if len(sides) == 2 else Confidence.POSSIBLE,
        ),
        evidence=(
            *for_and_against(
                (
                    gap_words(cut),
                    "all brokers are registered and agree on controller and leaders",
                    *(("the log ends of who was dropped do not move",) if cut.sampled else ()),
                ),
                {
                    "a dead or slow broker": "it would be missing everywhere, or its log end would move",
                    "an isolated zone": "a broker in it would not be registered",
                    "a cut from the controller": "its metadata would be old",
                },
            ),
            *partition_rows(case, cut),
            *vantage_rows(case),
        ),
        blocked=Blocked(
            f"{clients_of(case, cut.brokers)} of what broker {cut.peers[0]} leads; "
            f"{clients_of(case, cut.peers)} of what broker {cut.brokers[0]} leads"
        ),
        remedies=remedies(cut, f"between {one} and {other}"),
        never=NEVER,
        partitions=tps,
        facts={"brokers": (*cut.brokers, *cut.peers), "topics": per_topic(tps)},
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="link-cut",
    title="two brokers do not reach each other",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.HELD,
)
