"""Helpers of the checks for latent risks. They judge settings and placement: nothing is broken by these today."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kfix.core.derive.checks import CaseFile, Rows
from kfix.core.derive.elections import UNCLEAN
from kfix.core.derive.grouping import grouped
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import Evidence, Remedy
from kfix.core.numbers import whole_number
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import brokers_named, continued, several, some
from kfix_diagnostics._advice import runbook

MIN_ISR = "min.insync.replicas"
DEFAULTS_CODE = "KFX605"
#: Fewer partitions than this on one broker are no load worth reporting.
FEW = 10

OTHER_LEADERS = "Put other replicas first in the assignments, so that other leaders are preferred. No data is copied"
NEVER_AT_ONCE = "Do not move everything at once: throttle, move in batches, and remove the throttle afterwards"
NEVER_ALTER = "Do not try kafka-topics --alter: it cannot change a replication factor"
NEVER_ABOVE_RF = (
    "Do not set min.insync.replicas above the replication factor of any topic it applies to: before Kafka 3.7 "
    "producers with acks=all and the commits of groups fail at once, from 3.7 on once one replica is out of sync"
)


def tps_of(rows: Iterable[PartitionFacts]) -> tuple[TopicPartition, ...]:
    return tuple(row.tp for row in rows)


def largest(rows: Rows, case: CaseFile) -> str:
    """Returns the topic with most of these partitions, the first by name if there are several.

    A topic that cannot be reassigned now is the last choice.
    """
    sizes = Counter(row.topic for row in rows if row.topic not in case.hindered) or Counter(row.topic for row in rows)
    return min(sizes, key=lambda topic: (-sizes[topic], topic))


def durable_defaults(rows: Rows, topic: str, min_isr: int, text: str, case: CaseFile) -> Remedy:
    """Returns the remedy that sets a topic; the runbook refuses while a partition lacks so many in-sync replicas."""
    if lacks_in_sync(rows, topic, min_isr):
        wait = f"Wait until every partition of {topic} has {several(min_isr, 'in-sync replica')}"
        return Remedy(f"{wait}. Then: {continued(text)}", runbook="durable-defaults")
    return runbook(case, "durable-defaults", text, f"topic={topic}", f"min_isr={min_isr}")


def lacks_in_sync(rows: Rows, topic: str, number: int) -> bool:
    return any(row.topic == topic and row.n_live_isr < number for row in rows)


def how_many(rows: Rows) -> str:
    return f"{several(len(rows), 'partition')} of {several(len({row.topic for row in rows}), 'topic')}"


def worst_rows(rows: Rows, what: str, value: str, shown: int = 5) -> Iterator[Evidence]:
    """Yields a row of the topics with most of these partitions, with their numbers."""
    sizes = Counter(row.topic for row in rows)
    names = [f"{topic} ({n})" for topic, n in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))]
    yield Evidence(what, f"partitions with {value}", some(names, shown))


def setting_rows(values: Mapping[int, str], key: str, note: str = "") -> Iterator[Evidence]:
    """Yields one row for all brokers that have the same value."""
    for value, brokers in grouped((value, broker) for broker, value in values.items()).items():
        yield Evidence(brokers_named(brokers), key, f"{value or 'empty'}{note}")


def number(text: str) -> int | None:
    """Returns a setting as a number; None where it is not one."""
    found = whole_number(text.strip().removeprefix("-"))
    return -found if found is not None and text.strip().startswith("-") else found


def inherits(topic: str, key: str, value: str, case: CaseFile) -> bool:
    """Returns whether the topic has no value of its own, and a node that decides has this value as its default."""
    return not case.own_setting(topic, key) and value in defaults(key, case).values()


def defaults(key: str, case: CaseFile) -> Mapping[int, str]:
    """Returns {node: value} of the nodes whose default counts: of unclean elections on KRaft, the controllers."""
    return case.unclean_defaults if key == UNCLEAN else case.settings(key)


def default_rows(key: str, case: CaseFile) -> Iterator[Evidence]:
    """Yields one row for all nodes that have the same default."""
    rows = setting_rows(defaults(key, case), key)
    of_controllers = key == UNCLEAN and case.kraft
    for row in rows:
        yield replace(row, source=row.source.replace("broker", "controller", 1)) if of_controllers else row


def n_brokers(case: CaseFile) -> int:
    """Returns the number of live brokers and of dead ones that hold replicas."""
    return len(case.assigned | (case.live or frozenset()))


def overloaded(counted: Mapping[int, int], case: CaseFile) -> tuple[int, ...]:
    """Returns live brokers with more than twice the fair share and at least `FEW`, or with all partitions."""
    live = sorted(case.live or ())
    total = sum(counted.get(broker, 0) for broker in live)
    if len(live) < 2:
        return ()
    return tuple(
        broker for broker in live if (n := counted.get(broker, 0)) >= FEW and (n * len(live) > 2 * total or n == total)
    )
