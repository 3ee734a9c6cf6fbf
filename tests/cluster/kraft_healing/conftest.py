"""One lab of Kafka 4.3.1 with a controller apart for all runbooks of KRaft; each test finds it whole."""

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.kafka import group_messages
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab import LabSpec
from kfix.lab.clients.leading import moves as moves_of
from kfix.lab.healing.health import trouble
from tests.cluster.conftest import WatchedLab, is_whole
from tests.cluster.seen import Cluster
from tests.tries import again

CLEANER = {
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "4194304",
}


class KraftCluster(Cluster):
    def moves(self):
        return moves_of(self.access)


@pytest.fixture(scope="package")
def kraft_lab(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KFIX_LAB_HOME", str(tmp_path_factory.mktemp("kraft-remedies")))
        spec = LabSpec(name="healing", kafka="4.3.1", offsets_rf=3, racks=("a", "b", "c"), settings=CLEANER)
        lab = WatchedLab.up(spec)
        yield lab
        lab.down()


@pytest.fixture
def lab(kraft_lab, request):
    if again(request):
        kraft_lab.mend()
    yield kraft_lab
    if not is_whole(kraft_lab):
        kraft_lab.mend()
        with kraft_lab.access() as access:
            assert trouble(access, kraft_lab.broker_ids) == ()
            assert access.topics() == (OFFSETS_TOPIC,)


@pytest.fixture
def cluster(lab):
    with lab.access() as access:
        yield KraftCluster(lab, access)


def committed(cluster, group):
    """Returns {partition: committed offset} as the coordinator of the group serves it."""
    where = tuple(TopicPartition("orders", number) for number in range(3))
    [(_, broker)] = cluster.coordinators(group)
    request = group_messages.stable_offset_fetch(group, where)
    return {tp: each.offset for tp, each in cluster.ask(broker, request)[1].items()}
