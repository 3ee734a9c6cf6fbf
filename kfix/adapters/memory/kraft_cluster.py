"""A small KRaft cluster in memory: brokers, and one controller that is none of them."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.adapters.memory.cluster import MemoryCluster
from kfix.adapters.memory.configs import MIN_ISR
from kfix.adapters.memory.kraft import KraftController
from kfix.adapters.memory.moves import Moves
from kfix.adapters.memory.state import ManualClock
from kfix.model.cluster.quorum import EligibleLeaders
from kfix.model.cluster.reading import ChangeResult, ResourceKind
from kfix.model.cluster.snapshot import Mode, TopicPartition

_BY_COORDINATORS = frozenset({"commit_offsets", "evict_member", "abort_transaction", "delete_key"})


class MemoryKraftCluster(MemoryCluster):
    """As `MemoryCluster`, on KRaft. `faults.unreadable["quorum"]` is a quorum that does not answer."""

    def __init__(self, cluster_id: str = "memory-cluster", *, clock: ManualClock | None = None) -> None:
        super().__init__(cluster_id, clock=clock)
        self.kraft = KraftController(self.records, self.brokers, self.logs, self.settings)
        self.kraft.prepare()
        self.control = self.kraft
        self.moves = Moves(self.kraft)
        self.lock.missing = "a KRaft cluster offers no lock that ends with its holder"

    @property
    def mode(self) -> Mode:
        return Mode.KRAFT

    def eligible(self, tp: TopicPartition) -> EligibleLeaders | None:
        return self.kraft.eligible(tp)

    def shut_down(self, *brokers: int) -> None:
        """Stops brokers as SIGTERM does: they stay eligible when they return."""
        for broker in brokers:
            self.kill(broker)
            self.kraft.killed.discard(broker)

    def _alter(self, kind: ResourceKind, name: str, changes: Mapping[str, str | None]) -> ChangeResult:
        result = super()._alter(kind, name, changes)
        if result.accepted and MIN_ISR in changes:
            for tp in self.records.states:
                if kind is not ResourceKind.TOPIC or tp.topic == name:
                    self.kraft.forget(tp)
        return result

    def _reelect(self, epoch_version: int) -> ChangeResult:  # noqa: ARG002
        return ChangeResult(41, "NOT_SENT", "a KRaft cluster has no /controller to delete")

    def _unsent(self, method: str) -> ChangeResult | None:
        """What a coordinator does needs no controller."""
        if method in _BY_COORDINATORS or "quorum" not in self.faults.unreadable:
            return None
        return ChangeResult(41, "NOT_SENT", f"quorum: {self.faults.unreadable['quorum']}")
