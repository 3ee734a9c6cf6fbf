"""KFX801 link-cut: two brokers cannot reach each other.

Why it matters
    Clients near one of the two are sent to the other as leader and cannot reach it: they can neither write nor read
    these partitions. A producer with acks=all and retries gets errors and leaves duplicates. All other clients work.

How kfix knows
    Both are registered, all brokers agree on controller and leaders, and the ISR of partitions that one of the two
    leads lacks exactly the other, removed while it was registered. With two snapshots, the log end of the removed
    replica did not move; a slow replica's does. A replica that only one side removed is in sync with another leader,
    but never with this one. The ISR of idle partitions never shrinks.

Remedies, safest first
    Repair the network between the two. The ISR is complete again within seconds, without further action.

Do not
    Do not trigger elections or reassignments: leaders are where they should be. Do not restart: it does not repair the
    network.

Sources
    Kafka 2.7.1, the link between two of three zones cut: the ISR shrinks after 1.0 to 1.5 x replica.lag.time.max.ms,
    state version + 1, leader epoch unchanged. A cut in one direction looks the same, because both need answers. See
    docs/facts/network-partitions.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.derive.cuts import CutKind
from kfix.core.diagnosis.finding import Confidence, Finding
from kfix.core.wording import per_topic
from kfix_diagnostics.network._cut import clients_of, cut_finding, gap_words, place_of


@ClusterCheck()
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    cut = case.cut
    if cut is None or cut.kind is not CutKind.LINK:
        return
    one, other = place_of(case, cut.brokers), place_of(case, cut.peers)
    sides = {gap.leader for gap in cut.gaps}
    dropped = sorted({gap.missing for gap in cut.gaps})
    way = (
        "each has removed the other from ISRs, which a cut in one direction causes too"
        if len(sides) == 2
        else f"seen on leader {next(iter(sides))} only: broker {dropped[0]} does not fetch from it"
    )
    tps = tuple(sorted({gap.tp for gap in cut.gaps}))
    yield cut_finding(
        case,
        cut,
        summary=f"{one} and {other} do not reach each other: {way}",
        where=f"between {one} and {other}",
        confidence=Confidence.LIKELY if len(sides) == 2 else Confidence.POSSIBLE,
        signs=(
            gap_words(cut),
            "all brokers are registered and agree on controller and leaders",
            *(("the log ends of the removed replicas do not move",) if cut.sampled else ()),
        ),
        ruled_out={
            "dead or slow broker": "it would be missing from all ISRs, or its log end would move",
            "isolated zone": "its brokers would not be registered",
            "cut from the controller": "its metadata would be stale",
        },
        blocked=f"{clients_of(case, cut.brokers)} that use partitions led by broker {cut.peers[0]}; "
        f"{clients_of(case, cut.peers)} that use partitions led by broker {cut.brokers[0]}",
        partitions=tps,
        facts={"brokers": (*cut.brokers, *cut.peers), "topics": per_topic(tps)},
        foretells_loss=False,
    )
