"""Combines the metadata of several brokers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kfix.core.snapshot.snapshot import BrokerView, Mode


def majority_controller(views: Mapping[int, BrokerView], mode: Mode) -> int | None:
    """Returns the controller that most brokers report, or None. On KRaft, returns any broker.

    A KRaft broker reports a random live broker as controller (docs/facts/kraft.md).
    """
    votes = Counter(v.controller for v in views.values() if v.controller >= 0)
    if not votes:
        return None
    return votes.most_common(1)[0][0] if mode is not Mode.KRAFT else next(iter(views))
