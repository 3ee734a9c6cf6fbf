"""The controller of the in-memory cluster: Kafka's own rules (kafka-facts B1, B2, B6, B7, B8).

It acts from its memory, which may differ from ZooKeeper's records; that difference is what the founding incident is.
"""

from __future__ import annotations

from collections.abc import Iterable

from kfix.adapters.memory.state import Belief, Logs, MemoryBroker, Phase, Records
from kfix.model.reading import ChangeResult
from kfix.model.snapshot import NO_LEADER, Assignment, PartitionView, TopicPartition

_OK = ChangeResult(0, "NONE")


class MemoryController:
    def __init__(self, records: Records, brokers: dict[int, MemoryBroker], logs: Logs) -> None:
        self.records = records
        self.brokers = brokers
        self.logs = logs
        self.memory: dict[TopicPartition, Belief] = {}

    @property
    def live(self) -> frozenset[int]:
        return frozenset(b.id for b in self.brokers.values() if b.alive)

    # -- becoming the controller (B1)

    def fail_over_to(self, broker: int | None) -> None:
        """`None`: nobody is alive to take over. Otherwise: reload all from ZooKeeper, then elect what is offline."""
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
            phase = Phase.ONLINE if state.leader in self.live else Phase.OFFLINE
            self.memory[tp] = Belief(state.leader, state.leader_epoch, state.isr, state.version, phase)
        # The replica state machine starts first: dead replicas leave the ISR before anything is elected.
        for dead in sorted(set(self.brokers) - self.live):
            self._take_out(dead)
        self._elect_offline()
        self.tell(self.memory)

    def started(self, broker: int) -> None:
        """A broker's start re-evaluates offline partitions only; a stuck "online" one stays stuck (B4.5)."""
        self._elect_offline()
        self.tell(self.memory)
        for tp, belief in self.memory.items():
            if belief.leader == broker:
                self.brokers[broker].leading[tp] = belief.leader_epoch

    def created(self, tp: TopicPartition) -> None:
        self._remember(tp, Phase.ONLINE)
        self.tell((tp,))

    def died(self, broker: int) -> None:
        """`onBrokerFailure`: who is led by the dead one is decided from memory, the rest is written from ZooKeeper."""
        for belief in self.memory.values():
            if belief.leader in (broker, NO_LEADER):
                belief.phase = Phase.OFFLINE
        self._elect_offline()
        self._take_out(broker)
        self.tell(self.memory)

    def _take_out(self, broker: int) -> None:
        """`removeReplicasFromIsr` (B2), the only writer of leader -1. It does not touch the partition's phase."""
        for tp, state in list(self.records.states.items()):
            if broker not in self.records.assignments[tp].replicas:
                continue
            if broker in state.isr:
                leader = NO_LEADER if state.leader == broker else state.leader
                isr = state.isr if len(state.isr) == 1 else tuple(b for b in state.isr if b != broker)
                state = self.records.write_state(tp, leader, state.leader_epoch + 1, isr)  # noqa: PLW2901
            belief = self.memory.get(tp)
            if belief is not None:
                self._remember(tp, belief.phase)

    def _elect_offline(self) -> None:
        for tp, belief in self.memory.items():
            if belief.phase is Phase.OFFLINE:
                self._elect(tp, allow_unclean=self._unclean_enabled(tp))

    def _unclean_enabled(self, tp: TopicPartition) -> bool:
        config = self.records.topic_configs.get(tp.topic, {})
        return config.get("unclean.leader.election.enable") == "true"

    def _elect(self, tp: TopicPartition, *, allow_unclean: bool) -> bool:
        """First live ISR member in assignment order; failing that, where allowed, the first live replica (B8)."""
        state = self.records.states[tp]
        order = self.records.assignments[tp].replicas
        live_isr = tuple(b for b in order if b in state.isr and b in self.live)
        if live_isr:
            isr = tuple(b for b in state.isr if b in self.live)
            self._lead(tp, live_isr[0], isr)
            return True
        survivors = tuple(b for b in order if b in self.live)
        if allow_unclean and survivors:
            self._lead(tp, survivors[0], (survivors[0],))
            return True
        return False

    def _lead(self, tp: TopicPartition, leader: int, isr: tuple[int, ...]) -> None:
        state = self.records.states[tp]
        self.records.write_state(tp, leader, state.leader_epoch + 1, isr)
        self._remember(tp, Phase.ONLINE)
        self.tell((tp,))

    def _remember(self, tp: TopicPartition, phase: Phase) -> None:
        state = self.records.states[tp]
        self.memory[tp] = Belief(state.leader, state.leader_epoch, state.isr, state.version, phase)

    # -- telling the brokers

    def tell(self, tps: Iterable[TopicPartition]) -> None:
        """LeaderAndIsr and UpdateMetadata to every live broker, from memory."""
        for tp in list(tps):
            belief = self.memory[tp]
            replicas = self.records.assignments[tp].replicas
            offline = tuple(b for b in replicas if b not in self.live)
            error = 5 if belief.leader == NO_LEADER or belief.leader not in self.live else 0
            view = PartitionView(belief.leader, belief.leader_epoch, replicas, belief.isr, offline, error)
            for broker in self.brokers.values():
                if broker.alive:
                    broker.views[tp] = view
                    self._lead_or_follow(broker, tp, belief)
        for broker in self.brokers.values():
            if broker.alive:
                broker.alive_seen = self.live
                broker.controller_seen = -1 if self.records.controller is None else self.records.controller

    def _lead_or_follow(self, broker: MemoryBroker, tp: TopicPartition, belief: Belief) -> None:
        if belief.leader == broker.id:
            broker.leading[tp] = belief.leader_epoch
            self.logs.truncate_to(tp, broker.id)
        elif belief.leader in self.live:
            broker.leading.pop(tp, None)
        # Leader -1 aborts the change: a zombie leader stays one in its own memory (B3.6).

    # -- what operators ask for (B6, B7, B8)

    def elect(self, tp: TopicPartition, *, unclean: bool) -> ChangeResult:
        if tp not in self.memory:
            return ChangeResult(3, "UNKNOWN_TOPIC_OR_PARTITION")
        belief, preferred = self.memory[tp], self.records.assignments[tp].replicas[0]
        if unclean:
            if belief.leader in self.live:
                return ChangeResult(84, "ELECTION_NOT_NEEDED")
            return _OK if self._elect(tp, allow_unclean=True) else ChangeResult(83, "ELIGIBLE_LEADERS_NOT_AVAILABLE")
        if belief.leader == preferred:
            return ChangeResult(84, "ELECTION_NOT_NEEDED")
        if preferred in self.live and preferred in self.records.states[tp].isr:
            self._lead(tp, preferred, self.records.states[tp].isr)
            return _OK
        return ChangeResult(80, "PREFERRED_LEADER_NOT_AVAILABLE")

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> ChangeResult:
        if tp not in self.memory:
            return ChangeResult(3, "UNKNOWN_TOPIC_OR_PARTITION")
        assignment = self.records.assignments[tp]
        if replicas is None:
            return self._cancel(tp, assignment)
        if not replicas or len(set(replicas)) != len(replicas) or not set(replicas) <= self.brokers.keys():
            return ChangeResult(39, "INVALID_REPLICA_ASSIGNMENT")
        if set(replicas) <= set(self.records.states[tp].isr) or set(replicas) == set(assignment.replicas):
            self.records.assignments[tp] = Assignment(replicas)
            self._move_leader_if_required(tp, replicas)
            return _OK
        return self._start_move(tp, assignment, replicas)

    def _move_leader_if_required(self, tp: TopicPartition, replicas: tuple[int, ...]) -> None:
        """`moveReassignedPartitionLeaderIfRequired`: decided from memory, acted on ZooKeeper's state."""
        belief, state = self.memory[tp], self.records.states[tp]
        if belief.leader in replicas and belief.leader in self.live:
            # updateLeaderEpoch re-reads the state: ZooKeeper's leader is what the brokers are told from now on (B7).
            isr = tuple(b for b in state.isr if b in replicas)
            self.records.write_state(tp, state.leader, state.leader_epoch + 1, isr)
            self._remember(tp, Phase.ONLINE)
            self.tell((tp,))
        else:
            self._elect(tp, allow_unclean=False)

    def _start_move(self, tp: TopicPartition, old: Assignment, replicas: tuple[int, ...]) -> ChangeResult:
        """Not complete at once: the epoch rises and the move waits for the targets to be in sync (B6, row 5)."""
        adding = tuple(b for b in replicas if b not in old.replicas)
        removing = tuple(b for b in old.replicas if b not in replicas)
        both = (*replicas, *removing)
        self.records.assignments[tp] = Assignment(both, adding, removing)
        state = self.records.states[tp]
        self.records.write_state(tp, state.leader, state.leader_epoch + 1, state.isr)
        self._remember(tp, self.memory[tp].phase)
        self.tell((tp,))
        return _OK

    def _cancel(self, tp: TopicPartition, assignment: Assignment) -> ChangeResult:
        if not assignment.adding and not assignment.removing:
            return ChangeResult(85, "NO_REASSIGNMENT_IN_PROGRESS")
        original = tuple(b for b in assignment.replicas if b not in assignment.adding)
        self.records.assignments[tp] = Assignment(original)
        self._move_leader_if_required(tp, original)
        return _OK

    # -- time passing

    def catch_up(self) -> None:
        """Live followers of a working leader rejoin its ISR; moves whose targets are in sync complete.

        Where memory and ZooKeeper disagree on the znode's version the change of the ISR fails, silently, as on 2.7.
        """
        for tp, belief in list(self.memory.items()):
            state, assignment = self.records.states[tp], self.records.assignments[tp]
            if belief.leader not in self.live or belief.version != state.version or belief.leader != state.leader:
                continue
            followers = [b for b in assignment.replicas if b in self.live and b not in state.isr]
            if followers:
                end = self.logs.ends[tp].get(belief.leader)
                for broker in followers:
                    if end is not None:
                        self.logs.ends[tp][broker] = end
                self.records.write_state(tp, state.leader, state.leader_epoch, (*state.isr, *followers))
                self._remember(tp, belief.phase)
                self.tell((tp,))
            self._complete(tp)

    def _complete(self, tp: TopicPartition) -> None:
        assignment, state = self.records.assignments[tp], self.records.states[tp]
        target = tuple(b for b in assignment.replicas if b not in assignment.removing)
        if (assignment.adding or assignment.removing) and set(target) <= set(state.isr):
            self.records.assignments[tp] = Assignment(target)
            self._move_leader_if_required(tp, target)
