"""Numbers with their nouns and verbs, sizes, ages, times, and names in a sentence.

Finding keys contain these words, so a change makes every stored finding new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from math import ceil, floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kfix.core.snapshot.naming import TopicPartition

_STEP = 1000
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def several(count: int, noun: str, plural: str = "") -> str:
    """Returns `1 partition` or `2 partitions`; `plural` is needed if adding an s is not enough."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def _agreeing(one: str, many: str) -> Callable[[int], str]:
    """Returns what makes the form of a word that agrees with a number."""
    return lambda count: one if count == 1 else many


are, were = _agreeing("is", "are"), _agreeing("was", "were")
has, does = _agreeing("has", "have"), _agreeing("does", "do")
waits, them = _agreeing("waits", "wait"), _agreeing("it", "them")


def brokers_named(brokers: Iterable[int]) -> str:
    """Returns `broker 3` or `brokers 1, 3`, in numerical order; it is also the object of findings about brokers."""
    ids = sorted(set(brokers))
    return f"broker{'' if len(ids) == 1 else 's'} {', '.join(map(str, ids))}" if ids else "no broker"


def ids(brokers: Iterable[int]) -> str:
    return f"[{', '.join(map(str, brokers))}]"


def either(brokers: Iterable[int]) -> str:
    return "broker " + " or ".join(map(str, brokers))


def some(names: Sequence[object], shown: int = 5) -> str:
    """Returns `a, b, c and 61 more`."""
    if len(names) <= shown + 1:
        return ", ".join(map(str, names))
    return f"{', '.join(map(str, names[:shown]))} and {len(names) - shown} more"


def per_topic(tps: Iterable[TopicPartition], shown: int = 4, *, counted: bool = False) -> str:
    """Returns `orders (64 partitions), logs-3`: short, and with the number of all if not every topic is named.

    `counted`: the sentence has that number already.
    """
    found = sorted(tps)
    sizes = Counter(tp.topic for tp in found)
    last = {tp.topic: tp for tp in found}
    names = [str(last[topic]) if n == 1 else f"{topic} ({n} partitions)" for topic, n in sizes.most_common()]
    if len(names) <= shown + 1:
        return ", ".join(names)
    total = "" if counted else f" ({len(found)} partitions in all)"
    return f"{', '.join(names[:shown])} and {len(names) - shown} more topics{total}"


def topics(tps: Iterable[TopicPartition]) -> int:
    """Returns the number of topics, with which a verb after `per_topic` agrees: `orders (64 partitions) has`."""
    return len({tp.topic for tp in tps})


def continued(text: str) -> str:
    """Returns a sentence as the continuation of another one: its first letter becomes lower case."""
    return text[:1].lower() + text[1:]


def size_text(size: float) -> str:
    """Returns bytes in decimal units, as Kafka's own rates: `905 bytes`, `60 MB`, `12.3 MB`."""
    value, unit = float(size), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.{1 if unit else 0}f}".removesuffix(".0") + f" {_UNITS[unit]}"


def known_size(size: int) -> str:
    """Returns the size, or "size unknown" if it is negative."""
    return size_text(size) if size >= 0 else "size unknown"


def rate_text(rate: float) -> str:
    """Returns bytes per second: `5 MB/s`."""
    return f"{size_text(rate)}/s"


def ago(seconds: float | None) -> str:
    """Returns an age in the largest unit of which it holds two: `90 s`, `3 min`, `2 days`."""
    return "an unknown time" if seconds is None or seconds < 0 else _in_units(seconds, round)


def at_least(seconds: float) -> str:
    """Returns a lower bound of an age, rounded down: `at least 2 min`."""
    return f"at least {_in_units(seconds, floor)}"


def at_most(seconds: float) -> str:
    """Returns an upper bound of an age, rounded up: `at most 13 s`."""
    return f"at most {_in_units(seconds, ceil)}"


def _in_units(seconds: float, rounded: Callable[[float], int]) -> str:
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{rounded(seconds / size)} {unit}"
    return f"{rounded(seconds)} s"


def utc_text(seconds: float) -> str:
    """Returns a time for people: `2026-03-01 07:05:09Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def utc_iso(seconds: float) -> str:
    """Returns a time for journals and scripts, in milliseconds: `2026-03-01T07:05:09.120Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
