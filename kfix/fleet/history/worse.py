"""When a finding counts as worse: measured against what was last reported, not against the previous audit only.

A finding that grows a little each day would never be worse than the day before.
"""

from __future__ import annotations


def is_worse(rank: int, partitions: int, before_rank: int, baseline: int) -> bool:
    """Returns whether the severity rose, or there are more than half as many partitions again as in the baseline.

    `before_rank` is the severity in the previous audit; `baseline` the number of partitions when the finding was last
    called new or worse.
    """
    return rank > before_rank or 2 * partitions > 3 * baseline


def next_baseline(rank: int, partitions: int, before_rank: int, baseline: int) -> int:
    """Returns the baseline for the next audit: today's partitions if the finding is worse, else as before."""
    return partitions if is_worse(rank, partitions, before_rank, baseline) else baseline
