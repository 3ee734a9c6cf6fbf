"""What the checks of prevention say alike. They judge settings and placement: nothing is broken by it today."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import Rows
from kfix.derive.naming import brokers_named
from kfix.derive.partition_facts import PartitionFacts
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Evidence
from kfix.model.numbers import whole_number
from kfix_diagnostics._words import count, some

MIN_ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"
PROTOCOL = "inter.broker.protocol.version"
DEFAULTS_CODE = "KFX605"
#: Fewer partitions than this on one broker are no load worth a word.
FEW = 10

Line = tuple[int, int]

NEVER_AT_ONCE = "do not move everything at once: throttle, move in batches, take the throttle off afterwards"
NEVER_ALTER = "kafka-topics --alter cannot change a replication factor"
NEVER_ABOVE_RF = (
    "do not set min.insync.replicas above the replication factor of any topic it acts on: producers with acks=all, and "
    "the commits of groups, fail at once"
)


def tps_of(rows: Iterable[PartitionFacts]) -> tuple[TopicPartition, ...]:
    return tuple(row.tp for row in rows)


def largest(rows: Rows) -> str:
    """The topic with most of these partitions, the first by name of several."""
    sizes = Counter(row.topic for row in rows)
    return min(sizes, key=lambda topic: (-sizes[topic], topic))


def how_many(rows: Rows) -> str:
    return f"{count(len(rows), 'partition')} of {count(len({row.topic for row in rows}), 'topic')}"


def worst_rows(rows: Rows, what: str, value: str, shown: int = 5) -> Iterator[Evidence]:
    """The topics with most of these partitions, with their numbers."""
    sizes = Counter(row.topic for row in rows)
    names = [f"{topic} ({n})" for topic, n in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))]
    yield Evidence(what, f"partitions with {value}", some(names, shown))


def setting_rows(values: Mapping[int, str], key: str, note: str = "") -> Iterator[Evidence]:
    """Brokers that say the same share a row."""
    said: dict[str, list[int]] = {}
    for broker, value in values.items():
        said.setdefault(value, []).append(broker)
    for value, brokers in said.items():
        yield Evidence(brokers_named(brokers), key, f"{value or 'empty'}{note}")


def number(text: str) -> int | None:
    """A setting as a number; None where it is none."""
    found = whole_number(text.strip().removeprefix("-"))
    return -found if found is not None and text.strip().startswith("-") else found


def line_of(version: str) -> Line | None:
    """`2.7-IV2` is of the line 2.7; None where it is no version."""
    found = re.match(r"([0-9]{1,9})\.([0-9]{1,9})", version)
    return None if found is None else (int(found[1]), int(found[2]))


def inherits(topic: str, key: str, value: str, case: CaseFile) -> bool:
    """Nothing is set on the topic itself, and some broker has this as its default."""
    return not case.own_setting(topic, key) and value in case.settings(key).values()


def n_brokers(case: CaseFile) -> int:
    """Alive ones, and those that are away and hold replicas."""
    return len(case.assigned | (case.live or frozenset()))


def overloaded(counted: Mapping[int, int], case: CaseFile) -> tuple[int, ...]:
    """Live brokers with more than twice the fair share and at least `FEW`, or with all there is."""
    live = sorted(case.live or ())
    total = sum(counted.get(broker, 0) for broker in live)
    if len(live) < 2:
        return ()
    return tuple(
        broker for broker in live if (n := counted.get(broker, 0)) >= FEW and (n * len(live) > 2 * total or n == total)
    )
