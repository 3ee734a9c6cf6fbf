"""KFX807 broker-alone: a broker reaches no other broker, but reaches ZooKeeper or the controllers.

Why it matters
    It remains leader of its partitions and removes its followers from the ISR, so the only copy of new records is on
    it: while min.insync.replicas is 1 even acks=all acknowledges them. If it then dies, they are lost or the partition
    is unavailable. Clients in other zones cannot use its partitions; clients near it can use no others. If it is the
    controller, no broker learns of changes.

How kfix knows
    It is registered, and every gap in an ISR has it on one side: it has removed all others, and they removed it. If it
    is the controller its own metadata matches ZooKeeper's record, and that of all others is stale; if it is not, its
    own is stale and its high watermark stands still.

Remedies, safest first
    Repair the network. The ISR is complete again within seconds; nothing is truncated, because it stayed leader.

Do not
    Do not trigger an election: it would make another broker leader and truncate records that only this broker has. Do
    not restart it.

Sources
    Kafka 2.7.1, the leader cut from its followers: the ISR shrinks to the leader alone after 1.0 to 1.5 x
    replica.lag.time.max.ms. The other outcome, another leader, is KFX803. See docs/facts/network-partitions.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.derive.cuts import Cut, CutKind
from kfix.core.diagnosis.finding import Confidence, Finding, Severity
from kfix.core.wording import per_topic
from kfix_diagnostics.network._cut import clients_of, cut_finding, gap_words, place_of


@ClusterCheck(severity=Severity.CRITICAL)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    cut = case.cut
    if cut is None or cut.kind is not CutKind.ALONE:
        return
    [broker] = cut.brokers
    here = place_of(case, cut.brokers)
    own = sorted({gap.tp for gap in cut.gaps if gap.leader == broker})
    led = f". It is the only in-sync replica of {per_topic(own)}" if own else ""
    stuck = f". The high watermark of {per_topic(cut.stuck)} does not move" if cut.stuck else ""
    # On KRaft no broker gets its metadata from another one, so that none of it is stale.
    is_controller = not case.kraft and case.controller is not None and case.controller.broker == broker
    yield cut_finding(
        case,
        cut,
        summary=f"{here} reaches no other broker, but reaches {'the controllers' if case.kraft else 'ZooKeeper'}"
        f"{led}{stuck}",
        where=f"around {here}",
        cause=f"between {here} and the other brokers",
        confidence=Confidence.LIKELY if cut.sampled or cut.stale or case.kraft else Confidence.POSSIBLE,
        signs=_signs(case, cut, is_controller),
        ruled_out=_neighbours("KFX813" if case.kraft else "KFX803", is_controller=is_controller),
        blocked=f"clients in other zones that use partitions led by broker {broker}; {clients_of(case, cut.brokers)} "
        "that use any other partition" + ("; every change of metadata" if is_controller else ""),
        never=(f"Do not restart broker {broker}: it may hold the only copy of the newest records",),
        partitions=own,
        facts={"zone": case.racks.get(broker, ""), "leads_alone": len(own), "controller": is_controller},
        foretells_loss=False,
    )


def _signs(case: CaseFile, cut: Cut, is_controller: bool) -> Iterator[str]:
    if cut.gaps:
        yield gap_words(cut)
    yield f"{place_of(case, cut.brokers)} is registered"
    if is_controller:
        yield "it is the controller: its metadata matches ZooKeeper's record, that of all others is stale"
    elif cut.stale:
        yield "its own metadata is stale: it does not receive updates of the controller either"
    if cut.gaps and cut.sampled:
        yield "the log ends of the removed replicas do not move"


def _neighbours(cut_off: str, *, is_controller: bool) -> dict[str, str]:
    return {
        f"another leader ({cut_off})": "it is registered, and no other leader was elected",
        "slow broker": "it would not have removed its own followers",
        "cut between two brokers": "all other brokers are on the other side",
        **({"stale brokers": "all but the controller are stale at once"} if is_controller else {}),
    }
