"""How the world changes between a plan and its run: one way, or several, for each kind of fact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import NO_LEADER, Assignment, LogEnd, Mode, TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.kraft import MemoryKraftCluster
from kfix.heal.model.facts import (
    BROKER_FACTS,
    CLUSTER_FACTS,
    GROUP_FACTS,
    MEMBER_FACTS,
    PARTITION_FACTS,
    FactKey,
    split_key,
)

Mutation = Callable[[MemoryCluster, FactKey], None]

#: Every kind of fact that a plan may rest on.
OF_GROUPS = frozenset({*GROUP_FACTS, *MEMBER_FACTS, "committed"})
KINDS = frozenset(
    {*PARTITION_FACTS, *CLUSTER_FACTS, *OF_GROUPS, *BROKER_FACTS, "config", "effective", "transaction", "copies"}
)


def kind_of(key: str) -> str:
    parts = split_key(key)
    if parts.resource is not None:
        return "config" if parts.own else "effective"
    return "transaction" if parts.transaction else parts.name


def _tp(key: FactKey) -> TopicPartition:
    assert key.tp is not None
    return key.tp


def _state(cluster: MemoryCluster, key: FactKey, **changes: Any) -> None:
    """As ZooKeeper has it, and as the controller knows and tells it."""
    tp = _tp(key)
    cluster.records.states[tp] = cluster.records.states[tp]._replace(**changes)
    cluster.control.remember(tp, cluster.control.memory[tp].phase)
    cluster.control.announce((tp,))


def _leader(cluster: MemoryCluster, key: FactKey) -> None:
    old = cluster.records.states[_tp(key)]
    other = next((b for b in sorted(cluster.control.live) if b != old.leader), 99)
    _state(cluster, key, leader=other)


def _leader_unseen(cluster: MemoryCluster, key: FactKey) -> None:
    """In ZooKeeper alone, and nobody that lives."""
    tp = _tp(key)
    old = cluster.records.states[tp]
    cluster.records.states[tp] = old._replace(leader=77 if old.leader == -1 else -1)


def _epoch(cluster: MemoryCluster, key: FactKey) -> None:
    tp = _tp(key)
    cluster.records.states[tp] = cluster.records.states[tp]._replace(leader_epoch=99)


def _isr(cluster: MemoryCluster, key: FactKey) -> None:
    """A dead or unknown one joins: nothing gets better or worse by it."""
    tp = _tp(key)
    old = cluster.records.states[tp]
    cluster.records.states[tp] = old._replace(isr=(*old.isr, 88))


def _isr_live(cluster: MemoryCluster, key: FactKey) -> None:
    tp = _tp(key)
    old = cluster.records.states[tp]
    more = sorted(cluster.control.live - set(old.isr))
    cluster.records.states[tp] = old._replace(isr=(*old.isr, more[0]) if more else old.isr[:-1])


def _isr_other(cluster: MemoryCluster, key: FactKey) -> None:
    """A member of the ISR is another one than it was, of those that live."""
    tp = _tp(key)
    old = cluster.records.states[tp]
    cluster.records.states[tp] = old._replace(isr=tuple(sorted(cluster.control.live - set(old.isr))))


def _eligible(cluster: MemoryCluster, key: FactKey) -> None:
    """Another broker than before may lead without data loss; with ZooKeeper there is no such record."""
    if isinstance(cluster, MemoryKraftCluster):
        was = cluster.kraft.elr.get(_tp(key), ())
        cluster.kraft.elr[_tp(key)] = was[:-1] or (99,)


def _last_known(cluster: MemoryCluster, key: FactKey) -> None:
    if isinstance(cluster, MemoryKraftCluster):
        cluster.kraft.last_known[_tp(key)] = () if cluster.kraft.last_known.get(_tp(key)) else (99,)


def _one_more_or_less_led(cluster: MemoryCluster, key: FactKey) -> None:
    states, live = cluster.records.states, cluster.control.live
    led = [tp for tp, state in states.items() if state.leader in live]
    if led:
        states[max(led)] = states[max(led)]._replace(leader=NO_LEADER)
    elif isinstance(cluster, MemoryKraftCluster):
        states[max(states)] = states[max(states)]._replace(leader=min(live))
        cluster.kraft.forget(max(states))


def _migrated(cluster: MemoryCluster, key: FactKey) -> None:
    """A migration to KRaft has ended meanwhile."""
    other = Mode.ZOOKEEPER if cluster.mode is Mode.KRAFT else Mode.KRAFT
    cluster.__class__ = type("Migrated", (type(cluster),), {"mode": other})


def _order(cluster: MemoryCluster, key: FactKey) -> None:
    tp = _tp(key)
    old = cluster.records.assignments[tp]
    cluster.records.assignments[tp] = old._replace(replicas=(*old.replicas[1:], old.replicas[0]))


def _one_more(cluster: MemoryCluster, key: FactKey) -> None:
    tp = _tp(key)
    old = cluster.records.assignments[tp]
    cluster.records.assignments[tp] = old._replace(replicas=(*old.replicas, 66))


def _moving(cluster: MemoryCluster, key: FactKey) -> None:
    """A move to nowhere, or, where one was under way, to somewhere else."""
    tp = _tp(key)
    old = cluster.records.assignments[tp]
    keep = tuple(b for b in old.replicas if b not in old.adding)
    cluster.records.assignments[tp] = Assignment((*keep, 55), (55,), old.removing)


def _removing(cluster: MemoryCluster, key: FactKey) -> None:
    tp = _tp(key)
    old = cluster.records.assignments[tp]
    cluster.records.assignments[tp] = old._replace(removing=() if old.removing else old.replicas[:1])


def _revived(cluster: MemoryCluster, key: FactKey) -> None:
    for broker in cluster.brokers.values():
        if not broker.alive:
            cluster.revive(broker.id)


def _died(cluster: MemoryCluster, key: FactKey) -> None:
    replicas = cluster.records.assignments[_tp(key)].replicas
    state = cluster.records.states[_tp(key)]
    followers = [b for b in replicas if b in cluster.control.live and b != state.leader and b not in state.isr]
    for broker in followers[-1:]:
        cluster.brokers[broker].alive = False


def _one_registers(cluster: MemoryCluster, key: FactKey) -> None:
    """Registered without a word of the controller: no partition is touched by it."""
    for broker in cluster.brokers.values():
        broker.alive = True


def _partitions(cluster: MemoryCluster, key: FactKey) -> None:
    topic = _tp(key).topic
    number = 1 + max(tp.partition for tp in cluster.records.assignments if tp.topic == topic)
    live = tuple(sorted(cluster.control.live))
    cluster.add_partition(TopicPartition(topic, number), live)


def _tails(cluster: MemoryCluster, key: FactKey) -> None:
    live = sorted(cluster.control.live & cluster.logs.ends[_tp(key)].keys())
    cluster.append(_tp(key), 1, (live[-1],))


def _conflicts(cluster: MemoryCluster, key: FactKey) -> None:
    """Another record of the same key was written."""
    failure = cluster.load_failures.get(_tp(key))
    if failure is not None:
        failure.conflicts = tuple(replace(each, offset=each.offset + 1) for each in failure.conflicts)


def _bytes(cluster: MemoryCluster, key: FactKey) -> None:
    for broker in cluster.logs.ends[_tp(key)]:
        cluster.logs.write(_tp(key), broker, LogEnd(0, 4444), 0)


def _failed_over(cluster: MemoryCluster, key: FactKey) -> None:
    others = cluster.control.live - {cluster.records.controller}
    cluster.control.fail_over_to(min(others))


def _controller(cluster: MemoryCluster, key: FactKey) -> None:
    cluster.records.controller = min(cluster.control.live - {cluster.records.controller})


def _number(name: str) -> Mutation:
    def act(cluster: MemoryCluster, key: FactKey) -> None:
        setattr(cluster.records, name, getattr(cluster.records, name) + 1)

    return act


def _migrating(cluster: MemoryCluster, key: FactKey) -> None:
    cluster.records.migrating = True


def _unregistered(cluster: MemoryCluster, key: FactKey) -> None:
    assert key.broker is not None
    cluster.kill(key.broker)


def _config(cluster: MemoryCluster, key: FactKey) -> None:
    assert key.resource is not None
    kind, name = key.resource
    values = {"true": "false", "false": "true", "1": "2", "2": "3"}
    now = cluster.settings.read(kind, name).get(key.name)
    new = {key.name: values.get(now.value or "", "7") if now is not None else "7"}
    if key.name.endswith(".throttled.replicas"):
        new = {key.name: "5:1"}
    result = cluster.settings.alter(kind, name, new)
    assert result.accepted, result


def _default(cluster: MemoryCluster, key: FactKey) -> None:
    """The default in force changes, and nobody's own value."""
    assert key.resource is not None
    now = cluster.settings.read(*key.resource)[key.name]
    cluster.settings.properties[key.name] = {"true": "false", "false": "true"}.get(str(now.value), "4")


