"""Which partition of `__consumer_offsets` or `__transaction_state` coordinates a group or a transactional id.

Source: `GroupMetadataManager.partitionFor` and `Utils.abs` of Kafka 2.7.1; the vectors of
docs/facts/coordinators.md were computed by a JVM.
"""

from collections.abc import Collection

from kfix.core.numbers import whole_number
from kfix.core.snapshot.broker_answers import OffsetsLogSize

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
#: The state of share groups, of Kafka 4: a partition's leader is the share coordinator of the groups that hash to it.
SHARE_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_TOPIC})

_INT_MIN = -(2**31)
#: Prefix of made-up group names. A real group may have such a name, so a name alone proves nothing.
MADE_UP = "kfix-no-such-group-"


def java_hash(text: str) -> int:
    """Returns `String.hashCode` of Java: over UTF-16 code units, so that an emoji counts as two."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for i in range(0, len(units), 2):
        value = (31 * value + ((units[i] << 8) | units[i + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def made_up_groups(partitions: Collection[int], count: int) -> dict[str, int]:
    """Returns {name of a group that does not exist: one of `partitions`} of an offsets topic with `count` partitions.

    Requesting the coordinator and the offsets of such a group creates nothing (docs/facts/consumer-groups.md).
    """
    wanted, found = set(partitions), dict[str, int]()
    # A name hits each partition with the same chance: after this many, one in a million is still missing.
    for number in range(16 * count if wanted else 0):
        name = f"{MADE_UP}{number}"
        partition = partition_of_group(name, count)
        if partition in wanted:
            wanted.remove(partition)
            found[name] = partition
    return found


def partition_of_group(group: str, partitions: int) -> int:
    """Returns the partition; `partitions` is the real partition count of the topic, never the broker's setting."""
    if partitions < 1:
        raise ValueError(f"a topic has at least 1 partition, not {partitions}")
    value = java_hash(group)
    # Kafka's own abs: Integer.MIN_VALUE has no positive counterpart and becomes 0.
    return (0 if value == _INT_MIN else abs(value)) % partitions


# Which logs of the offsets topic the log cleaner should have compacted, and which of them it has not.
#
# A healthy log has the last record of each key, plus the records since its last compaction: the active segment, and
# closed segments until they are half of the rest (min.cleanable.dirty.ratio). From three segments on, that is at most
# 2/3 of it. The thresholds and the trials behind them: docs/adr/021-an-uncompacted-log-by-repeated-keys.md.

#: The broker's default for the offsets topic.
DEFAULT_SEGMENT_BYTES = 104_857_600
SEGMENTS = 3
#: A cleaner that is busy with other topics may take its time.
SECONDS = 3600.0
#: Least number of records per key.
REPEATED = 2
#: The part of a log, from its end, in which a healthy broker may have keys that repeat is at most 2/3 of its bytes. The
#: piece that is read begins at this share of them, which is an estimate, and counts down to the other one.
SAMPLED_SHARE, COUNTED_SHARE = 0.8, 0.7


def segment_bytes_of(text: str) -> int:
    """Returns the value of segment.bytes of the offsets topic, or the default if it was not read."""
    return whole_number(text) or DEFAULT_SEGMENT_BYTES


def should_be_compacted(size: int, segment_bytes: int) -> bool:
    """Returns whether the log has at least two closed segments, so that one was written after the first was closed."""
    return size >= SEGMENTS * segment_bytes


def is_uncompacted(log: OffsetsLogSize, segment_bytes: int, now: float) -> bool:
    """Returns whether keys repeat in a piece of a large log that a cleaner should already have compacted."""
    old = 0 <= log.last_ms <= (now - SECONDS) * 1000
    early = log.behind >= COUNTED_SHARE * log.size
    return should_be_compacted(log.size, segment_bytes) and old and early and log.records >= REPEATED * max(log.keys, 1)
