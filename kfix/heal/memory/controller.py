"""The controller of the in-memory cluster: Kafka's own rules (docs/facts/controller.md).

It acts from its memory, which may differ from ZooKeeper's records; that difference is the cause of a stuck coordinator.
"""

from collections.abc import Iterable

from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import NO_LEADER, PartitionView, TopicPartition
from kfix.heal.memory.configs import UNCLEAN, Settings
from kfix.heal.memory.state import Belief, ElectionState, Logs, MemoryBroker, Records

_OK = ChangeResult(0, "NONE")


class MemoryController:
    """`merges_moves`: whether a reassignment keeps the parts of the present one that it leaves out (Kafka 4.3)."""

    merges_moves = False

    def __init__(self, records: Records, brokers: dict[int, MemoryBroker], logs: Logs, settings: Settings) -> None:
        self.records = records
        self.brokers = brokers
        self.logs = logs
        self.settings = settings
        self.memory: dict[TopicPartition, Belief] = {}

    @property
    def live(self) -> frozenset[int]:
        return frozenset(b.id for b in self.brokers.values() if b.alive)

    def fail_over_to(self, broker: int | None) -> None:
        """Loads all states from ZooKeeper, then elects offline partitions. `None`: no broker is alive to take over."""
        self.memory = {}
        self.records.controller = broker
        if broker is None:
            return
        zxid = self.records.next_zxid()
        self.records.controller_czxid = self.records.epoch_mzxid = zxid
        self.records.elected_ms = self.records.now_ms
        self.records.epoch += 1
        self.records.epoch_version += 1
        for tp, state in self.records.states.items():
            phase = ElectionState.ONLINE if state.leader in self.live else ElectionState.OFFLINE
            self.memory[tp] = Belief(state.leader, state.leader_epoch, state.isr, state.version, phase)
        # The replica state machine starts first: dead replicas leave the ISR before anything is elected.
        for dead in sorted(set(self.brokers) - self.live):
            self._take_out(dead)
        self._elect_offline()
        self.inform(self.memory)

    def started(self, broker: int) -> None:
        """A broker's start elects offline partitions only; a stuck "online" one stays stuck (docs/facts/controller.md).

        The broker that started receives LeaderAndIsr for its replicas; the others receive UpdateMetadata only.
        """
        self._elect_offline()
        self.announce(self.memory)
        for tp, belief in self.memory.items():
            if broker in self.records.assignments[tp].replicas:
                self._lead_or_follow(self.brokers[broker], tp, belief)

    def created(self, tp: TopicPartition) -> None:
        self.remember(
            tp, ElectionState.ONLINE if self.records.states[tp].leader in self.live else ElectionState.OFFLINE
        )
        self.inform((tp,))

    def died(self, *brokers: int) -> None:
        """`onBrokerFailure`: partitions led by dead brokers are found in memory, ISRs are written from ZooKeeper."""
        for belief in self.memory.values():
            if belief.leader in (*brokers, NO_LEADER):
                belief.phase = ElectionState.OFFLINE
        self._elect_offline()
        for broker in brokers:
            self._take_out(broker)
        self.inform(tp for tp in self.memory if not set(brokers).isdisjoint(self.records.assignments[tp].replicas))
        self.announce(self.memory)

    def poked(self, tp: TopicPartition) -> None:
        """`processIsrChangeNotification`: reads the state again and sends UpdateMetadata, but no LeaderAndIsr."""
        self.remember(tp, self.memory[tp].phase)
        self.announce((tp,))

    def unclean_enabled(self, topic: str | None = None) -> None:
        """Enables unclean elections on a topic, or with None on the controller: elects offline partitions at once.

        It has no effect in the stuck state, whose phase is "online" (KafkaController.scala:1290).
        """
        for tp, belief in self.memory.items():
            if belief.phase is ElectionState.OFFLINE and topic in (None, tp.topic):
                self.elect_now(tp, allow_unclean=self._unclean_enabled(tp))

    def _online(self, tp: TopicPartition) -> frozenset[int]:
        return frozenset(b for b in self.live if tp not in self.brokers[b].offline)

    def _take_out(self, broker: int) -> None:
        for tp in list(self.records.states):
            if broker in self.records.assignments[tp].replicas:
                self.leave_isr(tp, broker)

    def leave_isr(self, tp: TopicPartition, broker: int) -> None:
        """`removeReplicasFromIsr`, the only writer of leader -1. It does not change the partition's phase."""
        state = self.records.states[tp]
        if broker in state.isr:
            leader = NO_LEADER if state.leader == broker else state.leader
            isr = state.isr if len(state.isr) == 1 else tuple(b for b in state.isr if b != broker)
            self.records.write_state(tp, leader, state.leader_epoch + 1, isr)
        belief = self.memory.get(tp)
        if belief is not None:
            self.remember(tp, belief.phase)

    def _elect_offline(self) -> None:
        for tp, belief in self.memory.items():
            if belief.phase is ElectionState.OFFLINE:
                self.elect_now(tp, allow_unclean=self._unclean_enabled(tp))

    def _unclean_enabled(self, tp: TopicPartition) -> bool:
        config = self.records.topic_configs.get(tp.topic, {})
        controller = self.brokers.get(-1 if self.records.controller is None else self.records.controller)
        default = None if controller is None else self.settings.of_broker(controller).get(UNCLEAN)
        return config.get(UNCLEAN, default) == "true"

    def elect_now(self, tp: TopicPartition, *, allow_unclean: bool) -> bool:
        """Elects the first live in-sync replica in assignment order; else, if allowed, the first live replica."""
        state = self.records.states[tp]
        order = self.records.assignments[tp].replicas
        online = self._online(tp)
        live_isr = tuple(b for b in order if b in state.isr and b in online)
        if live_isr:
            isr = tuple(b for b in state.isr if b in online)
            self.lead(tp, live_isr[0], isr)
            return True
        survivors = tuple(b for b in order if b in online)
        if allow_unclean and survivors:
            self.lead(tp, survivors[0], (survivors[0],))
            return True
        return False

    def lead(self, tp: TopicPartition, leader: int, isr: tuple[int, ...]) -> None:
        state = self.records.states[tp]
        self.records.write_state(tp, leader, state.leader_epoch + 1, isr)
        self.remember(tp, ElectionState.ONLINE)
        self.inform((tp,))

    def remember(self, tp: TopicPartition, phase: ElectionState) -> None:
        """Copies a partition's recorded state into the controller's memory."""
        state = self.records.states[tp]
        self.memory[tp] = Belief(state.leader, state.leader_epoch, state.isr, state.version, phase)

    def inform(self, tps: Iterable[TopicPartition]) -> None:
        """Sends LeaderAndIsr to the replicas and UpdateMetadata to every live broker, from memory."""
        partitions = list(tps)
        for tp in partitions:
            for broker in self.brokers.values():
                if broker.alive:
                    self._lead_or_follow(broker, tp, self.memory[tp])
        self.announce(partitions)

    def announce(self, tps: Iterable[TopicPartition]) -> None:
        """Sends UpdateMetadata alone, which clients see and which makes no broker a leader."""
        live = [b for b in self.brokers.values() if b.alive]
        for tp in list(tps):
            belief = self.memory[tp]
            replicas = self.records.assignments[tp].replicas
            online = self._online(tp)
            offline = tuple(b for b in replicas if b not in online)
            error = 5 if belief.leader == NO_LEADER or belief.leader not in self.live else 0
            view = PartitionView(belief.leader, belief.leader_epoch, replicas, belief.isr, offline, error)
            for broker in live:
                broker.views[tp] = view
        for broker in live:
            broker.alive_seen = self.live
            broker.controller_seen = -1 if self.records.controller is None else self.records.controller

    def _lead_or_follow(self, broker: MemoryBroker, tp: TopicPartition, belief: Belief) -> None:
        if belief.leader == broker.id:
            broker.leading[tp] = belief.leader_epoch
        elif belief.leader in self.live:
            broker.leading.pop(tp, None)
            self.logs.truncate(tp, broker.id, belief.leader)
        # Leader -1 aborts the change: a former leader stays leader in its own memory (docs/facts/controller.md).

    def takes(self, broker: int) -> bool:
        """Whether a reassignment may add a replica on this broker."""
        return broker in self.live

    def reordered(self, tp: TopicPartition, target: tuple[int, ...]) -> None:
        """Handles a reassignment that changes only the order, or nothing."""
        self.move_leader_if_required(tp, target)

    def move_began(self, tp: TopicPartition) -> None:
        state = self.records.states[tp]
        self.records.write_state(tp, state.leader, state.leader_epoch + 1, state.isr)
        self.remember(tp, self.memory[tp].phase)
        self.inform((tp,))

    def move_leader_if_required(self, tp: TopicPartition, target: tuple[int, ...]) -> None:
        """`moveReassignedPartitionLeaderIfRequired`: decided from memory, acted on ZooKeeper's state."""
        belief, state = self.memory[tp], self.records.states[tp]
        if belief.leader in target and belief.leader in self.live:
            # updateLeaderEpoch reads the state again: from now on brokers receive ZooKeeper's leader.
            self.records.write_state(tp, state.leader, state.leader_epoch + 1, state.isr)
            self.remember(tp, ElectionState.ONLINE)
            self.inform((tp,))
        else:
            self.elect_now(tp, allow_unclean=False)

    def refuses_cancel(self, _tp: TopicPartition, _origin: tuple[int, ...]) -> ChangeResult | None:
        """Returns Kafka's refusal; None if Kafka cancels, whatever the result."""
        return None

    def elect(self, tp: TopicPartition, *, unclean: bool) -> ChangeResult:
        if tp not in self.memory:
            return ChangeResult(3, "UNKNOWN_TOPIC_OR_PARTITION")
        belief, preferred = self.memory[tp], self.records.assignments[tp].replicas[0]
        if unclean:
            if belief.leader in self.live:
                return ChangeResult(84, "ELECTION_NOT_NEEDED")
            return _OK if self.elect_now(tp, allow_unclean=True) else ChangeResult(83, "ELIGIBLE_LEADERS_NOT_AVAILABLE")
        if belief.leader == preferred:
            return ChangeResult(84, "ELECTION_NOT_NEEDED")
        if preferred in self._online(tp) and preferred in self.records.states[tp].isr:
            self.lead(tp, preferred, self.records.states[tp].isr)
            return _OK
        return ChangeResult(80, "PREFERRED_LEADER_NOT_AVAILABLE")