def _same_made_own(cluster: MemoryCluster, key: FactKey) -> None:
    """What was a default is set, to the same value: nothing is different but whose value it is."""
    assert key.resource is not None
    kind, name = key.resource
    now = cluster.settings.read(kind, name).get(key.name)
    if now is not None and not now.own and now.value:
        assert cluster.settings.alter(kind, name, {key.name: now.value}).accepted
    elif kind is ResourceKind.TOPIC and now is not None and now.own:
        assert cluster.settings.alter(kind, name, {key.name: None}).accepted


def _committed(cluster: MemoryCluster, key: FactKey) -> None:
    """Another consumer commits meanwhile."""
    cluster.committed.setdefault(key.group, {})[_tp(key)] = StoredOffset(77)


def _forgotten(cluster: MemoryCluster, key: FactKey) -> None:
    """The committed offset expires."""
    cluster.committed.get(key.group, {}).pop(_tp(key), None)


def _settled(cluster: MemoryCluster, key: FactKey) -> None:
    """The member joins again by itself."""
    joined = cluster.joined[key.group]
    joined.join_again(*joined.members)


def _assigning(cluster: MemoryCluster, key: FactKey) -> None:
    """All have joined, and the assignment is missing."""
    cluster.joined[key.group].state = "CompletingRebalance"


