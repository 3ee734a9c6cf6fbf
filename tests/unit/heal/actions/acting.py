"""Sick clusters for actions, and the way an executor walks with one action: freeze, guards, apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import Args, ArgValue
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.actions.base import Action, ActionStatus, Inverse
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.model.plan import Undo
from kfix.heal.probes.facts import FactReader, read_facts
from kfix.heal.probes.registry import ask

TP = TopicPartition("orders", 0)
ON_TP: Mapping[str, ArgValue] = {"partition": str(TP)}
TOPIC_LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


def four_brokers() -> MemoryCluster:
    """Brokers 1 to 4, controller 4, orders-0 on [1,2,3], led by 1, all in sync."""
    cluster = MemoryCluster.healthy(4, topics={"orders": 2, "__consumer_offsets": 2})
    cluster.control.fail_over_to(4)
    return cluster


def dead_isr(**ends: int) -> MemoryCluster:
    """The ISR shrank to broker 1, which took 50 records more and died. `b2=120` is the log end of broker 2."""
    cluster = four_brokers()
    cluster.control.lead(TP, 1, (1,))
    cluster.append(TP, 50, (1,))
    for broker in (2, 3):
        cluster.append(TP, ends.get(f"b{broker}", 100) - 100, (broker,))
    cluster.kill(1)
    return cluster


def moving(*replicas: int, copy_seconds: float = 60.0) -> MemoryCluster:
    """A move of orders-0 to `replicas` that has begun and takes its time."""
    cluster = four_brokers()
    cluster.copy_seconds = copy_seconds
    cluster.reassign(TP, replicas)
    cluster.faults.calls.clear()
    return cluster


def freeze(name: str, cluster: MemoryCluster, /, **args: ArgValue) -> Args:
    return ACTIONS[name].freeze(Args(args), FactReader(cluster))


def on_tp(name: str, cluster: MemoryCluster, /, **args: ArgValue) -> Args:
    return freeze(name, cluster, **{**ON_TP, **args})


def guards_pass(name: str, args: Args, cluster: MemoryCluster) -> bool:
    return all(ask(call, cluster).passed for call in ACTIONS[name].guards(args))


def carry_out(name: str, args: Args, cluster: MemoryCluster) -> ChangeResult:
    """Guards first, as the executor has them; the change must be a single call."""
    assert guards_pass(name, args, cluster), [(str(c), ask(c, cluster)) for c in ACTIONS[name].guards(args)]
    before = len(cluster.faults.calls)
    result = ACTIONS[name].apply(args, cluster)
    assert len(cluster.faults.calls) == before + 1
    return result


def proved(name: str, args: Args, cluster: MemoryCluster) -> bool:
    return all(ask(call, cluster).passed for call in ACTIONS[name].proves(args))


def progress(name: str, args: Args, cluster: MemoryCluster) -> Callable[[], ActionStatus]:
    """Tells, whenever it is called, how far the change got since now."""
    action = ACTIONS[name]
    before = read_facts(cluster, action.reads(args))
    return lambda: action.probe(args, before, cluster)


def undo_of(name: str, args: Args) -> tuple[Inverse, Undo]:
    inverse = ACTIONS[name].inverse(args)
    assert inverse.undo is not None
    return inverse, inverse.undo


def take_back(name: str, args: Args, cluster: MemoryCluster) -> None:
    _, undo = undo_of(name, args)
    assert carry_out(undo.action, undo.args, cluster).accepted


def action_of(undo: Undo) -> Action:
    return ACTIONS[undo.action]
