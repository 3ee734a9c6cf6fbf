"""Which offsets partitions their coordinator gave up: KFX118 reports them, KFX106 other silent coordinators."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import CoordinatorProbe, TopicPartition

NOT_COORDINATOR = 16
#: The feature of the coordinator that loads a partition as a whole, or not at all (KIP-848).
_FEATURE = "group.version"


def new_coordinator(case: CaseFile) -> bool:
    """Returns whether the cluster has the group coordinator of KIP-848."""
    quorum = case.snapshot.quorum
    return quorum is not None and quorum.features.get(_FEATURE, 0) >= 1


def gave_up(case: CaseFile) -> Iterator[CoordinatorProbe]:
    """Yields the probes that the leader of their partition refuses, although every broker names it as coordinator."""
    if not new_coordinator(case):
        return
    for probe in case.probes:
        views = case.views_of(TopicPartition(OFFSETS_TOPIC, probe.partition)).values()
        leads = bool(views) and all(view.leader == probe.coordinator for view in views)
        if probe.find_error == 0 and probe.fetch_error == NOT_COORDINATOR and leads:
            yield probe
