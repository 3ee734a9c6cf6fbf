"""The input of every check: one snapshot, its rows of facts, and the answers that several checks need.

Every answer is computed once, when first needed. Nothing here judges: words and severities belong to the checks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from kfix.core.criteria import CRITERIA, Criteria
from kfix.core.derive.answers import SnapshotAnswers
from kfix.core.derive.background import background_of
from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.derive.cuts import Cut, cut_of
from kfix.core.derive.liveness import Absence
from kfix.core.derive.loss import Lost, in_doubt, lost_since
from kfix.core.derive.moves import Lag, LeftOut, lags_of, left_out, still_for
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.derive.partitions import Rows, SnapshotPartitions
from kfix.core.derive.predicate import LEADERLESS, parse
from kfix.core.derive.quorum import absence
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition

_ODD = parse("not deleting and (n_isr < n_replicas or not views_agree or not zk_agrees)", "CaseFile.odd")
_BLOCKED = parse("(leaderless or n_isr < min_isr and n_isr < n_replicas) and not deleting", "CaseFile.nothing_blocked")
_OFFSETS = parse("offsets", "CaseFile.offsets_partitions")
_REASSIGNING = parse("reassigning", "CaseFile.moving")
_ALONE = parse("(n_isr == 1 or n_online_isr == 1) and not deleting", "CaseFile.only_copies")
_LEADERLESS = parse(LEADERLESS, "CaseFile.hindered")
#: A broker that shuts down leaves the ISR some seconds before it stops answering.
_LATE_ANSWER = 10.0

#: The conditions behind the answers of every case file.
STANDING = (_ODD, _BLOCKED, _OFFSETS, _REASSIGNING, _ALONE, _LEADERLESS)


@dataclass(frozen=True)
class CaseFile(SnapshotAnswers):
    """A snapshot with everything derived from it.

    With `criteria.prevention`, what only latent risks need and was not read is unknown.
    """

    criteria: Criteria = CRITERIA

    @property
    def zookeeper_rules(self) -> bool:
        """Returns whether ZooKeeper is the authority: ZooKeeper mode, read, and no KRaft controller has taken over."""
        return self.background.authority

    @cached_property
    def odd(self) -> Rows:
        """Returns the rows where a replica is missing or the views differ: only these can show a cut."""
        return self.partitions.where(_ODD)

    @cached_property
    def cut(self) -> Cut | None:
        if not (self.zookeeper_rules or self.kraft):
            return None
        return cut_of(self.snapshot, [f.tp for f in self.odd], self.samples)

    @cached_property
    def lags(self) -> tuple[Lag, ...]:
        """Returns the lag of live out-of-sync replicas over time; empty if there was only one snapshot."""
        return lags_of(self.snapshot, self.odd) if self.snapshot.samples else ()

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Returns replicas that have all records but are not added to the ISR."""
        return left_out(self.snapshot, self.odd) if self.snapshot.log_ends else ()

    @cached_property
    def lost_records(self) -> tuple[Lost, ...]:
        """Returns records that were in a log of an earlier snapshot, and are in no log of a running broker."""
        return lost_since(self.snapshot)

    @cached_property
    def disks_to_copy(self) -> Mapping[int, tuple[TopicPartition, ...]]:
        """Returns {broker that is down: partitions whose records only its disk has}: it truncates them if it starts."""
        found: dict[int, list[TopicPartition]] = {}
        for lost in self.lost_records:
            for broker in lost.holders:
                found.setdefault(broker, []).append(lost.tp)
        return {broker: tuple(tps) for broker, tps in found.items()}

    @cached_property
    def disks_in_doubt(self) -> Mapping[int, tuple[TopicPartition, ...]]:
        """Returns {broker that is down: partitions whose records only its disk may have}."""
        return in_doubt(self.snapshot)

    @property
    def silent(self) -> Mapping[int, str]:
        """Returns {broker: error} of brokers that are registered and were asked but did not respond."""
        return {b: why for b, why in self.snapshot.silent.items() if b in (self.live or ()) and b not in self.views}

    @cached_property
    def frozen(self) -> Mapping[int, str]:
        """Returns {broker: error} of dead brokers whose processes run: they accept connections and never answer."""
        return {b: why for b, why in self.snapshot.silent.items() if b in self.dead}

    @cached_property
    def strayed(self) -> Mapping[int, tuple[str, str]]:
        """Returns {dead broker: (its address, id of the other cluster whose broker answers there)}."""
        foreign = self.snapshot.foreign
        return {b: (where, foreign[where]) for b in self.dead if (where := self.address(b)) in foreign}

    @property
    def assigned(self) -> frozenset[int]:
        return self.background.assigned

    @cached_property
    def dead(self) -> tuple[int, ...]:
        """Returns brokers that have replicas, are not alive and do not respond either."""
        if self.live is None:
            return ()
        return tuple(sorted(self.assigned - self.live - self.views.keys() - self._fetching))

    @cached_property
    def _fetching(self) -> frozenset[int]:
        """Returns the fenced brokers that fetch metadata: they run, and kfix did not ask them."""
        quorum = self.snapshot.quorum
        if quorum is None or self.live is None:
            return frozenset()
        return frozenset(b for b in (self.assigned | set(self.fenced)) - self.live if quorum.fetches(b))

    @cached_property
    def shut_out(self) -> tuple[int, ...]:
        """Returns brokers that run but are not registered, or on KRaft fenced: cut off, or starting.

        They respond to kfix, or the active controller reports that they have just fetched metadata.
        """
        if self.record is None or self.live is None:
            return ()
        return tuple(sorted((self.views.keys() | self._fetching) - self.live))

    @cached_property
    def missed(self) -> tuple[int, ...]:
        """Returns brokers of earlier snapshots that no source of this one shows.

        A dead broker of Kafka 4 stays registered: one that is not was unregistered, and is not missed.
        """
        known = (self.live or frozenset()) | self.assigned | self.views.keys() | frozenset(self.ghosts)
        missed = self.snapshot.memory.brokers.keys() - known
        quorum = self.snapshot.quorum
        if quorum is not None and quorum.read and quorum.fenced is not None:
            missed &= set(quorum.fenced)
        return () if self.live is None else tuple(sorted(missed))

    @property
    def fenced(self) -> tuple[int, ...]:
        """Returns the registered brokers of a KRaft cluster that are not alive; empty before Kafka 4.0."""
        return (self.snapshot.quorum.fenced or ()) if self.snapshot.quorum is not None else ()

    @cached_property
    def ghosts(self) -> tuple[int, ...]:
        """Returns registered brokers of a KRaft cluster that are gone, and to which no replica is assigned.

        Before Kafka 4.0 only the observers of the quorum show a dead broker, for 5 minutes. A controller that has not
        joined a dynamic quorum is an observer, too, so there an earlier snapshot must know it as a broker.
        """
        quorum = self.snapshot.quorum
        if quorum is None or not quorum.read or self.live is None or self.snapshot.hides_topics:
            return ()
        known = quorum.fenced
        if known is None:
            seen = (each.node for each in quorum.observers)
            known = tuple(b for b in seen if quorum.configured or b in self.snapshot.memory.brokers)
        runs = self.live | self.views.keys() | self.snapshot.silent.keys() | {each.node for each in quorum.voters}
        return tuple(sorted(b for b in known if b not in runs and b not in self.assigned and not quorum.fetches(b)))

    def ghost_for(self, broker: int) -> float | None:
        """Returns the seconds since a registered broker that is gone last fetched metadata; None if no source shows it.

        The active controller knows that for 5 minutes.
        """
        return None if self.snapshot.quorum is None else absence(self.snapshot.quorum, broker)

    @property
    def lost(self) -> Mapping[int, tuple[int | None, bool]]:
        """Returns {id that no longer exists: (its replacement, whether that has the same address)}.

        The replacement is None if several brokers may be it.
        """
        return self.background.lost

    def absence(self, broker: int) -> Absence:
        """Returns for how long a dead broker has been gone.

        ZooKeeper's times do not count if the broker answered kfix after them: the clocks of this host and of ZooKeeper
        differ.
        """
        left = self.partitions.left(broker)
        least, unsynced = self._age(left.not_after), self._age(left.unsynced)
        ages = (self._age(left.not_before), self.troubled_at_most(broker))
        most = min((age for age in ages if age is not None), default=None)
        if most is not None:
            least, unsynced = (
                None if age is None or age > most + _LATE_ANSWER else min(age, most) for age in (least, unsynced)
            )
        return Absence(least, most, unsynced)

    def back_for(self, broker: int) -> float | None:
        registered = self.registrations.get(broker)
        return None if registered is None else self._age(registered.registered_ms or None)

    def troubled_at_most(self, node: int) -> float | None:
        """Returns the most seconds for which a KRaft broker or controller has been gone, back or out of sync.

        No client sees when a broker registered, or when a node died that the active controller is too new to know. But
        an earlier snapshot may show the node well, or a live one dead, or the answer of a dead one.
        """
        snapshot = self.snapshot
        otherwise = snapshot.memory.dead if node in (self.live or ()) else snapshot.memory.alive
        known = [times[node] for times in (snapshot.memory.well, otherwise) if node in times]
        # A time in the future comes from a clock that was set back since, and shows nothing.
        ages = [age for at in known if (age := self._age(int(at * 1000))) is not None]
        return min(ages, default=None)

    def may_restart(self, node: int, at_most: float | None) -> bool:
        """Returns whether a node that has been away for at most this long may be restarting; None: unknown."""
        age = self.troubled_at_most(node) if at_most is None else at_most
        return age is not None and age < self.criteria.restart_grace

    def restarting(self, broker: int) -> bool:
        """Returns whether a witness shows that it has been gone or back for less than the grace: it may be restarting.

        A broker that accepts connections and does not answer is frozen, even if its registration is new.
        """
        if broker in self.silent or broker in self.frozen:
            return False
        age = self.absence(broker).at_most if broker in self.dead else self.back_for(broker)
        return self.may_restart(broker, age)

    def calm(self, brokers: Iterable[int]) -> bool:
        """Returns whether these brokers may just be restarting, and neither a client nor a record depends on it."""
        ids = tuple(brokers)
        safe = bool(ids) and not self.partitions.count(_BLOCKED) and self.disks_to_copy.keys().isdisjoint(ids)
        return safe and all(self.restarting(b) for b in ids)

    @property
    def leads(self) -> Mapping[int, int]:
        return self.partitions.leads

    @property
    def preferred(self) -> Mapping[int, int]:
        return self.partitions.preferred

    @property
    def holds(self) -> Mapping[int, int]:
        return self.partitions.holds

    @cached_property
    def steady(self) -> bool:
        """Returns whether every broker is present and none has just started, so that the spread of load is stable."""
        live = self.live or frozenset()
        return len(live) > 0 and not self.dead and not any(self.restarting(b) for b in live)

    @property
    def any_partition(self) -> bool:
        return len(self.partitions) > 0

    @property
    def samples(self) -> Rows:
        """Rows among which every combination of a leader and the members of its ISR occurs."""
        return self.partitions.samples

    @cached_property
    def only_copies(self) -> Mapping[int, Rows]:
        """Returns {broker that runs: partitions whose only online in-sync replica it has, or would have}.

        A broker that is fenced, or not registered, leads again as soon as that is repaired.
        """
        found: dict[int, list[PartitionFacts]] = {}
        for row in self.partitions.where(_ALONE):
            isr = self.isr(row.tp)
            online = self.online(row.tp, isr) or tuple(b for b in isr if len(isr) == 1 and b in self.shut_out)
            if len(online) == 1:
                found.setdefault(online[0], []).append(row)
        return found

    @cached_property
    def offsets_partitions(self) -> int:
        """Returns the partition count of the offsets topic; 0 if there is no such topic, or its count is unknown."""
        seen, stated = self.partitions.count(_OFFSETS), self.snapshot.stated_partitions
        return seen if stated is None else stated.get(OFFSETS_TOPIC, 0) if seen else 0

    @cached_property
    def offsets_partitions_unknown(self) -> bool:
        """Returns whether the offsets topic exists with an unknown partition count: a text may show some rows only."""
        return not self.offsets_partitions and self.partitions.count(_OFFSETS) > 0

    @cached_property
    def groups(self) -> Mapping[int, tuple[str, ...]]:
        """Returns {offsets partition: groups known by name that hash to it}."""
        if not self.offsets_partitions:
            return {}
        names = {g.name for g in self.snapshot.groups} | set(self.snapshot.memory.groups)
        asked = (p for p in self.snapshot.probes if not p.made_up)
        names |= {p.group for p in asked if p.find_error or p.committed or p.fetch_error}
        names |= {g.name for log in self.offsets_logs for g in log.groups}
        found: dict[int, list[str]] = {}
        for name in sorted(names):
            found.setdefault(partition_of_group(name, self.offsets_partitions), []).append(name)
        return {partition: tuple(group) for partition, group in found.items()}

    def all_named(self, tps: Iterable[TopicPartition]) -> bool:
        """Returns whether the whole log of each of these offsets partitions was read, so that no group is missing."""
        read = {log.partition for log in self.offsets_logs if log.whole}
        return all(tp.topic == OFFSETS_TOPIC and tp.partition in read for tp in tps)

    def blocked_groups(self, tps: Iterable[TopicPartition]) -> tuple[str, ...]:
        """Returns the groups of these offsets partitions whose coordinator did not respond to a probe."""
        well = {p.group for p in self.probes if p.answers}
        names = [g for tp in tps if tp.topic == OFFSETS_TOPIC for g in self.groups.get(tp.partition, ())]
        return tuple(sorted(set(names) - well))

    @property
    def racks(self) -> Mapping[int, str]:
        return self.background.racks

    def rack_named(self, rack: str) -> str:
        """Returns the rack with the name that people know it by, such as `az1 (Hamburg)`; `az1` if it has none."""
        name = self.criteria.zones.get(rack, rack)
        return rack if name == rack else f"{rack} ({name})"

    @property
    def moving(self) -> bool | None:
        """Returns whether any replica is being moved, by the controller or ZooKeeper; None if neither was read."""
        zookeeper, listed = self.snapshot.zookeeper, self.snapshot.reassignments
        if zookeeper is None and listed is None:
            return None
        return bool(listed or (zookeeper and zookeeper.reassigning) or self.partitions.count(_REASSIGNING))

    @cached_property
    def being_moved(self) -> tuple[TopicPartition, ...]:
        return tuple(row.tp for row in self.partitions.where(_REASSIGNING))

    @cached_property
    def still_for(self) -> Mapping[TopicPartition, float]:
        """Returns {reassignment: least seconds for which its new replicas have gained no record}."""
        return still_for(self.snapshot)

    @cached_property
    def hindered(self) -> Mapping[str, str]:
        """Returns {topic: why a reassignment of it would be refused or would hang}."""
        moved = {tp.topic: f"until the reassignment of {tp.topic} has ended" for tp in self.being_moved}
        down = {row.topic for row in self.partitions.where(_LEADERLESS)}
        return moved | {
            topic: f"until every partition of {topic} has a leader: a reassignment hangs before" for topic in down
        }

    @property
    def clock_ahead(self) -> int | None:
        """Returns this host's clock minus that of the cluster's authority, in seconds; None if it is unknown."""
        view = self.snapshot.quorum or self.snapshot.zookeeper
        return None if view is None else view.clock_ahead

    def _age(self, at_ms: int | None) -> float | None:
        """Returns the age in seconds; None if the clocks disagree so much that it would be negative."""
        age = -1.0 if at_ms is None else self.snapshot.taken_at - at_ms / 1000
        return age if age >= 0 else None


def open_case(snapshot: Snapshot, criteria: Criteria = CRITERIA) -> CaseFile:
    background = background_of(snapshot)
    return CaseFile(snapshot, SnapshotPartitions(snapshot, background, criteria.expected), background, criteria)
