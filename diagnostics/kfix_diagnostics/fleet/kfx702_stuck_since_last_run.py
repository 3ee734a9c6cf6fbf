"""KFX702 stuck-since-last-run: partitions have the same finding as in the previous audit.

Why it matters
    A replica that lags for a minute catches up. One that has lagged since yesterday does not, and each further broker
    that fails costs data or service. Old findings are the next incident.

How kfix knows
    The same partition under the same code in the snapshot of this audit and of the previous one: without a leader,
    below min.insync.replicas, under-replicated, in a reassignment that does not end.

Remedies, safest first
    The finding that this one names has the remedy. A finding that has lasted a day needs an owner, or a mute with an
    end.

Do not
    Do not wait for it to resolve itself: it has had time to.

Sources
    kfix itself: the findings of both audits.
"""

from collections.abc import Iterable, Iterator

from kfix.core.args import parse_partition
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Remedy
from kfix.core.fleetcase import FleetCase, FleetCheck
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import has, several, some


@FleetCheck()
def check(case: FleetCase) -> Iterator[tuple[str, Finding]]:
    for name, all_stuck in sorted(case.stuck.items()):
        if not all_stuck:
            continue
        partitions = _in_order({p for stuck in all_stuck for p in stuck.partitions})
        codes = sorted({stuck.code for stuck in all_stuck})
        each = [f"{s.code} since {s.since.isoformat()}: {some(_in_order(s.partitions))}" for s in all_stuck]
        finding = Finding(
            obj="partitions",
            summary=f"{several(len(partitions), 'partition')} {has(len(partitions))} the same finding as "
            f"in the previous audit: {'; '.join(each)}",
            cause=Cause("it was not repaired, and it does not resolve itself"),
            evidence=tuple(
                Evidence(f"audit of {s.since.isoformat()} and this one", s.code, some(_in_order(s.partitions)))
                for s in all_stuck
            ),
            remedies=(Remedy(f"See {' and '.join(codes)} of this cluster for the remedy"),),
            never=("Do not wait for it to resolve itself: it has had time to",),
            partitions=tuple(_tp(p) for p in partitions),
        )
        yield name, finding


def _tp(text: str) -> TopicPartition:
    return parse_partition(text)


def _in_order(partitions: Iterable[str]) -> list[str]:
    return sorted(partitions, key=_tp)
