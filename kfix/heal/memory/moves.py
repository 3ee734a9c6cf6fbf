"""Reassignments in the in-memory cluster, and the copies they wait for (KafkaController.onPartitionReassignment).

A replica's log end offset shows the progress of its copy; a stalled copy keeps its log end offset.
"""

from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import Assignment, LogEnd, TopicPartition
from kfix.heal.memory.configs import FOLLOWER_RATE, FOLLOWER_REPLICAS
from kfix.heal.memory.controller import MemoryController
from kfix.heal.memory.state import RECORD_BYTES

_OK = ChangeResult(0, "NONE")


class Moves:
    """The controller's side of `AlterPartitionReassignments`, and the followers' copying while time passes."""

    def __init__(self, control: MemoryController) -> None:
        self._control = control
        self._copied: dict[tuple[TopicPartition, int], float] = {}

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> ChangeResult:
        control = self._control
        if tp not in control.memory:
            return ChangeResult(3, "UNKNOWN_TOPIC_OR_PARTITION")
        old = control.records.assignments[tp]
        if replicas is None:
            return self._cancel(tp, old)
        if not replicas or len(set(replicas)) != len(replicas) or min(replicas) < 0:
            return ChangeResult(39, "INVALID_REPLICA_ASSIGNMENT")
        origin = _origin(old)
        adding = tuple(b for b in replicas if b not in origin)
        removing = tuple(b for b in origin if b not in replicas)
        if not all(control.takes(broker) for broker in adding):
            # Dead brokers that are in the list already are no obstacle (seen on 2.7.1).
            return ChangeResult(39, "INVALID_REPLICA_ASSIGNMENT", "Replica assignment has brokers that are not alive.")
        if control.merges_moves and old.adding:
            control.records.assignments[tp] = _merged(old, replicas)
        else:
            self._stop(tp, set(old.adding) - set(replicas))
            control.records.assignments[tp] = Assignment((*replicas, *removing), adding, removing)
        if not adding and not removing and not old.adding:
            control.reordered(tp, replicas)
        elif self._ends(tp):
            self._finish(tp, replicas)
        else:
            control.move_began(tp)
        return _OK

    def _ends(self, tp: TopicPartition) -> bool:
        move = self._control.records.assignments[tp]
        target = {b for b in move.replicas if b not in move.removing}
        return not move.contradicted and target <= set(self._control.records.states[tp].isr)

    def _cancel(self, tp: TopicPartition, old: Assignment) -> ChangeResult:
        """If no original replica is alive, this leaves no leader and deletes the copies that were made (KAFKA-14424).

        Seen on 2.7.1: leader -1 while the ISR still names the added broker, whose log is gone.
        """
        if not old.adding and not old.removing:
            return ChangeResult(85, "NO_REASSIGNMENT_IN_PROGRESS")
        refused = self._control.refuses_cancel(tp, _origin(old))
        if refused is not None:
            return refused
        self._finish(tp, _origin(old))
        return _OK

    def _finish(self, tp: TopicPartition, target: tuple[int, ...]) -> None:
        control = self._control
        before = control.records.assignments[tp].replicas
        control.records.assignments[tp] = Assignment(target)
        control.move_leader_if_required(tp, target)
        self._stop(tp, set(before) - set(target))
        control.inform((tp,))

    def _stop(self, tp: TopicPartition, brokers: set[int]) -> None:
        """Deletes replicas by StopReplica: out of the ISR, and the log is gone."""
        for broker in sorted(brokers):
            self._control.leave_isr(tp, broker)
            self._control.logs.drop(tp, broker)
            self._copied.pop((tp, broker), None)
            if broker in self._control.brokers:
                self._control.brokers[broker].leading.pop(tp, None)

    def catch_up(self, seconds: float, copy_seconds: float) -> None:
        """Live followers of a working leader copy and rejoin its ISR; moves whose targets are in sync complete.

        `copy_seconds` is the time that an added replica takes without a throttle; 0: all at its next fetch. If memory
        and ZooKeeper disagree on the znode's version, the change of the ISR fails silently, as on 2.7.
        """
        control = self._control
        copying = {tp: found for tp in list(control.memory) if self._is_led(tp) and (found := self._behind(tp))}
        shares = self._throttled_shares(copying)
        for tp, followers in copying.items():
            adding, all_of_it = control.records.assignments[tp].adding, self._bytes(tp)
            rates = {b: all_of_it / copy_seconds for b in followers if b in adding and copy_seconds > 0}
            done = [b for b in followers if self._copy(tp, b, seconds, shares.get((tp, b), rates.get(b)))]
            if done:
                state = control.records.states[tp]
                control.records.write_state(tp, state.leader, state.leader_epoch, (*state.isr, *done))
                self._control.remember(tp, control.memory[tp].phase)
                control.inform((tp,))
        for tp, assignment in list(control.records.assignments.items()):
            if (assignment.adding or assignment.removing) and self._is_led(tp) and self._ends(tp):
                self._finish(tp, tuple(b for b in assignment.replicas if b not in assignment.removing))

    def _is_led(self, tp: TopicPartition) -> bool:
        belief, state = self._control.memory.get(tp), self._control.records.states[tp]
        if belief is None or belief.leader not in self._control.live or belief.version != state.version:
            return False
        return belief.leader == state.leader and tp in self._control.brokers[belief.leader].leading

    def _behind(self, tp: TopicPartition) -> list[int]:
        isr, replicas = self._control.records.states[tp].isr, self._control.records.assignments[tp].replicas
        return [b for b in replicas if b in self._control.live and b not in isr]

    def _throttled_shares(self, copying: dict[TopicPartition, list[int]]) -> dict[tuple[TopicPartition, int], float]:
        """Returns bytes per second: a broker's rate is shared by its throttled replicas that are not in sync."""
        held: dict[int, list[TopicPartition]] = {}
        for tp, followers in copying.items():
            for broker in followers:
                if FOLLOWER_RATE in self._control.brokers[broker].configs and self._is_throttled(tp, broker):
                    held.setdefault(broker, []).append(tp)
        rates = {b: float(self._control.brokers[b].configs[FOLLOWER_RATE]) / len(tps) for b, tps in held.items()}
        return {(tp, b): rates[b] for b, tps in held.items() for tp in tps}

    def _is_throttled(self, tp: TopicPartition, broker: int) -> bool:
        listed = self._control.records.topic_configs.get(tp.topic, {}).get(FOLLOWER_REPLICAS, "").split(",")
        return "*" in listed or f"{tp.partition}:{broker}" in listed

    def _bytes(self, tp: TopicPartition) -> int:
        return self._control.logs.bytes(tp, self._control.memory[tp].leader)

    def _copy(self, tp: TopicPartition, broker: int, seconds: float, rate: float | None) -> bool:
        """Copies for `seconds` and returns whether the replica has all records of its leader."""
        logs, leader = self._control.logs, self._control.memory[tp].leader
        theirs = logs.end(tp, leader) or LogEnd(0, 0)
        own = logs.end(tp, broker) or LogEnd(theirs.start, theirs.start)
        missing = (theirs.end - own.end) * RECORD_BYTES
        copied = missing if rate is None else self._copied.get((tp, broker), 0.0) + rate * seconds
        if copied >= missing:
            self._copied.pop((tp, broker), None)
            logs.write(tp, broker, theirs, max(0, logs.epoch(tp, leader)))
            return True
        records = int(copied // RECORD_BYTES)
        self._copied[tp, broker] = copied - records * RECORD_BYTES
        logs.write(tp, broker, LogEnd(own.start, own.end + records), max(0, logs.epoch(tp, leader)))
        return False


def _origin(assignment: Assignment) -> tuple[int, ...]:
    """Returns the replicas from before the reassignment in progress."""
    return tuple(b for b in assignment.replicas if b not in assignment.adding)


def _merged(old: Assignment, replicas: tuple[int, ...]) -> Assignment:
    """Returns Kafka 4.3's result of a reassignment during another one: an empty list keeps the previous list."""
    adding = tuple(b for b in replicas if b not in old.replicas)
    removing = tuple(b for b in old.replicas if b not in replicas)
    return Assignment((*replicas, *removing), adding or old.adding, removing or old.removing)
