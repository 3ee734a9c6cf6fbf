"""KFX702 stuck-since-last-run: partitions are in the same trouble as at the audit before.

Why it matters
    A replica that lags for a minute catches up. One that lags since yesterday does not: nobody looks after it, and each
    further broker that goes takes data or service with it. The long ones are the next incident.

How kfix knows
    The same partition under the same code in this look and in the one of the audit before: without a leader, below
    min.insync.replicas, not fully replicated, in a reassignment that does not end.

What helps
    The finding that it names has the remedy. What has lasted a day needs somebody's name on it, or a mute with an end.

What not to do
    Do not wait for it to mend itself: it had the time.

Sources
    kfix itself: the findings of both audits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kfix.model.audit.fleetcase import FleetCase, FleetCheck
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.model.plan.args import parse_partition
from kfix_diagnostics._words import count, some

CODE = "KFX702"


def check(case: FleetCase) -> Iterator[tuple[str, Finding]]:
    for name, all_stuck in sorted(case.stuck.items()):
        if not all_stuck:
            continue
        partitions = _in_order({p for stuck in all_stuck for p in stuck.partitions})
        since = min(stuck.since for stuck in all_stuck)
        codes = sorted({stuck.code for stuck in all_stuck})
        yield (
            name,
            Finding(
                code=CODE,
                severity=Severity.WARNING,
                obj="partitions",
                summary=f"{count(len(partitions), 'partition')} in the same trouble since {since.isoformat()} or "
                f"longer ({', '.join(codes)}): {some(partitions)}",
                cause=Cause("nobody has mended it, and it does not mend itself", Confidence.LIKELY),
                evidence=tuple(
                    Evidence(f"audit of {s.since.isoformat()} and this one", s.code, some(_in_order(s.partitions)))
                    for s in all_stuck
                ),
                remedies=(Remedy(f"see {' and '.join(codes)} of this cluster: they have the remedy"),),
                never=("do not wait for it to mend itself: it had the time",),
                partitions=tuple(_tp(p) for p in partitions),
            ),
        )


def _tp(text: str) -> TopicPartition:
    return parse_partition(text)


def _in_order(partitions: Iterable[str]) -> list[str]:
    return sorted(partitions, key=_tp)


CHECK = FleetCheck(
    code=CODE,
    slug="stuck-since-last-run",
    title="partitions are in the same trouble as at the audit before",
    severity=Severity.WARNING,
    check=check,
)
