from kfix.lab.definition.state import BrokerDef, ids_by_rack, spread


def test_neighbours_are_in_different_racks_where_the_racks_allow_it():
    brokers = [BrokerDef(number, number, rack) for number, rack in ((1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "c"))]
    assert ids_by_rack(brokers) == (1, 3, 5, 2, 4)


def test_a_retired_broker_gets_no_replica():
    assert ids_by_rack([BrokerDef(1, 1, None), BrokerDef(2, 1, None, retired=True), BrokerDef(3, 3, None)]) == (1, 3)


def test_replicas_go_round_the_brokers():
    assert spread((10, 20, 30), 3, 2) == [[10, 20], [20, 30], [30, 10]]
