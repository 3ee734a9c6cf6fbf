"""How findings name things: every check uses the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kfix.model.cluster.snapshot import TopicPartition

__all__ = ["MANY", "ago", "are", "either", "error_name", "has", "ids", "per_topic", "some"]

#: Up to this many partitions are reported one by one; more of one kind are one finding.
MANY = 20

_ERRORS = {
    -1: "no answer",
    5: "5 LEADER_NOT_AVAILABLE",
    6: "6 NOT_LEADER_OR_FOLLOWER",
    7: "7 REQUEST_TIMED_OUT",
    14: "14 COORDINATOR_LOAD_IN_PROGRESS",
    15: "15 COORDINATOR_NOT_AVAILABLE",
    16: "16 NOT_COORDINATOR",
}


def error_name(code: int) -> str:
    return _ERRORS.get(code, f"error {code}")


def ids(brokers: Iterable[int]) -> str:
    return f"[{', '.join(map(str, brokers))}]"


def either(brokers: Iterable[int]) -> str:
    return "broker " + " or ".join(map(str, brokers))


def some(names: Sequence[object], shown: int = 5) -> str:
    """Returns `a, b, c and 61 more`."""
    if len(names) <= shown + 1:
        return ", ".join(map(str, names))
    return f"{', '.join(map(str, names[:shown]))} and {len(names) - shown} more"


def ago(seconds: float | None) -> str:
    if seconds is None or seconds < 0:
        return "an unknown time"
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def per_topic(tps: Iterable[TopicPartition], shown: int = 4) -> str:
    """Returns `orders (64 partitions), logs-3`: short, however many partitions there are."""
    found = sorted(tps)
    sizes = Counter(tp.topic for tp in found)
    last = {tp.topic: tp for tp in found}
    names = [str(last[topic]) if n == 1 else f"{topic} ({n} partitions)" for topic, n in sizes.most_common()]
    return some(names, shown)


def has(n: int) -> str:
    return "has" if n == 1 else "have"


def are(n: int) -> str:
    return "is" if n == 1 else "are"
