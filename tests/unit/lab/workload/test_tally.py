from kfix.lab.workload.tally import Tally


def sent(tally, how_many):
    return [tally.sending() for _ in range(how_many)]


def test_a_message_that_was_acknowledged_and_is_nowhere_is_lost():
    tally = Tally()
    for number in sent(tally, 3):
        tally.answered(number, None)
    tally.received(1, 0, 0)
    assert tally.counts().lost is None
    tally.audited({1: {(0, 0)}, 2: {(0, 1)}})
    counts = tally.counts()
    assert (counts.sent, counts.acknowledged, counts.received, counts.waiting, counts.lost) == (3, 3, 1, 2, 1)


def test_a_message_that_failed_and_was_received_all_the_same_is_not_lost():
    tally = Tally()
    [number] = sent(tally, 1)
    tally.answered(number, "REQUEST_TIMED_OUT")
    tally.received(number, 0, 0)
    tally.audited({number: {(0, 0)}})
    assert (tally.counts().failed, tally.counts().lost) == (1, 0)
    assert tally.counts().errors == ("REQUEST_TIMED_OUT x 1",)


def test_a_copy_at_another_offset_is_a_duplicate_and_one_at_the_same_offset_a_redelivery():
    tally = Tally()
    sent(tally, 1)
    for offset in (0, 1, 1):
        tally.received(1, 0, offset)
    assert (tally.counts().received, tally.counts().duplicated, tally.counts().redelivered) == (1, 1, 1)


def test_copies_that_only_the_audit_sees_count_too_for_messages_that_were_received():
    tally = Tally()
    sent(tally, 2)
    tally.received(1, 0, 0)
    tally.audited({1: {(0, 0), (0, 5)}, 2: {(0, 1)}})
    assert (tally.counts().duplicated, tally.counts().received) == (1, 1)


def test_the_age_of_the_last_record_is_unknown_before_the_first():
    tally = Tally()
    assert tally.counts().last_received_age is None
    tally.received(1, 0, 0)
    assert 0 <= tally.counts().last_received_age < 5


def test_all_is_received_when_every_acknowledged_message_is():
    tally = Tally()
    sent(tally, 2)
    tally.answered(1, None)
    assert not tally.all_received()
    tally.received(1, 0, 0)
    assert tally.all_received()
