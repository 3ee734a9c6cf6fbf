import pytest

from kfix.derive.coordinator import partition_of_group
from kfix.errors import UsageError
from kfix.lab.clients.groups import STEMS, name_for
from kfix.lab.definition.layout import ids_by_rack, spread
from kfix.lab.definition.state import BrokerDef
from kfix.lab.workload.planning import group_in


@pytest.mark.parametrize("partitions", [1, 5, 31, 50, 62])
def test_every_partition_of_the_offsets_topic_gets_a_group_with_a_plain_name(partitions):
    for wanted in range(partitions):
        name = name_for(wanted, partitions, STEMS[wanted % len(STEMS)])
        assert partition_of_group(name, partitions) == wanted
        assert name.split("-")[0] in STEMS


def test_neighbours_are_in_different_racks_where_the_racks_allow_it():
    brokers = [BrokerDef(number, number, rack) for number, rack in ((1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "c"))]
    assert ids_by_rack(brokers) == (1, 3, 5, 2, 4)


def test_a_retired_broker_gets_no_replica():
    assert ids_by_rack([BrokerDef(1, 1, None), BrokerDef(2, 1, None, retired=True), BrokerDef(3, 3, None)]) == (1, 3)


def test_replicas_go_round_the_brokers():
    assert spread((10, 20, 30), 3, 2) == [[10, 20], [20, 30], [30, 10]]


def test_a_partition_that_the_offsets_topic_does_not_have_is_refused():
    with pytest.raises(UsageError, match="has 5"):
        group_in(5, 5)
    with pytest.raises(UsageError, match="does not exist yet"):
        group_in(0, 0)
