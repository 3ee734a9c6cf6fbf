from kfix.core.kafka.codec import ByteReader
from kfix.lab.clients.transactions import init_producer_id
from tests.wire import Writer


def test_a_producer_asks_for_its_id_with_a_timeout():
    assert init_producer_id("writer").body == b"\x00\x06writer\x00\x00\xea\x60"


def test_the_error_of_the_answer_is_behind_the_throttle_time():
    answer = Writer().i32(0).i16(15).i64(-1).i16(-1).done()
    assert init_producer_id("writer").decode(ByteReader(answer)) == 15
