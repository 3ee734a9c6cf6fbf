"""Brokers whose defaults differ: what a topic does not set itself is the default of the broker that leads it."""

import pytest
from confluent_kafka import admin

from kfix.core.snapshot.snapshot import TopicPartition
from tests.waiting import wait_until

KEY, TOPIC = "min.insync.replicas", "ledger"


def set_default(lab, broker, value):
    how = admin.AlterConfigOpType.DELETE if value is None else admin.AlterConfigOpType.SET
    entry = admin.ConfigEntry(KEY, value, incremental_operation=how)
    asked = admin.ConfigResource(admin.ResourceType.BROKER, str(broker), incremental_configs=[entry])
    client = admin.AdminClient({"bootstrap.servers": lab.bootstrap_servers})
    for future in client.incremental_alter_configs([asked]).values():
        future.result(10)


@pytest.mark.parametrize("strict", [1, 2])
def test_a_partition_refuses_acks_all_by_the_default_of_its_leader(kfix, cluster, strict):
    cluster.access.create_topic(TOPIC, [[1, 2, 3], [2, 1, 3]], {})
    set_default(cluster.lab, strict, "3")
    try:
        cluster.lab.kill(3)
        both = [TopicPartition(TOPIC, number) for number in (0, 1)]
        wait_until(lambda: all(set(cluster.access.state(*tp).isr) == {1, 2} for tp in both), "ISR [1, 2]", 30)
        errors = {number: cluster.access.produce_error(TOPIC, number, "all") for number in (0, 1)}
        assert {number for number, error in errors.items() if error} == {strict - 1}, errors
        found = kfix.diagnose().findings["KFX301"]
        assert found["partitions"] == [f"{TOPIC}-{strict - 1}"], found
    finally:
        set_default(cluster.lab, strict, None)
        cluster.lab.restart(3)
        cluster.access.delete_topic(TOPIC)
        wait_until(lambda: TOPIC not in cluster.access.topics(), "the topic deleted", 30)
