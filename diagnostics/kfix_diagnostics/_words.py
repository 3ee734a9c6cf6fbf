"""How findings name things: every check uses the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kfix.model.cluster.snapshot import TopicPartition
from kfix.wording import brokers_named, some

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


def start_any(brokers: Iterable[int], frozen: Iterable[int]) -> str:
    """Returns `Start broker 1 or 2`, and which of them is frozen: its process has to be ended first."""
    ids = tuple(brokers)
    hung = [b for b in ids if b in set(frozen)]
    return f"Start {either(ids)}" + (f" (end the frozen process of {brokers_named(hung)} first)" if hung else "")


def per_topic(tps: Iterable[TopicPartition], shown: int = 4) -> str:
    """Returns `orders (64 partitions), logs-3`: short, however many partitions there are."""
    found = sorted(tps)
    sizes = Counter(tp.topic for tp in found)
    last = {tp.topic: tp for tp in found}
    names = [str(last[topic]) if n == 1 else f"{topic} ({n} partitions)" for topic, n in sizes.most_common()]
    return some(names, shown)


def has(n: int) -> str:
    return "has" if n == 1 else "have"


def does(n: int) -> str:
    return "does" if n == 1 else "do"


def are(n: int) -> str:
    return "is" if n == 1 else "are"
