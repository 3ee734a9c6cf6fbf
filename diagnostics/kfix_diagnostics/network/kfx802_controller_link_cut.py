"""KFX802 controller-link-cut: a broker does not receive the controller's updates.

Why it matters
    Nothing fails until something changes. Its metadata becomes stale: it names dead leaders, knows no new topic, and
    does not lead partitions that were assigned to it. Since 2.7 its own ISR changes go through the controller too: when
    one of its followers lags, its high watermark stands still, acks=all times out, and consumers see nothing new.

How kfix knows
    Every broker is registered and names the same controller; the metadata of this broker alone is older than
    ZooKeeper's record, which matches the metadata of the controller and of the others. Its log ends against its high
    watermarks show which of its partitions are stuck.

Remedies, safest first
    Repair the network between the two. The broker catches up at once; pending ISR changes follow in about 4 s.

Do not
    Do not trigger elections or reassignments: this broker would not learn of them. Do not replace the controller: it is
    healthy.

Sources
    Kafka 2.7.1: the controller fills MetadataCache by UpdateMetadata; AlterIsr (KIP-497) goes to the controller. Tried
    with the link cut: "Shrinking ISR" without "ISR updated", high watermark 276 against log end 327. See
    docs/facts/network-partitions.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.derive.cuts import CutKind
from kfix.core.diagnosis.finding import Confidence, Finding, Severity
from kfix.core.wording import does, has, per_topic, several, topics
from kfix_diagnostics.network._cut import cut_finding, forecast, gap_words, place_of


@ClusterCheck(severity=Severity.CRITICAL, scope=Scope.ZOOKEEPER)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    cut = case.cut
    if cut is None or cut.kind is not CutKind.CONTROLLER_LINK:
        return
    here, there = place_of(case, cut.brokers), f"broker {cut.peers[0]}"
    old = sorted({tp for tps in cut.stale.values() for tp in tps})
    twice = f". {per_topic(cut.pairs)} {has(topics(cut.pairs))} two leaders: {forecast(cut)}" if cut.pairs else ""
    stuck = f". The high watermark of {per_topic(cut.stuck)} does not move" if cut.stuck else ""
    also = (
        f"{gap_words(cut)}: replication between them is cut too"
        if cut.gaps
        else "replication is not affected: only the controller's connection is cut, or nothing is written"
    )
    yield cut_finding(
        case,
        cut,
        summary=f"{here} {does(len(cut.brokers))} not receive updates from the controller, {there}: "
        f"metadata of {several(len(old), 'partition')} is stale{twice}{stuck}",
        where=f"between {here} and {place_of(case, cut.peers)}",
        cause=f"between {here} and the controller, {there},",
        confidence=Confidence.LIKELY,
        signs=(
            f"only the metadata of {here} differs from ZooKeeper's record: {per_topic(old)}",
            f"it is registered and names {there} as controller, as all others do",
            also,
        ),
        ruled_out={
            "cut between two brokers": "no metadata would be stale",
            "isolated zone": "its brokers would not be registered",
            "controller that does not act": "the other brokers have received the changes",
        },
        blocked=f"clients that need the changed metadata and ask {here}"
        + (f"; producers of {per_topic(cut.stuck)} with acks=all" if cut.stuck else ""),
        partitions=(*old, *cut.stuck),
        facts={"controller": cut.peers[0], "stuck": tuple(map(str, cut.stuck))},
    )
