"""A hanging transaction is found, ended with the outcome of its coordinator, and read with read_committed."""

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.cluster.remedy import Operator
from tests.matrix.cases import PLAIN
from tests.matrix.cell import spec_of
from tests.waiting import wait_until

#: Records before and after the one of the transaction.
_AROUND = 40


def read_committed(bootstrap, topic):
    """The values that a consumer with isolation.level=read_committed gets, in order."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": "read_committed"}
        | {"enable.partition.eof": True, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values = []
    try:
        while (message := consumer.poll(10)) is not None and message.error() is None:
            values.append(message.value())
        return values
    finally:
        consumer.close()


def hanging(operator):
    return wait_until(lambda: operator.diagnose().findings.get("KFX122"), "the transaction is found", 30)


@pytest.mark.parametrize(
    "line", [pytest.param(each, marks=pytest.mark.xdist_group(each)) for each in ("2.7.1-zk", "4.3.1-kraft")]
)
def test_a_committed_transaction_without_its_marker_is_committed_and_read(labs, line, tmp_path):
    lab = labs.whole(spec_of(line, PLAIN))
    operator = Operator(lab, tmp_path)
    broken = lab.break_("transaction-marker-lost")
    assert b"transaction" not in read_committed(lab.bootstrap_servers, broken.topic)
    found = hanging(operator)
    assert (found["severity"], found["blocked"]["groups"]) == ("critical", [broken.group])
    assert found["facts"]["transactional_id"] == broken.details["transactional_id"]
    planned = operator.plan("end-hanging-transaction")
    [step] = planned.plan["steps"]
    assert (step["args"]["outcome"], step["gate"]) == ("commit", "typed")
    operator.healed(planned)
    values = read_committed(lab.bootstrap_servers, broken.topic)
    assert (len(values), values.count(b"transaction")) == (_AROUND + 1, 1)
    assert "KFX122" not in operator.diagnose().findings
