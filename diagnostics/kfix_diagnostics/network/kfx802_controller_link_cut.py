"""KFX802 controller-link-cut: a broker does not hear the controller; nothing breaks until something changes.

Why it matters
    Its metadata stays what it was: it names dead leaders, knows no new topic, and refuses to lead what it was given.
    Since 2.7 its own isr changes go through the controller too: when one of its followers lags, its high watermark
    stands still, acks=all times out there, and consumers see nothing new.

How kfix knows
    Everybody is registered and calls the same broker controller; the metadata of this broker alone is older than
    ZooKeeper's record, which the controller's and the others' metadata match. Its log ends against its high watermarks
    show which of its partitions are stuck.

What helps
    Mend the network between the two. It catches up at once; isr changes that wait follow in about 4 s.

What not to do
    No election and no reassignment: this broker would not hear of them. No new controller: the old one is well.

Sources
    Kafka 2.7.1: MetadataCache is filled by the controller's UpdateMetadata; AlterIsr (KIP-497) goes to the controller.
    Tried with the link cut: "Shrinking ISR" without "ISR updated", high watermark 276 against log end 327.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.cuts import CutKind
from kfix.model.diagnosis.finding import Blocked, Cause, Confidence, Finding, Severity
from kfix_diagnostics._words import count, per_topic
from kfix_diagnostics.network._cut import (
    NEVER,
    for_and_against,
    forecast,
    gap_words,
    loss_rows,
    losses_as_facts,
    partition_rows,
    place_of,
    remedies,
    since,
    vantage_rows,
)

CODE = "KFX802"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    cut = case.cut
    if cut is None or cut.kind is not CutKind.CONTROLLER_LINK:
        return
    here, there = place_of(case, cut.brokers), f"broker {cut.peers[0]}"
    old = sorted({tp for tps in cut.stale.values() for tp in tps})
    twice = f"; two leaders for {per_topic(cut.pairs)}: {forecast(cut)}" if cut.pairs else ""
    stuck = f"; high watermark stuck in {per_topic(cut.stuck)}" if cut.stuck else ""
    also = (
        f"{gap_words(cut)}: replication between them is cut too"
        if cut.gaps
        else "replication is not affected: only the controller's own line is cut, or nothing is written"
    )
    yield Finding(
        code=CODE,
        severity=Severity.CRITICAL if cut.pairs else Severity.WARNING,
        obj=cut.obj,
        summary=f"{here} does not hear controller {there}: its metadata of {count(len(old), 'partition')} is old"
        f"{twice}{stuck}; {since(case, cut)}",
        cause=Cause(f"the network between {here} and the controller, {there}, is cut", Confidence.LIKELY),
        evidence=(
            *loss_rows(cut),
            *for_and_against(
                (
                    f"only {here} differs from ZooKeeper's record: {per_topic(old)}",
                    f"it is registered, and calls {there} controller as all others do",
                    also,
                ),
                {
                    "a cut between two brokers": "nobody's metadata would be old",
                    "an isolated zone": "its broker would not be registered",
                    "a controller that does not act": "the others have heard of the changes",
                },
            ),
            *partition_rows(case, cut),
            *vantage_rows(case),
        ),
        blocked=Blocked(
            f"clients that ask {here} for what has changed"
            + (f"; producers with acks=all of {per_topic(cut.stuck)}" if cut.stuck else "")
        ),
        remedies=remedies(cut, f"between {here} and {place_of(case, cut.peers)}"),
        never=NEVER,
        partitions=tuple(sorted({*old, *cut.stuck})),
        facts={
            "brokers": cut.brokers,
            "controller": cut.peers[0],
            "stuck": tuple(map(str, cut.stuck)),
            **losses_as_facts(cut),
        },
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="controller-link-cut",
    title="a broker does not hear the controller",
    severity=Severity.CRITICAL,
    check=check,
    debounce=Debounce.HELD,
)
