"""A small KRaft cluster in memory: brokers, and one active controller that is none of them."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.errors import UnreachableError
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.reading import (
    BrokerRegistration,
    ChangeResult,
    NodeLevels,
    NodeName,
    NodeRole,
    RegisteredAs,
    ResourceKind,
)
from kfix.core.snapshot.recovery import AppliedMetadata, CopyRead, NewLog
from kfix.core.snapshot.snapshot import NO_LEADER, Mode, PartitionView, TopicPartition
from kfix.core.snapshot.voters import Joining, QuorumVoters
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.configs import MIN_ISR
from kfix.heal.memory.controller import MemoryController
from kfix.heal.memory.moves import Moves
from kfix.heal.memory.parts import SUPPORTED
from kfix.heal.memory.state import ElectionState, ManualClock

# The active controller of an in-memory KRaft cluster, with or without eligible leader replicas (docs/facts/kraft.md).
#
# It has no memory besides the record. A leader is elected as soon as a candidate is alive, a reassignment to the same
# replicas changes nothing, and an empty ISR leaves the eligible and the last known leaders.

#: The node id of the only controller, which is no broker.
CONTROLLER = 100
_OK = ChangeResult(0, "NONE")
_NO_CANCEL = "Unable to revert partition assignment: it would require an unclean leader election"


class KraftController(MemoryController):
    """`keeps_eligible`: whether partitions have an ELR; `killed`: the brokers that did not shut down."""

    keeps_eligible = True
    merges_moves = True

    def prepare(self) -> None:
        self.elr: dict[TopicPartition, tuple[int, ...]] = {}
        self.last_known: dict[TopicPartition, tuple[int, ...]] = {}
        self.killed: set[int] = set()
        self.records.controller = CONTROLLER
        self.records.epoch = 1

    def eligible(self, tp: TopicPartition) -> EligibleLeaders:
        return EligibleLeaders(self.elr.get(tp, ()), self.last_known.get(tp, ()))

    def fail_over_to(self, broker: int | None) -> None:  # noqa: ARG002 - brokers are no controllers here
        self.inform(self.records.states)

    def created(self, tp: TopicPartition) -> None:
        self.remember(tp, ElectionState.ONLINE)
        self.inform((tp,))

    def started(self, broker: int) -> None:
        """Makes a broker that was killed ineligible once it registers again."""
        for tp in list(self.records.states):
            if broker in self.killed and broker in self.elr.get(tp, ()):
                self.elr[tp] = tuple(b for b in self.elr[tp] if b != broker)
            self._elect_if_possible(tp)
        self.killed.discard(broker)
        self.inform(self.memory)

    def died(self, *brokers: int) -> None:
        self.killed |= set(brokers)
        for broker in brokers:
            self._take_out(broker)
        self.inform(self.memory)

    def leave_isr(self, tp: TopicPartition, broker: int) -> None:
        state, order = self.records.states[tp], self.records.assignments[tp].replicas
        if broker not in state.isr:
            return
        left = tuple(b for b in state.isr if b != broker)
        leader = state.leader
        if leader == broker or leader not in self._online(tp):
            leader = next((b for b in order if b in left and b in self._online(tp)), NO_LEADER)
        isr = left
        if self.keeps_eligible and len(left) < self._min_isr(tp):
            self.elr[tp] = tuple(dict.fromkeys((*self.elr.get(tp, ()), broker)))
            if not left:
                self.last_known[tp] = (broker,)
        elif not left:
            isr = state.isr
        self._write(tp, leader, isr)

    def remember(self, tp: TopicPartition, phase: ElectionState) -> None:
        super().remember(tp, phase)
        if len(self.records.states[tp].isr) >= self._min_isr(tp):
            self.forget(tp)

    def forget(self, tp: TopicPartition) -> None:
        """Clears the ELR, as a change of min.insync.replicas does for every partition of the topic in any state."""
        self.elr.pop(tp, None)
        self.last_known.pop(tp, None)

    def unclean_enabled(self, topic: str | None = None) -> None:
        """Does nothing: Kafka applies it only every five minutes, and when a broker registers."""

    def elect_now(self, tp: TopicPartition, *, allow_unclean: bool) -> bool:
        """Elects; an unclean election takes the first live replica of the assignment, whoever led last."""
        if self._elect_if_possible(tp):
            return True
        survivor = next((b for b in self.records.assignments[tp].replicas if b in self._online(tp)), None)
        if not allow_unclean or survivor is None:
            return False
        self.forget(tp)
        self.lead(tp, survivor, (survivor,))
        return True

    def elect(self, tp: TopicPartition, *, unclean: bool) -> ChangeResult:
        if tp not in self.memory:
            return ChangeResult(3, "UNKNOWN_TOPIC_OR_PARTITION")
        state, preferred = self.records.states[tp], self.records.assignments[tp].replicas[0]
        led = state.leader in self.live
        if unclean:
            if led:
                return ChangeResult(84, "ELECTION_NOT_NEEDED")
            return _OK if self.elect_now(tp, allow_unclean=True) else ChangeResult(83, "ELIGIBLE_LEADERS_NOT_AVAILABLE")
        if led and state.leader == preferred:
            return ChangeResult(84, "ELECTION_NOT_NEEDED")
        if preferred in self._online(tp) and preferred in state.isr:
            self.lead(tp, preferred, state.isr)
            return _OK
        return ChangeResult(80, "PREFERRED_LEADER_NOT_AVAILABLE")

    def takes(self, broker: int) -> bool:
        """Whether a reassignment may add a replica on this broker: a fenced one may, an unknown one may not."""
        return broker in self.brokers

    def reordered(self, tp: TopicPartition, target: tuple[int, ...]) -> None:  # noqa: ARG002
        self.inform((tp,))

    def move_began(self, tp: TopicPartition) -> None:
        self.inform((tp,))

    def move_leader_if_required(self, tp: TopicPartition, target: tuple[int, ...]) -> None:
        state = self.records.states[tp]
        if state.leader in target:
            return
        heir = next((b for b in target if b in state.isr and b in self._online(tp)), None)
        if heir is not None:
            self._write(tp, heir, tuple(b for b in state.isr if b in target))

    def refuses_cancel(self, tp: TopicPartition, origin: tuple[int, ...]) -> ChangeResult | None:
        """Returns no refusal with unclean elections allowed: Kafka deletes the only live copy (KAFKA-14424)."""
        if set(origin) & set(self.records.states[tp].isr) & self.live or self._unclean_enabled(tp):
            return None
        return ChangeResult(39, "INVALID_REPLICA_ASSIGNMENT", _NO_CANCEL)

    def _elect_if_possible(self, tp: TopicPartition) -> bool:
        state, order, online = self.records.states[tp], self.records.assignments[tp].replicas, self._online(tp)
        if state.leader in online:
            return False
        elr, last = self.elr.get(tp, ()), self.last_known.get(tp, ())
        heirs = [b for b in order if b in online and b in (*state.isr, *elr)]
        if not heirs and not state.isr and not elr:
            heirs = [b for b in last if b in online]
        if not heirs:
            return False
        isr = tuple(b for b in state.isr if b in online) or (heirs[0],)
        self.elr[tp] = tuple(b for b in elr if b not in isr)
        self.last_known.pop(tp, None)
        self._write(tp, heirs[0], isr)
        self.inform((tp,))
        return True

    def _write(self, tp: TopicPartition, leader: int, isr: tuple[int, ...]) -> None:
        """Writes the state; only another leader, or none, makes another leader epoch."""
        state = self.records.states[tp]
        self.records.write_state(tp, leader, state.leader_epoch + (leader != state.leader), isr)
        self.remember(tp, ElectionState.ONLINE if leader != NO_LEADER else ElectionState.OFFLINE)

    def _min_isr(self, tp: TopicPartition) -> int:
        asked = next(iter(self.brokers.values()))
        return int(self.settings.of_topic(tp.topic, asked).get(MIN_ISR, "1"))


_WITHOUT_CONTROLLER = frozenset(
    {"commit_offsets", "evict_member", "abort_transaction", "delete_key", "write_metadata_log"}
)


class MemoryKraftCluster(MemoryCluster):
    """As `MemoryCluster`, on KRaft. `faults.unreadable["quorum"]` is the error of a quorum that does not answer.

    `fetched` is {dead broker: seconds since its last fetch} for the brokers that the active controller still knows.
    `combined` are the brokers that are controllers, too; `cut` are fenced brokers that run. Without `reports_fenced` no
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
        self.combined: set[int] = set()
        self.cut: set[int] = set()
        self.hidden = ""
        self.applied_offset = 99
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
        self.being_read("registration", recorded=True)
        known = self.brokers.get(broker)
        state = RegisteredAs.ABSENT if known is None else RegisteredAs.FENCED
        if known is not None and known.alive:
            state = RegisteredAs.ALIVE
        elif not self.reports_fenced:
            state = RegisteredAs.UNREPORTED
        return BrokerRegistration(
            state=state,
            voter=broker in self.combined,
            answers=known is not None and (known.answers or broker in self.cut),
            fetched=0.2 if state is RegisteredAs.ALIVE else self.fetched.get(broker),
            replicas=sum(broker in a.replicas for a in self.records.assignments.values()),
            hidden=self.hidden,
        )

    def applied(self) -> AppliedMetadata:
        self.being_read("applied")
        offsets = {each.id: self.applied_offset if each.answers else -1 for each in self.brokers.values()}
        if not any(each.answers for each in self.brokers.values()):
            raise UnreachableError("no broker answers")
        states = self.records.states
        return AppliedMetadata(
            offsets,
            {
                tp: PartitionView(states[tp].leader, states[tp].leader_epoch, each.replicas, states[tp].isr, ())
                for tp, each in self.records.assignments.items()
            },
        )

    def voters(self) -> QuorumVoters:
        self.being_read("voters", recorded=True)
        return self.quorum.read(self.records.controller or CONTROLLER)

    def _remove_voter(self, node: int, directory: str) -> ChangeResult:
        return self.quorum.remove(node, directory)

    def _add_voter(self, wanted: Joining) -> ChangeResult:
        return self.quorum.add(wanted)

    def metadata_levels(self) -> Mapping[NodeName, NodeLevels]:
        """A dead broker does not answer; without `reports_fenced` it is not known."""
        self.being_read("metadata_levels", recorded=True)
        found = {(NodeRole.BROKER, b.id): b.answers for b in self.brokers.values() if b.alive or self.reports_fenced}
        found |= {(NodeRole.CONTROLLER, node): True for node in self.controllers}
        return {
            name: NodeLevels(self.level, self.levels.get(name[1], SUPPORTED)) if up else NodeLevels(error="refused")
            for name, up in found.items()
        }

    def _raise_level(self, level: int) -> ChangeResult:
        if not self.level <= level <= min(each.supported for each in self.metadata_levels().values()):
            return ChangeResult(95, "INVALID_UPDATE_VERSION", f"metadata.version {level}")
        self.level = level
        return ChangeResult(0, "NONE")

    def _write_log(self, wanted: NewLog) -> ChangeResult:
        """A person starts the controller with it at once, and it leads."""
        if wanted.into in self.disks:
            return ChangeResult(41, "NOT_SENT", f"{wanted.into} exists already")
        self.disks[wanted.into] = CopyRead(
            wanted.into, self.cluster_id, wanted.node, wanted.fence, wanted.end + 1, wanted.fence, voters=(wanted.node,)
        )
        self.faults.unreadable.pop("quorum", None)
        self.records.controller = wanted.node
        return ChangeResult(0, "NONE")

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
        """Returns why a change is not sent; changes of a coordinator, or of a disk, need no controller."""
        if method in _WITHOUT_CONTROLLER or "quorum" not in self.faults.unreadable:
            return None
        return ChangeResult(41, "NOT_SENT", f"quorum: {self.faults.unreadable['quorum']}")
