"""Trends: exact where points are exact, the same in any order and unit, hardly moved by a few wrong points."""

import random
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.derive.growth import FEWEST, HORIZON, MOST, RobustSlope, limit_forecast, slope_of, thinned

TODAY = date(2026, 3, 1)
VALUES = st.lists(st.integers(0, 10_000), min_size=FEWEST, max_size=60)


def points(values):
    return [(float(x), float(y)) for x, y in enumerate(values)]


@given(st.integers(-50, 50), st.integers(0, 10_000), st.integers(FEWEST, 120))
@settings(max_examples=40, deadline=None)
def test_a_straight_line_has_its_slope_and_no_doubt(slope, start, n):
    found = slope_of(points(start + slope * x for x in range(n)))
    assert found == RobustSlope(slope, slope, slope, n)


@given(VALUES, st.integers(1, 9), st.integers(-500, 500), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_slope_is_within_its_interval_and_follows_scale_and_shift(values, scale, shift, rng):
    one = slope_of(points(values))
    assert one.low <= one.slope <= one.high
    assert one.points == len(values)
    shuffled = points(values)
    rng.shuffle(shuffled)
    assert slope_of(shuffled) == one
    other = slope_of(points(scale * y + shift for y in values))
    assert (other.slope, other.low, other.high) == pytest.approx((scale * one.slope, scale * one.low, scale * one.high))


def test_a_few_wrong_points_hardly_move_it():
    rng = random.Random("wrong points")
    values = [1000 + 5 * x for x in range(40)]
    for place in rng.sample(range(40), 8):
        values[place] = rng.choice((0, 100_000))
    found = slope_of(points(values))
    assert 4 <= found.slope <= 6
    assert found.low <= 5 <= found.high


def test_the_interval_of_noise_holds_the_true_slope_in_nine_of_ten_cases():
    rng = random.Random("noise")
    hits = 0
    for _ in range(200):
        found = slope_of(points(100 + 2 * x + rng.gauss(0, 20) for x in range(30)))
        hits += found.low <= 2 <= found.high
    assert 0.84 <= hits / 200 <= 0.97


@pytest.mark.parametrize(
    "known", [[], points(range(FEWEST - 1)), [(x / 10, float(x)) for x in range(FEWEST)]], ids=["none", "few", "short"]
)
def test_too_few_points_are_no_trend(known):
    assert slope_of(known) is None


@given(VALUES, st.integers(2, MOST))
@settings(max_examples=30, deadline=None)
def test_thinning_keeps_the_ends(values, most):
    kept = thinned(points(values), most)
    assert (kept[0], kept[-1]) == (points(values)[0], points(values)[-1])
    assert len(kept) == min(most, len(values))
    assert kept == sorted(set(kept))


def test_the_limit_is_reached_in_the_order_of_the_slopes():
    found = limit_forecast(3000, RobustSlope(10, 5, 20, 30), 4000, TODAY)
    assert (found.reached, found.expected) == (False, TODAY + timedelta(days=100))
    assert (found.earliest, found.latest) == (TODAY + timedelta(days=50), TODAY + timedelta(days=200))


@pytest.mark.parametrize("slope", [0.0, -3.0, 0.001])
def test_what_does_not_grow_reaches_no_limit_within_two_years(slope):
    found = limit_forecast(3000, RobustSlope(slope, -5, 1000 / (HORIZON + 1), 30), 4000, TODAY)
    assert (found.reached, found.expected, found.earliest, found.latest) == (False, None, None, None)


def test_a_limit_that_is_met_needs_no_trend_and_one_without_a_trend_has_no_day():
    assert limit_forecast(4000, None, 4000, TODAY).reached
    assert limit_forecast(3999, None, 4000, TODAY).expected is None
