"""A coordinator that every broker names and that refuses, on its first replica and on another one."""

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from tests.cluster.seen import consumed
from tests.waiting import wait_until


@pytest.mark.parametrize("first", [True, False], ids=["first-replica", "another-replica"])
def test_a_coordinator_that_was_never_made_leader_serves_its_group_again(operator, cluster, first):
    where = TopicPartition(OFFSETS_TOPIC, 1)
    if OFFSETS_TOPIC not in cluster.access.topics():
        cluster.lab.break_("healthy")
        cluster.lab.mend()
    preferred, other, *_ = order = cluster.access.assignment(OFFSETS_TOPIC)[1]
    if first:
        # To an election all looks as it should: the preferred replica leads, in the words of all.
        cluster.access.reassign({where: (other, *(b for b in order if b != other))})
        cluster.access.elect([where], unclean=False)
        cluster.access.reassign({where: order})
    broken = cluster.lab.break_("coordinator-silent", partition=1, leader=preferred if first else other)
    assert str(where) in operator.diagnose().findings["KFX106"]["partitions"]
    planned = operator.plan("coordinator-not-answering", params={"settle": "2s"})
    assert set(planned.gates.values()) <= {"auto", "plan"}
    operator.healed(planned, level="plan")
    wait_until(lambda: cluster.works(broken.group), "the group works again")
    assert cluster.access.assignment(OFFSETS_TOPIC)[1] == order
    assert "KFX106" not in operator.diagnose("--debounce", "0").findings
    assert consumed(cluster, broken.group) == 30
