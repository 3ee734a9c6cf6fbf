from kfix.adapters.kafka.codec import ByteReader, Writer
from kfix.lab.clients.transactions import find_coordinator, init_producer_id, producer_error


def test_the_coordinator_of_a_transactional_id_is_asked_for_by_its_kind():
    assert find_coordinator("writer").body == b"\x00\x06writer\x01"


def test_a_producer_asks_for_its_id_with_a_timeout():
    assert init_producer_id("writer").body == b"\x00\x06writer\x00\x00\xea\x60"


def test_the_error_of_the_answer_is_behind_the_throttle_time():
    assert producer_error(ByteReader(Writer().i32(0).done() + b"\x00\x0f")) == 15
