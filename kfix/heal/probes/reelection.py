"""Whether another controller may be elected."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.args import Args
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading, ResourceKind
from kfix.heal.model.answer import Answer, Verdict, judge
from kfix.heal.probes.base import probe
from kfix.heal.probes.compare import holds
from kfix.heal.probes.logs import followed
from kfix.heal.probes.words import state_words

_UNCLEAN = "unclean.leader.election.enable"


_WANTED = "no partition that would lose records to a new controller"


_SHOWN = 3


@probe("a new controller would not lose records of any partition: logs and unclean elections")
def reelection_is_safe(_args: Args, reader: ClusterReader) -> Answer:
    """A new controller would not lose records of any partition of the cluster.

    A new controller reads all state from ZooKeeper (docs/facts/controller.md). Every partition on which ZooKeeper and
    the brokers differ switches to ZooKeeper's leader, or to the first live member of its ISR, and all other replicas
    truncate to that one: it must hold what the followed leader holds. The controller elects a leader for every
    partition that has none, outside the ISR where `unclean.leader.election.enable` allows it. The probe reads all
    partitions, not only those of the finding.
    """
    readings = reader.every_partition()
    problems: list[tuple[Verdict, str]] = []
    affected = 0
    for reading in readings.values():
        found = _judged(reading, reader)
        affected += found is not None
        if found is not None and not found.passed:
            problems.append((found.verdict, f"{reading.tp}: {found.observed}"))
    gaps = sorted({error for reading in readings.values() for error in reading.errors})
    failed = [text for verdict, text in problems if verdict is Verdict.FAIL]
    if failed:
        return judge(False, _several(failed), _WANTED)
    if problems or gaps:
        return judge(None, _several([text for _, text in problems] + gaps), _WANTED)
    observed = f"{len(readings)} partitions; {affected} of them without a leader or with two, none would lose records"
    return judge(True, observed, _WANTED)


def _judged(reading: PartitionReading, reader: ClusterReader) -> Answer | None:
    """Returns None where ZooKeeper and the brokers agree, so that a new controller changes nothing."""
    if reading.state is None:
        return None if not reading.errors else judge(None, state_words(reading), _WANTED)
    live_isr, leaderless = reading.live_isr, reading.leaderless
    if live_isr is None or leaderless is None or reading.assignment is None:
        return judge(None, state_words(reading), _WANTED)
    others = followed(reading) - {reading.state.leader}
    alive = others & (reading.registered or frozenset())
    if not leaderless and not others:
        return None
    heir = reading.state.leader
    if leaderless:
        if not live_isr:
            return _without_heir(reading, alive, reader)
        heir = next((b for b in reading.assignment.replicas if b in live_isr), live_isr[0])
    return holds(reader, reading.tp, heir, alive, _WANTED)


def _without_heir(reading: PartitionReading, alive: set[int], reader: ClusterReader) -> Answer:
    """Judges a partition without a live in-sync replica: a new controller leaves it as it is, unless Kafka may elect
    another replica or a working leader is lost.
    """
    if alive:
        dead = f"brokers follow {sorted(alive)}, ZooKeeper's ISR {list(reading.isr or ())} is dead"
        return judge(False, f"{dead}: it would lose its leader", _WANTED)
    allowed = list(_unclean_allowed(reading.tp.topic, reader))
    if any(allowed):
        return judge(False, f"{state_words(reading)}, and {_UNCLEAN} is true", _WANTED)
    return judge(True if allowed else None, f"{state_words(reading)}, {_UNCLEAN} is false", _WANTED)


def _unclean_allowed(topic: str, reader: ClusterReader) -> Iterator[bool]:
    """Yields the topic's own value, or where it has none that of every broker: each may become the controller."""
    found = reader.configs(ResourceKind.TOPIC, topic, (_UNCLEAN,)).get(_UNCLEAN)
    if found is not None and found.own:
        yield _is_true(found.value, f"topic {topic}")
        return
    for broker in sorted(reader.registered_brokers()):
        own = reader.configs(ResourceKind.BROKER, str(broker), (_UNCLEAN,)).get(_UNCLEAN)
        yield _is_true(None if own is None else own.value, f"broker {broker}")


def _is_true(value: str | None, whose: str) -> bool:
    if value is None:
        raise UnreachableError(f"{whose} does not report {_UNCLEAN}")
    return value.lower() == "true"


def _several(texts: list[str]) -> str:
    more = len(texts) - _SHOWN
    return "; ".join(texts[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
