"""Members that hold a rebalance join as Kafka's own schema encodes it, dynamic and static ones."""

import pytest
from kafka.protocol.consumer import group

from kfix.core.kafka.connection import _frame
from kfix.lab.clients import membership
from tests.wire import Writer


@pytest.mark.parametrize(("instance", "version"), [("", 2), ("worker-7", 5)])
def test_the_join_has_the_bytes_of_kafkas_own_schema(instance, version):
    subscription = Writer().i16(0).array(("orders",), Writer.string).blob(b"").done()
    protocol = group.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=subscription)
    theirs = group.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=6000,
        rebalance_timeout_ms=1_800_000,
        member_id="",
        group_instance_id=instance or None,
        protocol_type="consumer",
        protocols=[protocol],
    )
    theirs.with_header(correlation_id=7, client_id="kfix")
    ours = _frame(membership._join("g", "orders", 6000, instance), 7)
    assert ours == bytes(theirs.encode(version=version, header=True, framed=True))
