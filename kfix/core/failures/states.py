"""The distinct states of a cluster's partitions, numbered for the store: equal ones have equal fates in any failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kfix.core.derive.casefile import CaseFile
from kfix.core.failures.masks import masks_of
from kfix.core.failures.rules import PartitionMasks
from kfix.core.failures.scenarios import unknown_of
from kfix.core.snapshot.snapshot import TopicPartition

#: Bits of a mask: a signed 64-bit integer without its sign.
MOST_BROKERS: Final = 63
#: Replicas whose place in the assignment a stored state keeps.
MOST_REPLICAS: Final = 5
#: The number of the state of partitions without a readable leader and ISR.
UNJUDGED: Final = -1


@dataclass(frozen=True, slots=True)
class ClusterStates:
    """The states by number, and the facts about the cluster that a failure needs.

    `bits` are the bits of all brokers. `numbers` lacks partitions that are being deleted; UNJUDGED are partitions of
    which no source has both leader and ISR. `controller_bit` is NONE without a live controller, or if it is unknown.
    With `elects_by_record` a new controller knows ZooKeeper's record only. `lacks` are sentences: what the snapshot
    does not show, each of which could change the fate of any partition.
    """

    bits: Mapping[int, int]
    live: frozenset[int]
    states: tuple[PartitionMasks, ...]
    numbers: Mapping[TopicPartition, int]
    controller_bit: int
    elects_by_record: bool
    lacks: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Returns whether the states fit into 64-bit columns."""
        return len(self.bits) <= MOST_BROKERS and all(len(s.order) <= MOST_REPLICAS for s in self.states)


def states_of(case: CaseFile) -> ClusterStates | None:
    """Returns the states; None if no source shows which brokers are alive: then no failure can be judged.

    The numbers depend neither on the names of topics nor on the number of partitions.
    """
    if not case.live:
        return None
    masks = masks_of(case, case.live)
    states = tuple(sorted(masks.rows))
    numbers = {tp: number for number, row in enumerate(states) for tp in masks.rows[row]}
    numbers |= dict.fromkeys(masks.unjudged, UNJUDGED)
    return ClusterStates(
        masks.bits, case.live, states, numbers, masks.controller_bit, case.zookeeper_rules, tuple(unknown_of(case))
    )
