"""Clusters that work today: one with nothing to tell, and for each check of prevention what it is about."""

from __future__ import annotations

from kfix.core.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.snapshot.snapshot import NEWEST_PROTOCOL, Mode
from kfix.lab.definition.properties import DEFAULTS, MODE_DEFAULTS
from kfix.lab.definition.recipes import ZK
from tests.unit.diagnostics.build import Paper

GOOD = {
    "auto.leader.rebalance.enable": "true",
    "default.replication.factor": "3",
    "inter.broker.protocol.version": "3.9-IV0",
    "min.insync.replicas": "2",
    NEWEST_PROTOCOL: "3.9-IV0",
    "offsets.topic.replication.factor": "3",
    "replica.lag.time.max.ms": "30000",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.replication.factor": "3",
    "unclean.leader.election.enable": "false",
    "zookeeper.session.timeout.ms": "18000",
}


def durable(brokers: int = 3, **settings: str) -> Paper:
    """As a site should be: three racks, three replicas, two of them in sync demanded."""
    paper = Paper(range(1, brokers + 1), {b: "abc"[b % 3] for b in range(1, brokers + 1)})
    paper.offsets(50).topic(TRANSACTIONS_TOPIC, 12).topic("orders", 12)
    paper.min_isr = 2
    paper.groups = ("g2", "pay", "ship")
    named = {key.replace("_", "."): value for key, value in settings.items()}
    paper.broker_settings = dict.fromkeys(paper.brokers, GOOD | named)
    return paper


def kraft(paper: Paper) -> Paper:
    paper.zookeeper, paper.mode = False, Mode.KRAFT
    return paper


def on_one(broker: int, paper: Paper, **settings: str) -> Paper:
    """One broker has other settings than the rest."""
    named = {key.replace("_", "."): value for key, value in settings.items()}
    paper.broker_settings[broker] = paper.broker_settings[broker] | named
    return paper


def set_on(paper: Paper, topic: str, **settings: str) -> Paper:
    paper.topic_settings = {topic: {key.replace("_", "."): value for key, value in settings.items()}}
    return paper


def of_factor(factor: int, topics: int = 1, brokers: int = 3) -> Paper:
    paper = durable(brokers)
    for n in range(topics):
        paper.topic(f"thin-{n:03}", 2, rf=factor)
    return paper


def older(spoken: str, newest: str | None) -> Paper:
    paper = durable()
    told = {"inter.broker.protocol.version": spoken} | ({} if newest is None else {NEWEST_PROTOCOL: newest})
    kept = {key: value for key, value in GOOD.items() if key not in {NEWEST_PROTOCOL, *told}}
    paper.broker_settings = dict.fromkeys(paper.brokers, kept | told)
    return paper


def upgraded_in_part(*, programs: bool) -> Paper:
    paper = durable()
    key = NEWEST_PROTOCOL if programs else "inter.broker.protocol.version"
    paper.broker_settings[2] = paper.broker_settings[2] | {key: "3.8-IV0"}
    return paper


def racks(*names: str | None, rf: int = 3) -> Paper:
    """Brokers 1, 2, ... in these racks; None: without one."""
    paper = durable(len(names))
    paper.racks = {b: name for b, name in enumerate(names, 1) if name is not None}
    paper.parts.clear()
    return paper.topic("orders", 12, rf=rf)


def leaders_on_one(*, preferred: bool) -> Paper:
    """Broker 1 leads everything: because it comes first everywhere, or because it took over."""
    paper = durable()
    paper.parts.clear()
    rows = [[1, 2, 3], [1, 3, 2]] if preferred else [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    paper.topic("orders", 12, replicas=rows * (12 // len(rows)))
    for part in paper.parts.values():
        part.leader = 1
    return paper


def coordinators_on_one(*, preferred: bool) -> Paper:
    paper = durable()
    for tp, part in paper.parts.items():
        if tp.topic == OFFSETS_TOPIC:
            part.leader = 1
            if preferred:
                part.replicas = part.isr = (1, 2, 3)
    return paper


def replicas_on_one() -> Paper:
    """Three brokers hold everything, four came later."""
    paper = durable(7)
    paper.parts.clear()
    return paper.topic("orders", 36, replicas=[[1, 2, 3], [2, 3, 1], [3, 1, 2]] * 12)


def crowded(replicas: int, brokers: int = 3) -> Paper:
    """Each broker holds that many. One answers: a view a broker would make the tests slow."""
    paper = durable(brokers)
    paper.answering = {1}
    paper.parts.clear()
    return paper.topic("many", replicas, rf=brokers)


def lab(brokers: int = 3) -> Paper:
    """What `kfix lab up` starts, as DescribeConfigs tells it: the lab's own settings over those that Kafka ships."""
    paper = Paper(range(1, brokers + 1)).offsets(5).topic("orders", 3)
    shipped = {
        "auto.leader.rebalance.enable": "true",
        "default.replication.factor": "1",
        "inter.broker.protocol.version": "2.7-IV2",
        NEWEST_PROTOCOL: "2.7-IV2",
        "offsets.topic.replication.factor": "3",
        "transaction.state.log.replication.factor": "3",
    }
    paper.broker_settings = dict.fromkeys(paper.brokers, shipped | DEFAULTS | MODE_DEFAULTS[ZK])
    return paper