def _held_again(cluster: MemoryCluster, key: FactKey) -> None:
    """The rebalance ended, and the same member holds the next one."""
    joined = cluster.joined[key.group]
    joined.join_again(*joined.members)
    joined.rebalance(again=tuple(each for each in joined.members if each != key.member)[1:])


def _log_unread(cluster: MemoryCluster, key: FactKey) -> None:
    cluster.joined[key.group].last = frozenset()


def _another_holds(cluster: MemoryCluster, key: FactKey) -> None:
    joined = cluster.joined[key.group]
    joined.last = frozenset(set(joined.members) - joined.last)


def _as(**changes: Any) -> Mutation:
    """Another process has taken the place of the member."""

    def mutate(cluster: MemoryCluster, key: FactKey) -> None:
        members = cluster.joined[key.group].members
        members[key.member] = members[key.member]._replace(**changes)

    return mutate


def _next_transaction(cluster: MemoryCluster, key: FactKey) -> None:
    """The producer, which works after all, has begun its next transaction with the same epoch."""
    state = cluster.transactions[key.transaction]
    cluster.transactions[key.transaction] = state._replace(started_ms=state.started_ms + 1)


def _taken_over(cluster: MemoryCluster, key: FactKey) -> None:
    """The application was started again, and its coordinator is ending the transaction."""
    state = cluster.transactions[key.transaction]
    cluster.transactions[key.transaction] = state._replace(status="PrepareAbort", epoch=state.epoch + 1)


def _transaction_committed(cluster: MemoryCluster, key: FactKey) -> None:
    state = cluster.transactions[key.transaction]
    cluster.transactions[key.transaction] = state._replace(status="CompleteCommit")
    cluster.open_batches.clear()
    cluster.logs.open_transactions.clear()
    cluster.pending.clear()


def _marker_written(cluster: MemoryCluster, _key: FactKey) -> None:
    """Another administrator has written the marker."""
    cluster.open_batches.clear()
    cluster.logs.open_transactions.clear()


def _log_compacted(cluster: MemoryCluster, _key: FactKey) -> None:
    """Compaction has removed what the coordinator decided."""
    cluster.decisions.clear()
    cluster.compacted = True


def _begun_again(cluster: MemoryCluster, _key: FactKey) -> None:
    """The producer works with the same epoch: whether it will write to the partition is open."""
    for name, state in cluster.transactions.items():
        cluster.transactions[name] = state._replace(status="Ongoing")


def _registers(cluster: MemoryCluster, key: FactKey) -> None:
    """The broker is started again."""
    assert key.broker is not None
    cluster.revive(key.broker)


def _removed(cluster: MemoryCluster, key: FactKey) -> None:
    """Somebody else has unregistered it."""
    assert key.broker is not None
    cluster.remove_broker(key.broker)


def _voter(cluster: MemoryCluster, key: FactKey) -> None:
    assert isinstance(cluster, MemoryKraftCluster)
    assert key.broker is not None
    cluster.combined.add(key.broker)


