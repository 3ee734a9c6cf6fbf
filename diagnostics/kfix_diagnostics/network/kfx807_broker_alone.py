"""KFX807 broker-alone: a broker reaches no other broker, though it reaches ZooKeeper.

Why it matters
    It keeps what it leads and drops its followers, so the only copy of new records is on it: while
    min.insync.replicas is 1 even acks=all acknowledges them. If it then dies, they are lost or the partition is down.
    Clients in other zones cannot use what it leads; clients near it can use nothing else. If it is the controller, no
    broker hears of changes.

How kfix knows
    It is registered, and every gap in an isr has it on one side: it has dropped all others, and they dropped it. If it
    is the controller its own metadata matches ZooKeeper's record, and that of all others is old; if it is not, its own
    is old and its high watermark stands still.

What helps
    Mend the network. The isr is whole again within seconds; nothing is cut off, since it stayed leader.

What not to do
    No election: it would make one of the others leader and cut off what only this broker has. Do not restart it.

Sources
    Kafka 2.7.1, the leader cut from its followers: the isr shrinks to the leader alone after 1.0 to 1.5 x
    replica.lag.time.max.ms. The other outcome, another leader, is KFX803.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.cuts import Cut, CutKind
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

CODE = "KFX807"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    cut = case.cut
    if cut is None or cut.kind is not CutKind.ALONE:
        return
    [broker] = cut.brokers
    here = place_of(case, cut.brokers)
    own = sorted({gap.tp for gap in cut.gaps if gap.leader == broker})
    led = f"; followers dropped: it leads {per_topic(own)} alone in the isr" if own else ""
    stuck = f"; high watermark stuck in {per_topic(cut.stuck)}" if cut.stuck else ""
    is_controller = case.controller is not None and case.controller.broker == broker
    yield Finding(
        code=CODE,
        severity=Severity.WARNING,
        obj=cut.obj,
        summary=f"{here} reaches no other broker, though it reaches ZooKeeper{led}{stuck}; {since(case, cut)}",
        cause=Cause(
            f"the network between {here} and the other brokers is cut",
            Confidence.LIKELY if cut.sampled or cut.stale else Confidence.POSSIBLE,
        ),
        evidence=(
            *for_and_against(_signs(case, cut, is_controller), _neighbours(is_controller)),
            *partition_rows(case, cut),
            *vantage_rows(case),
        ),
        blocked=Blocked(
            f"clients in other zones of what broker {broker} leads; {clients_of(case, cut.brokers)} of everything else"
            + ("; whoever needs to hear of a change" if is_controller else "")
        ),
        remedies=remedies(cut, f"around {here}"),
        never=(*NEVER, f"do not restart broker {broker}: what it leads has no other copy of the newest records"),
        partitions=tuple(own),
        facts={
            "brokers": cut.brokers,
            "zone": case.racks.get(broker, ""),
            "leads_alone": len(own),
            "controller": is_controller,
        },
    )


def _signs(case: CaseFile, cut: Cut, is_controller: bool) -> Iterator[str]:
    if cut.gaps:
        yield gap_words(cut)
    yield f"{place_of(case, cut.brokers)} is registered"
    if is_controller:
        yield "it is the controller: its metadata matches ZooKeeper's record, that of all others is old"
    elif cut.stale:
        yield "its own metadata is old: it does not hear the controller either"
    if cut.gaps and cut.sampled:
        yield "the log ends of who was dropped do not move"


def _neighbours(is_controller: bool) -> dict[str, str]:
    return {
        "another leads (KFX803)": "it is registered, and nobody was elected in its place",
        "a slow broker": "it would not have dropped its own followers",
        "a cut between two brokers": "all others are on the other side",
        **({"stale brokers": "all but the controller are, at once"} if is_controller else {}),
    }


CHECK = ClusterCheck(
    code=CODE,
    slug="broker-alone",
    title="a broker reaches no other broker, though it reaches ZooKeeper",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.HELD,
)
