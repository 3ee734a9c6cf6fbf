"""Between two snapshots only what is proved is drawn as known."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kfix.core.events import ABSENT, Observation, SpanCertainty
from kfix.incident.timeline.spans import spans


def drawn(*known, begin=0.0, end=100.0):
    return [(s.begin, s.end, s.value, s.proof.value) for s in spans(known, begin, end)]


def test_nothing_known_is_unknown():
    assert drawn() == [(0.0, 100.0, None, "unknown")]


def test_an_unchanged_version_proves_what_held_between():
    same = Observation(10.0, 5.0, 1, 7, (1, 2), 9, until=60.0)
    assert drawn(same) == [(0.0, 5.0, None, "unknown"), (5.0, 60.0, 1, "known"), (60.0, 100.0, None, "unknown")]


def test_the_next_version_with_its_time_leaves_no_gap():
    before, after = Observation(10.0, 5.0, 1, 7, (1, 2), 9), Observation(60.0, 40.0, 2, 8, (2,), 10)
    assert drawn(before, after) == [
        (0.0, 5.0, None, "unknown"), (5.0, 40.0, 1, "known"), (40.0, 60.0, 2, "known"), (60.0, 100.0, None, "unknown"),
    ]  # fmt: skip


def test_versions_that_were_jumped_over_are_a_gap():
    before, after = Observation(10.0, 5.0, 1, 7, (1, 2), 9), Observation(60.0, 40.0, 2, 9, (2,), 12)
    assert (10.0, 40.0, None, "unknown") in drawn(before, after)


def test_the_same_again_after_unseen_writes_is_never_drawn_as_constant():
    before, after = Observation(10.0, 5.0, 1, 7, (1, 2), 9), Observation(60.0, 40.0, 1, 7, (1, 2), 11)
    assert (10.0, 40.0, 1, "same") in drawn(before, after)


def test_views_without_versions_prove_no_isr_between():
    before, after = Observation(10.0, None, 1, 7, (1, 2)), Observation(60.0, None, 1, 7, (1,))
    middle = [s for s in spans((before, after), 0.0, 100.0) if s.begin == 10.0 and s.end == 60.0]
    assert [(s.value, s.isr, s.proof) for s in middle] == [(1, None, SpanCertainty.SAME)]


def test_an_absent_broker_was_not_proved_absent_between():
    gone = Observation(50.0, None, -1, ABSENT, None)
    again = Observation(70.0, None, -1, ABSENT, None)
    assert (50.0, 70.0, -1, "same") in drawn(gone, again)


def test_a_line_of_a_log_fills_the_gap_between_two_snapshots():
    before, after = Observation(10.0, 5.0, 1, 7, (1, 2), 9), Observation(60.0, 50.0, 2, 9, (2,), 11)
    line = Observation(30.0, 30.0, -1, 8, (2,), 10)
    assert [value for _, _, value, _ in drawn(before, after, line)] == [None, 1, -1, 2, None]


def test_a_lagging_server_does_not_turn_time_back():
    new, old = Observation(20.0, 5.0, 2, 8, (2,), 10), Observation(30.0, 1.0, 1, 7, (1,), 9)
    assert 1 not in [v for b, _, v, _ in drawn(new, old) if b >= 5.0]


def test_beliefs_of_brokers_are_not_mixed_into_what_the_record_proves():
    record = Observation(10.0, 5.0, 1, 7, (1, 2), 9, until=60.0)
    belief = Observation(30.0, None, 3, 6, (3,))
    assert drawn(record, belief) == drawn(record)


KNOWN = st.builds(
    Observation,
    at=st.floats(-50, 150),
    since=st.none() | st.floats(-50, 150),
    leader=st.integers(-2, 3),
    epoch=st.integers(-1, 5),
    isr=st.none() | st.lists(st.integers(1, 3), max_size=3).map(tuple),
    version=st.integers(-1, 6),
    until=st.floats(-50, 150),
)


@given(st.lists(KNOWN, max_size=12))
def test_whatever_is_known_the_spans_lie_in_the_window_and_in_order(known):
    made = spans(known, 0.0, 100.0)
    assert made
    for span in made:
        assert 0.0 <= span.begin <= span.end <= 100.0
        assert (span.proof is SpanCertainty.UNKNOWN) == (span.value is None) or span.value == -2
    assert all(a.end <= b.begin + 1e-9 for a, b in pairwise(made))
