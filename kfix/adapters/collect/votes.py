"""What the views of several brokers add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.model.cluster.snapshot import BrokerView, Mode


def offsets_partitions(view: BrokerView) -> int:
    return sum(1 for tp in view.partitions if tp.topic == OFFSETS_TOPIC)


def majority_controller(views: Mapping[int, BrokerView], mode: Mode) -> int | None:
    """In KRaft a broker names a random live broker as controller (kraft-facts 3): any of them will do to ask."""
    votes = Counter(v.controller for v in views.values() if v.controller >= 0)
    if not votes:
        return None
    return votes.most_common(1)[0][0] if mode is not Mode.KRAFT else next(iter(views))
