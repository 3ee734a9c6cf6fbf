"""KFX204 text-differs: two outputs of a pasted text contradict each other about a partition.

Why it matters
    Either the partition changed between two outputs, or two sources disagree: a description is what one broker has
    cached, a state znode is the record of the controllers. A broker whose cache differs from the record sends clients
    to the wrong leader, and a partition whose leader changes from one output to the next is not stable.

How kfix knows
    The text has the same partition on two lines. kfix uses the row with the higher leader epoch if both show one, and
    the later row otherwise. Or a broker's answer names a leader that the list of live brokers in the same text lacks. A
    broker names no leader that it takes for dead, so one output is older than the other, or the list is not whole:
    kfix uses the answer, and the list does not show which brokers are dead.

Remedies, safest first
    Diagnose the cluster itself, which asks every broker at the same time. Otherwise paste each output by itself.

Do not
    Do not act on either row before you know which of them is current.

Sources
    kfix itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows, Scope
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import per_topic, several
from kfix_diagnostics._advice import diagnose_again

_SHOWN = 5


@ClusterCheck(debounce=Debounce.NONE, scope=Scope.TEXT)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    rows = case.snapshot.pasted.two_rows if case.snapshot.pasted is not None else ()
    if not rows:
        return
    tps = tuple(sorted({TopicPartition(*row.partition) for row in rows}))
    evidence = [Evidence("text", str(TopicPartition(*row.partition)), f"{row.earlier}; {row.later}") for row in rows]
    rest = len(rows) - _SHOWN
    if rest > 0:
        evidence = [*evidence[:_SHOWN], Evidence("text", "more differences", several(rest, "pair") + " of rows")]
    yield Finding(
        obj="outputs that contradict each other",
        summary=f"two outputs in the text contradict each other about {per_topic(tps)}. The evidence marks the one "
        "that this diagnosis uses",
        cause=Cause(
            "the state changed between two outputs, one of them is not whole, or two sources disagree",
            Confidence.UNKNOWN,
        ),
        evidence=tuple(evidence),
        remedies=(diagnose_again(case, "Diagnose the cluster itself, which asks every broker at the same time"),),
        never=("Do not act on either output before you know which of them is current",),
        partitions=tps,
    )
