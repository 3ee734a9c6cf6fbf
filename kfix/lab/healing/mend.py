"""`kfix lab mend`: restores the cluster before the incident, whatever an operator or a runbook did since.

It compares with the baseline that `break` saved instead of replaying undo steps, so it may be repeated, and it works
after a `break` that was interrupted.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import LabError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.leading import moves, start_move
from kfix.lab.healing.heal import Healer
from kfix.lab.healing.health import WELL_SECONDS, Settling
from kfix.lab.network.faults import heal as heal_network
from kfix.lab.nodes.brokers import remove_broker, restart_brokers, start_brokers
from kfix.lab.nodes.failures import (
    CHROOT,
    end_strays,
    forget_lost_disk,
    give_disks_back,
    remove_disks,
    repair_disks,
    without_disk,
)
from kfix.lab.nodes.migrating import take_back
from kfix.lab.nodes.start import wait_brokers
from kfix.lab.waiting import wait_for
from kfix.lab.workload.readers import LIMITED_CLIENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kfix.lab.clients.access import LabClient
    from kfix.lab.definition.state import Assignment, LabBaseline
    from kfix.lab.nodes.handle import LabHandle


# Undoes what incidents leave in the log of the offsets topic, which no restored setting or leader removes.

#: The producer of the incidents open-transaction and pending-offsets.
TRANSACTIONAL_ID = "ledger-writer"
_SECONDS = 20.0


def end_transaction(access: LabClient) -> str:
    """Aborts the open transaction: whoever takes over its transactional id ends it."""
    access.take_over(TRANSACTIONAL_ID)
    return f"ended the transaction of {TRANSACTIONAL_ID}"


def end_rebalance(access: LabClient) -> str:
    """Deletes the groups with the offsets topic, and what was set for one of the consumer protocol."""
    access.reset_members()
    return delete_offsets(access)


def end_quota(access: LabClient) -> str:
    access.set_quota(LIMITED_CLIENT, None)
    return f"removed the quota of client id {LIMITED_CLIENT}"


def delete_offsets(access: LabClient) -> str:
    """Deletes the offsets topic; `mend` creates it again. Brokers refuse to delete records of an internal topic."""
    access.delete_topic(OFFSETS_TOPIC)
    wait_for(f"{OFFSETS_TOPIC} is deleted", lambda: OFFSETS_TOPIC not in access.topics(), _SECONDS)
    return f"deleted {OFFSETS_TOPIC}"


_DELETED_SECONDS = 12.0
_MOVED_SECONDS = 15.0
# A broker that was stopped for long has to register again first.
_REGISTERED_SECONDS = 10.0
#: What incidents leave that no restored setting of a topic or broker removes, and what removes it.
_IN_THE_LOG: dict[str, Callable[[LabClient], str]] = {
    "offsets-not-loaded": delete_offsets,
    "consumer-throttled": end_quota,
    "coordinator-failed": delete_offsets,
    "open-transaction": end_transaction,
    "pending-offsets": end_transaction,
    "rebalance-held": end_rebalance,
}


#: The incident that switches eligible leader replicas off.
_FEATURE_OFF = "metadata-version-behind"
#: {incident: the topic on which the registration of a broker fails}.
_POISON = {"last-known-leader-gone": "ledger"}


def mend_lab(lab: LabHandle, progress: Callable[[str], None]) -> tuple[str, ...]:
    mender = _Mender(lab, progress)
    mender.poison()
    mender.migration()
    mender.processes()
    with lab.access() as access:
        mender.access = access
        mender.forgotten_brokers()
        mender.other_clusters()
        wait_brokers(lab, access, lab.nodes.brokers_in(lab.state, "alive"))
        mender.offsets()
        mender.features()
        mender.configs()
        mender.delete_new_topics()
        mender.added_brokers()
        mender.second_disks()
        mender.leaders()
        mender.assignments()
        mender.finish_deletions()
        Settling(lab, access, mender.brokers, mender.report).wait_well()
    lab.store.update(lambda state: replace(state, baseline=None, incident=None))
    return tuple(mender.did) or ("nothing to do",)


class _Mender:
    access: LabClient

    def __init__(self, lab: LabHandle, progress: Callable[[str], None]) -> None:
        self.lab = lab
        self.did: list[str] = []
        self._progress = progress
        state = lab.state
        self.baseline: LabBaseline | None = state.baseline
        self.brokers = (
            self.baseline.brokers if self.baseline else tuple(each.id for each in state.brokers if each.original)
        )

    def report(self, sentence: str) -> None:
        self.did.append(sentence)
        self._progress(sentence)

    def poison(self) -> None:
        """Deletes a topic that would keep a dead broker from registering, before that broker is started."""
        topic = _POISON.get(self.lab.state.incident or "")
        if topic is not None:
            with self.lab.access() as access:
                access.delete_topic(topic)
                access.set_elr(1)
            self.report(f"deleted topic {topic}")

    def migration(self) -> None:
        """Returns the cluster to ZooKeeper, before anything else asks which brokers ZooKeeper knows."""
        state = self.lab.state
        if not (state.migrating or (state.controllers and state.zookeepers)):
            return
        with self.lab.access() as access:
            assert access.znodes is not None
            take_back(self.lab, access.znodes)
        self.report("took the migration to KRaft back")

    # --- processes ------------------------------------------------------------------------------------------------

    def processes(self) -> None:
        state = self.lab.state
        nodes = self.lab.nodes
        self._workloads()
        self._strays()
        self._network()
        self._repair_disks()
        self._lost_disks()
        for sentence in self.lab.authority.revive():
            self.report(sentence)
        for broker in nodes.brokers_in(state, "stopped"):
            nodes.cont(state, broker)
            self.report(f"continued broker {broker}")
        dead = [broker for broker in nodes.brokers_in(state, "dead") if broker in self.brokers]
        if dead:
            start_brokers(self.lab, dead)
            self.report(f"started broker {' and '.join(map(str, dead))}")

    def _workloads(self) -> None:
        state = self.lab.state
        writers = [each.id for each in state.processes if each.role == "workload"]
        if running := [each for each in writers if self.lab.nodes.condition(state, "workload", each) != "dead"]:
            self.lab.nodes.kill(state, running, "workload")
            self.report(f"ended {len(running)} workloads")

    def _strays(self) -> None:
        """Ends brokers that run as another cluster, whose addresses are those of dead brokers."""
        if ended := end_strays(self.lab):
            self.report(f"ended the broker of another cluster at the address of broker {' and '.join(map(str, ended))}")

    def _network(self) -> None:
        if self.lab.state.network is not None and (healed := heal_network(self.lab.store)):
            self.report(f"healed the network: {healed} cuts or slow links")

    def _repair_disks(self) -> None:
        if repaired := repair_disks(self.lab):
            self.report(f"repaired the log directory of broker {' and '.join(map(str, repaired))} and restarted it")

    def _lost_disks(self) -> None:
        """Gives controllers their disks back. Raises LabError after a recovery of the quorum, which has one voter."""
        lost, quorum = without_disk(self.lab), self.lab.quorum
        if not lost or quorum is None:
            return
        active = quorum.active()
        if active is not None and len(active.log_ends) < len(quorum.addresses()):
            left = " and ".join(map(str, sorted(active.log_ends)))
            raise LabError(
                f"controllers {left} are the only voters that are left"
                if " " in left
                else f"controller {left} is the only voter",
                hint="kfix lab down, then up",
            )
        voters = quorum.voters()
        for number in lost:
            # Where its voter was replaced, the lost disk is of no use any more.
            if voters.get(number) and voters[number] == quorum.directory_of(number):
                forget_lost_disk(self.lab, number)
                self.report(f"deleted the lost disk of controller {number}, which is a voter with its new one")
        if lost := without_disk(self.lab):
            give_disks_back(self.lab)
            self.report(f"gave controller {' and '.join(map(str, lost))} the lost disk back")

    def second_disks(self) -> None:
        """Removes second log directories, after the topics that were placed there."""
        if removed := remove_disks(self.lab):
            self.report(f"removed the second log directory of broker {' and '.join(map(str, removed))}")

    def forgotten_brokers(self) -> None:
        """Restarts brokers that have a session but no registration: for the same reason they never register again."""
        nodes = self.lab.nodes
        alive = frozenset(nodes.brokers_in(self.lab.state, "alive"))
        try:
            wait_for("the brokers are registered", lambda: self.access.live_ids() >= alive, _REGISTERED_SECONDS)
        except LabError:
            lost = sorted(alive - self.access.live_ids())
            nodes.kill(self.lab.state, lost)
            start_brokers(self.lab, lost)
            self.report(f"restarted broker {' and '.join(map(str, lost))}, which did not register again")

    def other_clusters(self) -> None:
        """Removes the record of another cluster from ZooKeeper, whose only broker is gone."""
        if self.access.znodes is not None and self.access.znodes.erase(CHROOT):
            self.report(f"removed {CHROOT} from ZooKeeper")

    def added_brokers(self) -> None:
        """Removes them after their only replicas have moved; then starts the brokers whose ports they had."""
        state = self.lab.state
        added = [each.id for each in state.brokers if each.id not in self.brokers]
        if not added:
            return
        self._move_off(frozenset(added))
        for broker in added:
            remove_broker(self.lab, broker)
        self.report(f"removed broker {' and '.join(map(str, added))}")
        returning = [each for each in state.brokers if each.retired and each.id in self.brokers]
        for each in returning:
            self.lab.store.update(lambda current, old=each: current.with_broker(replace(old, retired=False)))  # type: ignore[misc]
        start_brokers(self.lab, [each.id for each in returning])
        if returning:
            self.report(f"started broker {' and '.join(str(each.id) for each in returning)} with an empty disk")

    def _move_off(self, added: frozenset[int]) -> None:
        live = self.access.live_ids()
        stay = [broker for broker in self.brokers if broker in live]
        targets: dict[TopicPartition, tuple[int, ...]] = {}
        for where, state in self.access.states(self._old_topics()).items():
            alone = state is not None and not (set(state.isr) & set(stay))
            if alone and state is not None and state.leader in added and stay:
                targets[where] = (stay[where.partition % len(stay)],)
        if targets:
            self.access.reassign(targets)
            self.report(f"moved {len(targets)} partitions off broker {' and '.join(map(str, sorted(added)))}")

    # --- topics ---------------------------------------------------------------------------------------------------

    def _old_topics(self) -> list[str]:
        known = self.baseline.topics if self.baseline else None
        return [topic for topic in self.access.topics() if known is None or topic in known]

    def configs(self) -> None:
        """Comes first: a left-over throttle would keep replicas from catching up."""
        if self.baseline is None:
            return
        for kind, wanted in (("topics", self.baseline.topic_configs), ("brokers", self.baseline.broker_configs)):
            now = self.access.configs(kind)
            # A new topic is deleted, and one that is gone is created again with its config.
            skipped = {*self.access.topics()} ^ {*self.baseline.topics} if kind == "topics" else set()
            for name in sorted((now.keys() | wanted.keys()) - skipped):
                if now.get(name, {}) != wanted.get(name, {}):
                    self.access.write_config(kind, name, wanted.get(name, {}))
                    self.report(f"restored the configuration of {kind.removesuffix('s')} {name}")

    def offsets(self) -> None:
        """Comes before the deletion of topics: without `__transaction_state` an open transaction never ends."""
        undo = _IN_THE_LOG.get(self.lab.state.incident or "")
        if undo is not None:
            self.report(undo(self.access))

    def features(self) -> None:
        """Comes before the settings: with eligible leader replicas, Kafka sets some by itself."""
        if self.lab.state.incident == _FEATURE_OFF:
            self.access.set_elr(1)
            self.report("switched eligible leader replicas on again")

    def delete_new_topics(self) -> None:
        new = [topic for topic in self.access.topics() if topic not in self._old_topics()]
        self._end_moves(new)
        for topic in new:
            self.access.delete_topic(topic)
        if new:
            self.report(f"deleted topic {' and '.join(new)}")

    def _end_moves(self, topics: list[str]) -> None:
        """A deletion during a reassignment never ends: seen on 2.7.1, also after the end of the reassignment."""
        self._cancel_moves(topics, endless=True)
        if not any(self.access.being_reassigned(topic) for topic in topics):
            return
        with contextlib.suppress(LabError):
            wait_for(
                "the reassignments of new topics end",
                lambda: not any(self.access.being_reassigned(topic) for topic in topics),
                _MOVED_SECONDS,
            )
            return
        self._cancel_moves(topics, endless=False)

    def _cancel_moves(self, topics: list[str], *, endless: bool) -> None:
        """With `endless`, only those that never end by themselves."""
        for where, move in moves(self.access).items():
            if where.topic in topics and (move.contradicted or not endless):
                start_move(self.access, where, None)
                self.report(f"cancelled the reassignment of {where}")

    def finish_deletions(self) -> None:
        """Erases topics whose deletion waits for a replica on a broker id that no longer exists."""
        znodes = self.access.znodes
        if znodes is None:
            return  # KRaft deletes a topic at once, whoever is dead
        try:
            wait_for("topics are deleted", lambda: not self.access.pending_deletions(), _DELETED_SECONDS)
        except LabError:
            stuck = self.access.pending_deletions()
            for topic in stuck:
                znodes.erase_topic(topic)
            # Brokers forget an erased topic only when they start.
            self.lab.nodes.kill(self.lab.state, self.brokers)
            start_brokers(self.lab, self.brokers)
            self.report(f"erased topic {' and '.join(stuck)}, whose deletion did not end, and restarted all brokers")

    def leaders(self) -> None:
        for sentence in Healer(self.access).heal():
            self.report(sentence)

    def assignments(self) -> None:
        topics = self._old_topics()
        targets: dict[TopicPartition, tuple[int, ...]] = {}
        for topic in topics:
            now = self.access.assignment(topic)
            unsettled = self.access.being_reassigned(topic)
            for number, replicas in self._wanted(topic, now).items():
                if number in now and (now[number] != replicas or unsettled):
                    targets[TopicPartition(topic, number)] = replicas
        if targets:
            self._move_back(targets)
            self.report(f"restored the replicas of {len(targets)} partitions")
        lost = [topic for topic in (self.baseline.topics if self.baseline else {}) if topic not in topics]
        for topic in lost:
            assert self.baseline is not None
            layout = [list(replicas) for _, replicas in sorted(self.baseline.topics[topic].items())]
            self.access.create_topic(topic, layout, self.baseline.topic_configs.get(topic, {}))
            self.report(f"created topic {topic} again, which had been deleted: it is empty")
        if OFFSETS_TOPIC in lost and not self.lab.state.spec.recipe.loads_again:
            # Their coordinators remember a higher leader epoch than that of the new topic, and wait for a higher one.
            restart_brokers(self.lab, self.brokers)
            self.report(f"restarted all brokers, whose coordinators had not loaded the new {OFFSETS_TOPIC}")

    def _move_back(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> None:
        """Each replaces a reassignment in progress, which may wait for a broker that never returns."""
        for where, replicas in targets.items():
            start_move(self.access, where, replicas)
        topics = {where.topic for where in targets}

        def back() -> bool:
            if any(self.access.being_reassigned(topic) for topic in topics):
                return False
            now = {topic: self.access.assignment(topic) for topic in topics}
            return all(now[where.topic].get(where.partition) == replicas for where, replicas in targets.items())

        wait_for("all replicas are where they were", back, WELL_SECONDS)

    def _wanted(self, topic: str, now: Assignment) -> Assignment:
        if self.baseline is not None:
            return self.baseline.topics[topic]
        spare = self.brokers[0]
        return {number: tuple(each for each in ids if each in self.brokers) or (spare,) for number, ids in now.items()}
