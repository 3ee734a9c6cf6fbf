"""Brokers that have the only in-sync replica of a partition: while one restarts, the partition has no leader.

Where unclean elections are allowed, Kafka elects a replica that lacks records meanwhile. So every remedy that restarts
such a broker names these partitions, and the setting comes before it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from kfix.core.derive.casefile import CaseFile
from kfix.core.diagnosis.finding import ChangeKind, Finding, Remedy
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, has, per_topic, topics
from kfix_diagnostics.leadership._unclean import set_to_false


class OnlyCopy(NamedTuple):
    """Partitions whose only in-sync replica a broker has; of `risky` ones Kafka may elect another one meanwhile."""

    tps: tuple[TopicPartition, ...] = ()
    risky: tuple[TopicPartition, ...] = ()


def only_copy(brokers: Iterable[int], case: CaseFile) -> OnlyCopy:
    """Returns what has no other in-sync replica than one of these brokers'; a failed log directory has none."""
    rows = [row for broker in sorted(set(brokers)) for row in case.only_copies.get(broker, ())]
    # Whether unclean elections are allowed may not have been read.
    risky = [row.tp for row in rows if row.n_replicas > 1 and (row.unclean or not row.unclean_known)]
    return OnlyCopy(tuple(row.tp for row in rows), tuple(risky))


def named(findings: Iterable[Finding], case: CaseFile) -> list[Finding]:
    """Returns the findings; each remedy that restarts a broker names what is without a leader meanwhile."""
    return [_named(finding, case) for finding in findings]


def _named(finding: Finding, case: CaseFile) -> Finding:
    if not any(ChangeKind.RESTART in remedy.changes for remedy in finding.remedies):
        return finding
    return replace(finding, remedies=tuple(each for remedy in finding.remedies for each in _with_note(remedy, case)))


def _with_note(remedy: Remedy, case: CaseFile) -> Iterator[Remedy]:
    if ChangeKind.RESTART not in remedy.changes:
        yield remedy
        return
    brokers = remedy.brokers or case.only_copies
    tps, risky = only_copy(brokers, case)
    if not remedy.brokers:  # a rolling restart stops every single replica anyway
        tps = tuple(tp for tp in tps if len(case.assignment(tp).replicas) > 1)
    if not tps:
        yield remedy
        return
    whose = sorted(set(brokers) & {b for tp in tps for b in case.isr(tp)})
    who, verb = brokers_named(whose), are(len(whose))
    # One that waits for another finding is not carried out now, nor is what comes before it.
    if risky and not remedy.after:
        after = ", since another replica, which may lack records, is elected meanwhile otherwise"
        yield from set_to_false(risky, case, before=f"Before {who} {verb} stopped", after=after)
    note = f"{per_topic(tps)} {has(topics(tps))} no leader meanwhile: only {who} {verb} in sync"
    yield replace(remedy, text=f"{remedy.text}. {note}")
