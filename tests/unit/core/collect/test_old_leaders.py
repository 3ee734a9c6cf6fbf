"""Which partitions a broker with old metadata is asked for: those that it leads alone, and none of a healthy one."""

from kfix.core.collect.kraft import succeeded
from kfix.core.snapshot.snapshot import PartitionView, TopicPartition

TPS = [TopicPartition("orders", n) for n in range(4)]


def view(leader, epoch):
    return PartitionView(leader, epoch, (1, 2, 3), (1, 2, 3), (), 0)


def test_a_broker_is_asked_for_what_it_leads_in_an_older_epoch_and_nothing_else():
    own = {TPS[0]: view(1, 4), TPS[1]: view(2, 4), TPS[2]: view(1, 4), TPS[3]: view(1, 4)}
    now = {TPS[0]: view(2, 5), TPS[1]: view(3, 5), TPS[2]: view(1, 4)}
    assert succeeded(1, own, now) == {TPS[0]: 5}
    assert succeeded(1, own, own) == {}


def test_at_most_two_hundred_partitions_are_asked_for():
    own = {TopicPartition("t", n): view(1, 0) for n in range(300)}
    now = {tp: view(2, 1) for tp in own}
    assert len(succeeded(1, own, now)) == 200
