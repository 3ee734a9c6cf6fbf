"""Replicas of one rack are spread over two; and what a cluster of four brokers lets one see."""

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab import Lab, LabSpec
from tests.cluster.conftest import lab_of_its_own
from tests.cluster.remedy import operating
from tests.cluster.seen import Cluster, in_sync, throttles


def start():
    return Lab.up(LabSpec(name="racks", ids=(1, 2, 3, 4), racks=("a", "a", "b", "b")))


own, lab = lab_of_its_own(start)


def test_replicas_of_one_rack_are_spread_over_two_and_no_more_than_needed(lab, tmp_path):
    broken = lab.break_("replicas-in-one-rack", megabytes=2)
    with lab.access() as access, operating(lab, tmp_path) as operator:
        cluster = Cluster(lab, access)
        before = access.assignment("ledger")
        leaders = {tuple(each): access.state(*each).leader for each in broken.partitions}
        finding = operator.diagnose().findings["KFX305"]
        planned = operator.plan("spread-replicas", "--finding", finding["key"])
        operator.healed(planned)
        rack_of = access.metadata(1).racks
        after = access.assignment("ledger")
        for number, replicas in after.items():
            assert {rack_of[b] for b in replicas} == {"a", "b"}
            assert len(set(replicas) - set(before[number])) == 1
            assert in_sync(cluster, TopicPartition("ledger", number))
            assert leaders["ledger", number] in replicas
        assert throttles(cluster) == {}
        assert finding["key"] not in {each["key"] for each in operator.diagnose("--debounce", "0").every}
        operator.take_back(operator.ran(planned), "--all")
        assert access.assignment("ledger") == before
