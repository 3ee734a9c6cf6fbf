"""Clusters on paper whose topics allow unclean elections while partitions have no leader."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.kraft_clusters import kraft, quorum

ALLOWED = {"orders": {"unclean.leader.election.enable": "true"}}
#: 3.9.2, which has no eligible leader replicas.
OLD = {"metadata.version": 21}


def without_leader(*isrs: tuple[int, ...], dead: tuple[int, ...], on_kraft: bool = True) -> Snapshot:
    """Partitions of orders on [2, 3, 1] with these ISRs have no leader; the topic allows unclean elections."""
    paper = Paper((1, 2, 3, 4)).topic("orders", len(isrs), replicas=[[2, 3, 1]] * len(isrs))
    for broker in dead:
        paper.kill(broker)
    for number, isr in enumerate(isrs):
        part = paper.parts[TopicPartition("orders", number)]
        part.leader, part.isr = -1, isr
    if not on_kraft:
        paper.topic_settings = ALLOWED
        return paper.snapshot()
    made = kraft(paper).snapshot(quorum=quorum(dict.fromkeys(dead, 60.0), fenced=dead, features=OLD))
    return replace(made, topic_configs=ALLOWED)


def in_sync_dead() -> Snapshot:
    """Broker 1, the whole ISR, and broker 3 are dead: Kafka elects broker 2 if broker 3 starts first."""
    return without_leader((1,), dead=(1, 3))


def each_in_sync_elsewhere() -> Snapshot:
    """The start of broker 1 heals orders-0 and makes Kafka elect broker 2 for orders-1, and the reverse."""
    return without_leader((1,), (3,), dead=(1, 3))


def no_live_replica() -> Snapshot:
    return without_leader((1,), dead=(1, 2, 3))


def unread(
    *dead: int, unclean: bool = False, elr: bool | None = True, eligible: EligibleLeaders | None = None
) -> Snapshot:
    """orders-0 on [2, 3, 1] of Kafka 4 has no leader and an empty ISR; who is eligible was not read, if not given.

    `elr`: whether the cluster keeps eligible replicas; None: no broker reported its features.
    """
    made = without_leader((), dead=dead)
    assert made.quorum is not None
    known = {"eligible.leader.replicas.version": int(elr)} | OLD if elr is not None else {}
    found = {} if eligible is None else {TopicPartition("orders", 0): eligible}
    view = replace(made.quorum, features=known, eligible=found)
    return replace(made, quorum=view, topic_configs=ALLOWED if unclean else {})


def eligible_runs_fenced(*, allowed: bool = True, also_dead: tuple[int, ...] = ()) -> Snapshot:
    """Kafka 4: orders-0 on [3, 2, 1] has an empty ISR; broker 2, which runs and is fenced, is eligible to lead."""
    paper = Paper((1, 2, 3, 4)).topic("orders", 1, replicas=[[3, 2, 1]])
    for broker in (2, *also_dead):
        paper.kill(broker)
    paper.answering.add(2)
    tp = TopicPartition("orders", 0)
    paper.parts[tp].leader, paper.parts[tp].isr = -1, ()
    ages = {2: 0.2} | dict.fromkeys(also_dead, 60.0)
    found = {tp: EligibleLeaders((2, *also_dead), (2,))}
    made = kraft(paper).snapshot(quorum=quorum(ages, fenced=(2, *also_dead), eligible=found))
    return replace(made, topic_configs=ALLOWED if allowed else {})
