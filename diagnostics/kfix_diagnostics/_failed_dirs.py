"""Replicas in failed log directories of live brokers, which KFX406 reports: other findings name it as their cause."""

from collections.abc import Iterable, Mapping
from typing import Final

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.snapshot.snapshot import TopicPartition

_CODE: Final = "KFX406"
SEE: Final = f"see {_CODE}"
#: The error of a broker that is asked for a replica in a failed log directory.
STORAGE_ERROR: Final = "KAFKA_STORAGE_ERROR"


def waits_for_disk(tp: TopicPartition, case: CaseFile) -> bool:
    """Returns whether the live replicas that may lead the partition without a loss are all in failed log directories.

    These are the members of the ISR; on KRaft, where the ISR is empty, those of the ELR, and where that is empty, too,
    the last known leader.
    """
    holders = case.isr(tp)
    quorum = case.snapshot.quorum
    if not holders and quorum is not None and (eligible := quorum.eligible.get(tp)) is not None:
        holders = eligible.replicas or eligible.last_known
    alive = case.among_live(holders)
    return bool(alive) and not case.online(tp, alive)


def failed_at(missing: Iterable[int], rows: Iterable[PartitionFacts], case: CaseFile) -> tuple[int, ...]:
    """Returns those of the missing brokers whose replicas of all rows that lack them are in failed log directories."""
    if not any(row.n_failed_replicas > 0 for row in rows):
        return ()
    lacking = lacking_rows(missing, rows, case)
    return tuple(b for b, tps in lacking.items() if tps and all(b in case.failed_replicas(tp) for tp in tps))


def lacking_rows(
    missing: Iterable[int], rows: Iterable[PartitionFacts], case: CaseFile
) -> Mapping[int, list[TopicPartition]]:
    """Returns {missing broker: the partitions of these rows whose ISR lacks it}."""
    lacking: dict[int, list[TopicPartition]] = {b: [] for b in missing}
    for row in rows:
        replicas, isr = case.assignment(row.tp).replicas, case.isr(row.tp)
        for broker, tps in lacking.items():
            if broker in replicas and broker not in isr:
                tps.append(row.tp)
    return lacking


def keys_of(brokers: Iterable[int]) -> tuple[str, ...]:
    """Returns the keys of the findings about the failed log directories of these brokers."""
    return tuple(f"{_CODE}:broker {broker}" for broker in brokers)
