"""Offsets partitions that the log cleaner has not compacted. For KFX106, KFX115 and the ladder."""

from collections.abc import Collection, Iterator, Sequence

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.coordinator import OFFSETS_TOPIC, is_uncompacted, segment_bytes_of, should_be_compacted
from kfix.core.diagnosis.finding import Evidence
from kfix.core.snapshot.broker_answers import OffsetsLogSize
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import known_size, several

CLEANER = "log.cleaner.enable"
_SHOWN = 3


def segment_bytes(case: CaseFile) -> int:
    return segment_bytes_of(case.own_setting(OFFSETS_TOPIC, "segment.bytes"))


def uncompacted(case: CaseFile) -> tuple[OffsetsLogSize, ...]:
    """Returns the logs of the leaders that the cleaner has not compacted, largest first."""
    size = segment_bytes(case)
    found = [each for each in case.snapshot.offsets_sizes if is_uncompacted(each, size, case.taken_at)]
    return tuple(sorted(found, key=lambda each: (-each.size, each.partition)))


def of_partitions(logs: Sequence[OffsetsLogSize], tps: Collection[TopicPartition]) -> tuple[OffsetsLogSize, ...]:
    return tuple(log for log in logs if TopicPartition(OFFSETS_TOPIC, log.partition) in tps)


def short_copies(case: CaseFile, log: OffsetsLogSize) -> tuple[int, ...]:
    """Returns the brokers whose copy of this partition is compacted, or too short for that, and in sync."""
    tp, limit = TopicPartition(OFFSETS_TOPIC, log.partition), segment_bytes(case)
    isr = case.isr(tp) or ()
    return tuple(
        each.broker
        for each in case.snapshot.offsets_sizes
        if each.partition == log.partition
        and each.broker in isr
        and each.size >= 0
        and not should_be_compacted(each.size, limit)
    )


def size_rows(case: CaseFile, logs: Sequence[OffsetsLogSize]) -> Iterator[Evidence]:
    for log in logs[:_SHOWN]:
        tp = TopicPartition(OFFSETS_TOPIC, log.partition)
        copies = [
            f"{known_size(each.size)} on broker {each.broker}"
            for each in case.snapshot.offsets_sizes
            if each.partition == log.partition
        ]
        yield Evidence("DescribeLogDirs", str(tp), f"{', '.join(copies)}; segment.bytes {segment_bytes(case)}")
        yield Evidence(
            f"Fetch from broker {log.broker}, about {known_size(log.behind)} before the end of the log",
            str(tp),
            f"{several(log.records, 'record')} of {several(log.keys, 'key')}; a compacted log has one of each key",
            case.taken_at - log.last_ms / 1000,
        )
