"""From which replica `kfix offsets save` takes the offsets, and when they are complete."""

from dataclasses import replace

import pytest

from kfix.core.collect import offsets_saving
from kfix.core.collect.offsets_saving import PartitionOffsets, read_partition
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UnreachableError
from kfix.core.kafka.security import Security
from kfix.core.snapshot.offsets import SavedSource
from kfix.core.snapshot.snapshot import BrokerView, PartitionView, Snapshot, TopicPartition
from kfix.core.target import Target
from tests.unit.diagnostics.clusters import base

TP = TopicPartition(OFFSETS_TOPIC, 0)


def leaderless(isr: tuple[int, ...]) -> Snapshot:
    view = BrokerView(2, 2, {}, {}, {TP: PartitionView(-1, 7, (1, 2, 3), isr, (), 5)})
    return replace(base().snapshot(), zookeeper=None, views={2: view})


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """{broker: the end of its log}; any other broker does not answer."""
    served: dict[int, int] = {}

    def from_broker(_target: object, _snapshot: object, tp: TopicPartition, broker: int, *, leads: bool):
        if broker not in served:
            raise UnreachableError("no answer")
        kind = "leader" if leads else "replica"
        source = SavedSource(tp.partition, kind, f"broker {broker}", 0, served[broker], served[broker])
        return PartitionOffsets(source, ())

    monkeypatch.setattr(offsets_saving, "_from_broker", from_broker)
    return served


def saved(isr: tuple[int, ...]) -> SavedSource:
    return read_partition(Target((), None, Security(), 5.0), leaderless(isr), 0).source


def test_of_replicas_that_are_not_in_the_isr_the_longest_log_counts_and_is_not_complete(ends: dict[int, int]) -> None:
    """Broker 1, the only one in the ISR, is dead: the first of the others may be far behind."""
    ends |= {2: 100, 3: 200}
    source = saved(isr=(1,))
    assert (source.name, source.end, source.complete) == ("broker 3", 200, False)
    assert source.missing == ("broker 3 is not in the ISR [1], so newer records may be missing",)


def test_a_replica_in_the_isr_is_complete(ends: dict[int, int]) -> None:
    ends |= {2: 100, 3: 200}
    source = saved(isr=(1, 2))
    assert (source.name, source.end, source.complete) == ("broker 2", 100, True)
