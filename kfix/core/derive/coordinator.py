"""Which partition of `__consumer_offsets` or `__transaction_state` coordinates a group or a transactional id.

Source: `GroupMetadataManager.partitionFor` and `Utils.abs` of Kafka 2.7.1; the vectors of
docs/facts/coordinators.md were computed by a JVM.
"""

from __future__ import annotations

from collections.abc import Collection

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
