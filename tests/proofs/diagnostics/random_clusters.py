"""Random clusters of both kinds, each the same for the same number: several faults at once, as no incident has them."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from kfix.core.snapshot.quorum import EligibleLeaders, QuorumReplica
from kfix.core.snapshot.snapshot import Assignment, Snapshot
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.build import Paper

UNCLEAN = "unclean.leader.election.enable"


def cluster(number: int) -> Snapshot:
    chance = random.Random(number)
    paper = _healthy(chance)
    _shrink(paper, chance)
    ages, fenced = _break_brokers(paper, chance)
    _disagree(paper, chance)
    moved = _move(paper, chance)
    made: dict[str, Any] = {"reassignments": moved} if moved else {}
    if chance.random() < 0.5:
        made |= _on_kraft(paper, chance, ages, fenced)
    return paper.snapshot(**made)


def _healthy(chance: random.Random) -> Paper:
    ids = tuple(range(1, chance.choice([3, 3, 4]) + 1))
    paper = Paper(ids, {b: f"az{(b - 1) % 3 + 1}" for b in ids} if chance.random() < 0.5 else {})
    paper.offsets(chance.choice([3, 5]), rf=chance.choice([1, 2, 3]))
    paper.topic("t", 4, rf=chance.choice([1, 2, 3])).topic("u", 2, rf=2)
    paper.min_isr = chance.choice([1, 2])
    paper.groups = ("g1", "g2", "g3")
    if chance.random() < 0.3:
        paper.broker_settings = {b: {UNCLEAN: "true"} for b in ids}
    return paper


def _shrink(paper: Paper, chance: random.Random) -> None:
    for part in paper.parts.values():
        if chance.random() < 0.25 and len(part.replicas) > 1:
            keep = chance.sample(part.replicas, chance.randint(1, len(part.replicas) - 1))
            part.isr = tuple(b for b in part.replicas if b in keep)
            if part.leader not in part.isr:
                part.leader, part.epoch = part.isr[0], part.epoch + 1
            part.version, part.age = part.version + 1, chance.choice([5, 50, 600])


def _break_brokers(paper: Paper, chance: random.Random) -> tuple[dict[int, float], list[int]]:
    """Returns the ages of the last fetches, and the fenced brokers."""
    ages: dict[int, float] = {}
    fenced: list[int] = []
    for broker in chance.sample(paper.brokers, chance.choice([0, 1, 1, 2, 2])):
        how, age = chance.choice(["kill", "kill", "silent", "fenced"]), chance.choice([3.0, 30.0, 600.0])
        if how == "silent":
            paper.answering.discard(broker)
            paper.silent[broker] = "no answer in time"
            continue
        paper.kill(broker, age)
        ages[broker] = 0.2 if how == "fenced" else age
        fenced.append(broker)
        if how == "fenced" and chance.random() < 0.6:
            paper.answering.add(broker)
        if how == "kill" and chance.random() < 0.3:
            paper.silent[broker] = "no answer in time"
        if chance.random() < 0.3:
            paper.back(broker, chance.choice([2.0, 200.0]))
            ages.pop(broker)
            fenced.remove(broker)
    return ages, fenced


def _disagree(paper: Paper, chance: random.Random) -> None:
    """Something else wrote to ZooKeeper, coordinators fail, a broker has old metadata, replicas lag or are complete."""
    if chance.random() < 0.3:
        tp = chance.choice(list(paper.parts))
        paper.forge(tp.topic, tp.partition, chance.choice(paper.parts[tp].replicas), paper.parts[tp].isr)
    if chance.random() < 0.2:
        for group in paper.groups:
            if chance.random() < 0.5:
                paper.broken_groups[group] = chance.choice([(0, 16), (0, 14), (0, -1), (15, None)])
    if chance.random() < 0.3:
        broker = chance.choice(paper.brokers)
        for part in paper.parts.values():
            if chance.random() < 0.7 and broker in paper.answering:
                part.seen_by[broker] = (part.replicas[0], max(0, part.epoch - 1), part.replicas)
    for tp, part in paper.parts.items():
        if chance.random() < 0.3:
            there = [b for b in part.replicas if b in paper.answering]
            paper.log_ends[tp] = {b: chance.choice([50, 100, 100]) for b in there}


def _move(paper: Paper, chance: random.Random) -> dict[Any, Assignment]:
    tp = chance.choice(list(paper.parts))
    part = paper.parts[tp]
    if chance.random() > 0.3 or len(part.replicas) < 2:
        return {}
    part.adding = (part.replicas[-1],)
    return {tp: Assignment(part.replicas, part.adding, ())}


def _on_kraft(paper: Paper, chance: random.Random, ages: dict[int, float], fenced: list[int]) -> dict[str, Any]:
    kraft_clusters.kraft(paper)
    eligible = {}
    for tp, part in paper.parts.items():
        if part.leader not in paper.registered and chance.random() < 0.6:
            part.leader = -1
            if chance.random() < 0.7:
                eligible[tp] = EligibleLeaders(part.isr, chance.choice([(), (part.isr[0],)]))
                part.isr = ()
    offsets = dict.fromkeys(paper.answering, kraft_clusters.HIGH)
    if chance.random() < 0.25 and paper.answering:
        offsets[chance.choice(sorted(paper.answering))] = kraft_clusters.HIGH - 500
    controllers = {102: chance.choice([3.0, 50.0])} if chance.random() < 0.3 else {}
    observers = tuple(QuorumReplica(b, kraft_clusters.HIGH, at := ages.get(b, 0.2), at) for b in paper.brokers)
    quorum = kraft_clusters.quorum(
        controllers, observers=observers, offsets=offsets, fenced=tuple(fenced), eligible=eligible
    )
    if chance.random() < 0.15:
        refused = kraft_clusters.REFUSED
        quorum = kraft_clusters.lost(c100=refused, c101=refused)
    if chance.random() < 0.3:
        later = {b: at if chance.random() < 0.5 else at + 5 for b, at in offsets.items()}
        quorum = replace(quorum, later=later, apart=1.6)
    return {"quorum": quorum} | ({"silent": paper.silent} if chance.random() < 0.5 else {})
