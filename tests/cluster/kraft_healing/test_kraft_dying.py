"""A preferred replica that dies right before its election, on KRaft: Kafka 4.3.1 with a controller apart."""

from tests.cluster.test_dying_replicas import dies_before_its_election


def test_a_preferred_replica_that_dies_right_before_its_election_is_not_led_by_another(operator, cluster):
    dies_before_its_election(operator, cluster)
