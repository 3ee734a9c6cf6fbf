"""Log directories as people read them."""

from kfix.core.derive.divergence import compare
from kfix.core.disk.model import LogDir, Replica
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.inspect.inspection import Inspection
from kfix.inspect.logdir import inspection_lines

ORDERS = TopicPartition("orders", 0)


def test_brokers_are_named_in_numerical_order() -> None:
    dirs = tuple(
        LogDir(
            f"d{broker}", broker, "c", clean=True, replicas=(Replica(ORDERS, broker, f"d{broker}", ""),), oddities=()
        )
        for broker in (10, 2)
    )
    lines = [line.text for line in inspection_lines(Inspection(dirs, tuple(compare(dirs))))]
    assert "orders-0 on brokers 2, 10: empty at offset 0, 0 bytes, epochs none" in lines
