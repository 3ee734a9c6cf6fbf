"""A small KRaft cluster in memory: brokers, and one controller that is none of them."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.reading import BrokerRegistration, ChangeResult, RegisteredAs, ResourceKind
from kfix.core.snapshot.snapshot import Mode, TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.configs import MIN_ISR
from kfix.heal.memory.kraft import KraftController
from kfix.heal.memory.moves import Moves
from kfix.heal.memory.state import ManualClock

_BY_COORDINATORS = frozenset({"commit_offsets", "evict_member", "abort_transaction", "delete_key"})


class MemoryKraftCluster(MemoryCluster):
    """As `MemoryCluster`, on KRaft. `faults.unreadable["quorum"]` is the error of a quorum that does not answer.

    `fetched` is {dead broker: seconds since its last fetch} for the brokers that the active controller still knows.
    `voters` are the brokers that are controllers, too; `cut` are fenced brokers that run. Without `reports_fenced` no
    request shows which brokers are registered, as before Kafka 4.0; without `reports_eligible` none shows who may lead.
    """

    release = (4, 3)
    reports_fenced = True
    reports_eligible = True

    def __init__(self, cluster_id: str = "memory-cluster", *, clock: ManualClock | None = None) -> None:
        super().__init__(cluster_id, clock=clock)
        self.settings.controllers = {}
        self.kraft = KraftController(self.records, self.brokers, self.logs, self.settings)
        self.kraft.prepare()
        self.fetched: dict[int, float] = {}
        self.voters: set[int] = set()
        self.cut: set[int] = set()
        self.hidden = ""
        self.control = self.kraft
        self.moves = Moves(self.kraft)
        self.lock.missing = "a KRaft cluster offers no lock that ends with its holder"

    @property
    def mode(self) -> Mode:
        return Mode.KRAFT

    def eligible(self, tp: TopicPartition) -> EligibleLeaders | None:
        return self.kraft.eligible(tp) if self.reports_eligible else None

    def shut_down(self, *brokers: int) -> None:
        """Stops brokers as SIGTERM does: they stay eligible when they return."""
        for broker in brokers:
            self.kill(broker)
            self.kraft.killed.discard(broker)

    def registration(self, broker: int) -> BrokerRegistration:
        """A dead broker stays registered, fenced."""
        self._reading("registration", recorded=True)
        known = self.brokers.get(broker)
        state = RegisteredAs.ABSENT if known is None else RegisteredAs.FENCED
        if known is not None and known.alive:
            state = RegisteredAs.ALIVE
        elif not self.reports_fenced:
            state = RegisteredAs.UNREPORTED
        return BrokerRegistration(
            state=state,
            voter=broker in self.voters,
            answers=known is not None and (known.answers or broker in self.cut),
            fetched=0.2 if state is RegisteredAs.ALIVE else self.fetched.get(broker),
            replicas=sum(broker in a.replicas for a in self.records.assignments.values()),
            hidden=self.hidden,
        )

    def _unregister(self, broker: int) -> ChangeResult:
        """Unregisters even a live broker, as Kafka does; the cluster no longer knows it."""
        if broker not in self.brokers:
            return ChangeResult(102, "BROKER_ID_NOT_REGISTERED", f"Broker ID {broker} is not currently registered")
        self.remove_broker(broker)
        return ChangeResult(0, "NONE")

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
        """Returns why a change is not sent; changes that a coordinator carries out need no controller."""
        if method in _BY_COORDINATORS or "quorum" not in self.faults.unreadable:
            return None
        return ChangeResult(41, "NOT_SENT", f"quorum: {self.faults.unreadable['quorum']}")