def _runs_or_stops(cluster: MemoryCluster, key: FactKey) -> None:
    """The process of a fenced broker is started, or ends."""
    assert isinstance(cluster, MemoryKraftCluster)
    assert key.broker is not None
    cluster.cut ^= {key.broker}


def _hides_a_topic(cluster: MemoryCluster, key: FactKey) -> None:
    """A right is taken from the client: there may be topics that it no longer sees."""
    assert isinstance(cluster, MemoryKraftCluster)
    cluster.hidden = "broker 1: TOPIC_AUTHORIZATION_FAILED for secret"


def _assigned_there(cluster: MemoryCluster, key: FactKey) -> None:
    """A new topic is placed on the broker that is gone."""
    assert key.broker is not None
    cluster.add_partition(TopicPartition("new", 0), (1, key.broker))


def _applies(cluster: MemoryCluster, _: FactKey) -> None:
    if isinstance(cluster, MemoryKraftCluster):
        cluster.applied_offset += 1


def _isr_of_one(cluster: MemoryCluster, _: FactKey) -> None:
    tp = min(cluster.records.states)
    cluster.records.states[tp] = cluster.records.states[tp]._replace(isr=(99,))


def _copies_grow(cluster: MemoryCluster, key: FactKey) -> None:
    if isinstance(cluster, MemoryKraftCluster):
        for folder in key.folders.split(","):
            cluster.disks[folder] = cluster.disks[folder]._replace(end=cluster.disks[folder].end + 1)


def _another_voter(cluster: MemoryCluster, _: FactKey) -> None:
    """Somebody else has added a voter."""
    cluster.quorum.voters[109] = cluster.quorum.running[109] = "disk-109"


def _another_joins(cluster: MemoryCluster, _: FactKey) -> None:
    """A controller is started that is no voter."""
    cluster.quorum.running[108] = "disk-108"


def _another_command(cluster: MemoryCluster, _key: FactKey) -> None:
    cluster.site_command = cluster.site_upgrade = "another {node}"


def _one_leaves(cluster: MemoryCluster, _key: FactKey) -> None:
    cluster.kill(3)


def _raised(cluster: MemoryCluster, _key: FactKey) -> None:
    cluster.level += 1


def _one_goes_back(cluster: MemoryCluster, _key: FactKey) -> None:
    cluster.levels[min(cluster.brokers)] = 21


WAYS: Mapping[str, tuple[Mutation, ...]] = {
    "leader": (_leader, _leader_unseen),
    "leader_epoch": (_epoch,),
    "elr": (_eligible,),
    "last_known": (_last_known,),
    "isr": (_isr, _isr_live, _isr_other),
    "live_isr": (_isr_live, _isr_other),
    "assignment": (_order, _one_more),
    "live_replicas": (_died, _one_registers, _revived, _order),
    "reassigning": (_moving,),
    "partition_count": (_partitions,),
    "load_conflicts": (_conflicts,),
    "log_tails": (_tails,),
    "adding": (_moving,),
    "removing": (_removing,),
    "replica_bytes": (_bytes,),
    "controller": (_failed_over, _controller),
    "controller_epoch": (_number("epoch"), _failed_over),
    "controller_epoch_version": (_number("epoch_version"), _failed_over),
    "migrating": (_migrating,),
    "mode": (_migrated,),
    "applied": (_applies,),
    "partitions": (_isr_of_one,),
    "registered_brokers": (_one_leaves,),
    "metadata_version": (_raised,),
    "supported_metadata_version": (_one_goes_back,),
    "restart_command": (_another_command,),
    "upgrade_command": (_another_command,),
    "copies": (_copies_grow,),
    "voters": (_another_voter,),
    "joining": (_another_joins,),
    "eligible_needed": (_one_more_or_less_led,),
    "registration": (_registers, _removed),
    "voter": (_voter,),
    "replicas": (_assigned_there,),
    "hidden": (_hides_a_topic,),
    "runs": (_runs_or_stops,),
    "registered": (_unregistered, _one_registers),
    "committed": (_committed, _forgotten),
    "state": (_settled, _assigning),
    "generation": (_held_again, _log_unread),
    "awaited": (_log_unread, _another_holds),
    "client": (_as(client="other"),),
    "host": (_as(host="/10.0.0.9"),),
    "instance": (_as(instance="other"),),
    "transaction": (_next_transaction, _taken_over, _transaction_committed),
    "hanging": (_marker_written, _log_compacted, _begun_again),
    "config": (_config, _same_made_own),
    "effective": (_config, _default),
}
