"""Which controller the lab takes for the active one, over real sockets."""

import struct

from kfix.core.kafka.kraft_messages import DESCRIBE_QUORUM
from kfix.lab.clients.asking_controllers import active_controller
from tests.listening import listening
from tests.wire import Writer


def replicas(w, ends):
    w.compact_array(list(ends.items()), lambda each, pair: each.i32(pair[0]).i64(pair[1]).no_tags())


def controller(partition_error):
    """Answers ApiVersions, then DescribeQuorum with this error of the partition."""
    w = Writer().no_tags().i16(0).uvarint(2).compact_string("__cluster_metadata").uvarint(2)
    w.i32(0).i16(partition_error).i32(101).i32(7).i64(400)
    replicas(w, {100: 399, 101: 400})
    replicas(w, {1: 398})
    quorum = w.no_tags().no_tags().no_tags().done()
    versions = Writer().i16(0).i32(1).i16(DESCRIBE_QUORUM).i16(0).i16(2).done()

    def talk(line):
        for body in (versions, quorum):
            asked = line.recv(4096)
            line.sendall(struct.pack(">i", 4 + len(body)) + asked[8:12] + body)

    return talk


def test_only_the_active_controller_tells_the_quorum():
    with listening(controller(6)) as first, listening(controller(0)) as second:
        active = active_controller({100: str(first), 101: str(second)})
        assert (active.leader, active.epoch, active.high_watermark) == (101, 7, 400)
        assert (active.log_ends, active.followers) == ({100: 399, 101: 400}, {1: 398})
        assert active_controller({100: str(first), 7: "127.0.0.1:1"}) is None
