"""A robust trend and the day on which it reaches a limit, without a model of what grows.

The slope is Theil and Sen's: the median of the slopes between all pairs of points, which a quarter of wrong points does
not move far. Its 90 % interval is Sen's: the sorted slopes C/2 places on either side of the middle, with C = 1.645
times the standard deviation of Kendall's S. It assumes that deviations from the trend are independent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from typing import Final

#: The fewest points of a trend, and the most that are used; more are thinned evenly.
FEWEST: Final = 7
MOST: Final = 45
#: The fewest days between the first and the last point.
SHORTEST: Final = 5.0
#: Days beyond which nothing is forecast.
HORIZON: Final = 730
_NORMAL_90: Final = 1.645
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class RobustSlope:
    """The slope per unit of x, the ends of its 90 % interval, and the number of points."""

    slope: float
    low: float
    high: float
    points: int


@dataclass(frozen=True, slots=True)
class LimitForecast:
    """When a limit is reached: at the slope, at the earliest and at the latest; None: not within the horizon."""

    reached: bool
    expected: date | None
    earliest: date | None
    latest: date | None


def slope_of(points: Sequence[Point]) -> RobustSlope | None:
    """Returns the trend of the points (x in days, y), in any order.

    Returns None if there are fewer than seven points, or if they are within five days: that shows no trend.
    """
    known = sorted(set(points))
    if len(known) < FEWEST or known[-1][0] - known[0][0] < SHORTEST:
        return None
    used = thinned(known, MOST)
    slopes = sorted((y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(used) for x2, y2 in used[i + 1 :] if x2 > x1)
    n, all_ = len(used), len(slopes)
    spread = _NORMAL_90 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(math.floor((all_ - spread) / 2), 0)
    high = min(math.ceil((all_ + spread) / 2), all_ - 1)
    return RobustSlope(median(slopes), slopes[low], slopes[high], len(known))


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Returns at most `most` of the points, evenly chosen, including the first and the last."""
    if len(points) <= most:
        return list(points)
    return [points[round(i * (len(points) - 1) / (most - 1))] for i in range(most)]


def limit_forecast(value: float, trend: RobustSlope | None, limit: float, today: date) -> LimitForecast:
    """Returns when today's `value` reaches the limit."""
    if value >= limit:
        return LimitForecast(True, today, today, today)
    if trend is None:
        return LimitForecast(False, None, None, None)

    def reached_on(slope: float) -> date | None:
        if slope <= 0 or (limit - value) / slope > HORIZON:
            return None
        return today + timedelta(days=math.ceil((limit - value) / slope))

    return LimitForecast(False, reached_on(trend.slope), reached_on(trend.high), reached_on(trend.low))
