"""As `cases`, for what works today and will bite one day. A neighbour has all but the last of what makes it so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.snapshot import OffsetsLog, OpenTransaction, Snapshot
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.build import NOW, Paper
from tests.unit.diagnostics.clusters import base, changed, offsets_rf1, offsets_uncompacted, text
from tests.unit.diagnostics.prevention import (
    coordinators_on_one,
    crowded,
    durable,
    kraft,
    lab,
    leaders_on_one,
    of_factor,
    older,
    on_one,
    racks,
    replicas_on_one,
    set_on,
    upgraded_in_part,
)
from tests.unit.diagnostics.sick import Sick

INFO, WARNING = Severity.INFO, Severity.WARNING
OFFSETS_RF = "offsets.topic.replication.factor"
AGAINST = "zookeeper.session.timeout.ms against replica.lag.time.max.ms"


def unclean() -> Paper:
    return durable(unclean_leader_election_enable="true")


def without_compact() -> Paper:
    paper = base()
    paper.topic_settings = {OFFSETS_TOPIC: {"cleanup.policy": "delete", "segment.bytes": "104857600"}}
    return paper


def offsets_held_by_a_transaction() -> Snapshot:
    """A transaction that began three hours ago is open in the uncompacted partition."""
    held = OpenTransaction(4000, int((NOW - 10_800) * 1000), ("g2",))
    return replace(offsets_uncompacted(), offsets_logs=(OffsetsLog(43, 2, 0, 90, 80, 80, 90, (), (held,)),))


def one_copy_is_short() -> Snapshot:
    """Broker 2 leads two uncompacted partitions, one of which has a short copy, on broker 1."""
    snapshot = offsets_uncompacted(copy=1 << 20)
    long = next(each for each in snapshot.offsets_sizes if each.broker == 2)
    return replace(snapshot, offsets_sizes=(*snapshot.offsets_sizes, long._replace(partition=40)))


def moving() -> Paper:
    paper = of_factor(2)
    for part in paper.parts.values():
        if len(part.replicas) == 2:
            (new,) = {1, 2, 3} - set(part.replicas)
            part.replicas, part.adding = (*part.replicas, new), (new,)
    return paper


SICK: dict[str, list[Sick]] = {
    "KFX601": [
        Sick(lambda: of_factor(2).snapshot(), "replication factor 2", WARNING),
        Sick(lambda: of_factor(1, topics=400).snapshot(), "replication factor 1", WARNING),
        Sick(lambda: changed(Paper((1, 2)).topic("t", 3, rf=2)).snapshot(), "replication factor 2", WARNING),
        Sick(lambda: text("Topic: x Partition: 0 Leader: 1 Replicas: 1,2 Isr: 1,2"), "replication factor 2", WARNING),
    ],
    "KFX602": [
        Sick(lambda: set_on(durable(), "orders", min_insync_replicas="1").snapshot(), "min.insync.replicas 1", WARNING),
        Sick(lambda: durable(min_insync_replicas="1").snapshot(), "min.insync.replicas 1 by default", WARNING),
        Sick(
            lambda: changed(Paper((1, 2)).topic("t", 3, rf=2)).snapshot(), "min.insync.replicas 1 by default", WARNING
        ),
        Sick(lambda: changed(Paper().offsets(50, rf=2)).snapshot(), "min.insync.replicas 1 by default", WARNING),
    ],
    "KFX603": [
        Sick(lambda: set_on(durable(), "orders", min_insync_replicas="3").snapshot(), "replication factor 3", WARNING),
        Sick(lambda: set_on(durable(), "orders", min_insync_replicas="4").snapshot(), "replication factor 3", WARNING),
        Sick(lambda: set_on(durable(4), "orders", min_insync_replicas="3").snapshot(), "replication factor 3", WARNING),
        Sick(lambda: of_factor(2).snapshot(), "replication factor 2", WARNING),
        Sick(lambda: changed(Paper().offsets(50, rf=2), min_isr=2).snapshot(), "replication factor 2", WARNING),
    ],
    "KFX604": [
        Sick(lambda: set_on(durable(), "orders", unclean_leader_election_enable="true").snapshot(), "topics", WARNING),
        Sick(lambda: unclean().snapshot(), "topics by default", WARNING),
    ],
    "KFX605": [
        Sick(lambda: unclean().snapshot(), "unclean.leader.election.enable", WARNING),
        Sick(lambda: durable(min_insync_replicas="1").snapshot(), "min.insync.replicas", WARNING),
        Sick(lambda: changed(Paper().topic("t", 3, rf=2).offsets(50, rf=1)).snapshot(), "min.insync.replicas", WARNING),
        Sick(lambda: Paper((1, 2)).topic("t", 3, rf=2).snapshot(), "min.insync.replicas", WARNING),
        Sick(
            lambda: on_one(2, durable(), default_replication_factor="1").snapshot(),
            "default.replication.factor",
            WARNING,
        ),
        # There already: what counts is the topic.
        Sick(lambda: durable(offsets_topic_replication_factor="1").snapshot(), OFFSETS_RF, INFO),
        Sick(lambda: changed(offsets_rf1(), parts={}).topic("t", 1).snapshot(), OFFSETS_RF, WARNING),
    ],
    "KFX606": [
        Sick(lambda: racks(None, None, None).snapshot(), "all brokers", INFO),
        Sick(lambda: racks("a", None, "c").snapshot(), "some brokers", WARNING),
        Sick(lambda: kraft(racks("a", None, "c")).snapshot(), "some brokers", WARNING),
    ],
    "KFX607": [
        Sick(lambda: racks("a", "b", "a").snapshot(), "replication factor 3", INFO),
        Sick(lambda: racks("a", "a", "b", "c").snapshot(), "avoidable", WARNING),
        Sick(
            lambda: (
                changed(racks("a", "a", "a", "c"), parts={})
                .topic(OFFSETS_TOPIC, 2, replicas=[[1, 2, 3], [2, 3, 1]])
                .snapshot()
            ),
            "avoidable",
            WARNING,
        ),
    ],
    "KFX608": [
        Sick(lambda: leaders_on_one(preferred=False).snapshot(), "leaders", WARNING),
        Sick(lambda: leaders_on_one(preferred=True).snapshot(), "leaders", WARNING),
    ],
    "KFX609": [Sick(lambda: replicas_on_one().snapshot(), "replicas", WARNING)],
    "KFX115": [
        Sick(offsets_uncompacted, "topic __consumer_offsets", WARNING),
        Sick(lambda: offsets_uncompacted(copy=1 << 20), "topic __consumer_offsets", WARNING),
        Sick(
            lambda: offsets_uncompacted(settings={"log.cleaner.enable": "false"}), "topic __consumer_offsets", WARNING
        ),
        Sick(lambda: offsets_uncompacted(without_compact()), "topic __consumer_offsets", WARNING),
        Sick(offsets_held_by_a_transaction, "topic __consumer_offsets", WARNING),
        Sick(one_copy_is_short, "topic __consumer_offsets", WARNING),
    ],
    "KFX610": [
        Sick(lambda: coordinators_on_one(preferred=False).snapshot(), f"topic {OFFSETS_TOPIC}", WARNING),
        Sick(lambda: coordinators_on_one(preferred=True).snapshot(), f"topic {OFFSETS_TOPIC}", WARNING),
        Sick(
            lambda: Paper().topic(OFFSETS_TOPIC, 2, replicas=[[2], [2]]).snapshot(), f"topic {OFFSETS_TOPIC}", WARNING
        ),
    ],
    "KFX611": [
        Sick(lambda: crowded(3300).snapshot(), "a broker", INFO),
        Sick(lambda: crowded(4000).snapshot(), "a broker", WARNING),
        Sick(lambda: kraft(crowded(4000)).snapshot(), "a broker", INFO),
        Sick(lambda: crowded(10_100, 16).snapshot(), "the cluster", INFO),
    ],
    "KFX612": [
        Sick(lambda: lab().snapshot(), AGAINST, WARNING),
        Sick(lambda: lab().snapshot(), "zookeeper.session.timeout.ms", WARNING),
        Sick(lambda: on_one(3, durable(), zookeeper_session_timeout_ms="40000").snapshot(), AGAINST, WARNING),
    ],
    "KFX613": [
        Sick(lambda: durable().snapshot(), "release", INFO),
        Sick(lambda: older("2.7-IV2", "2.7-IV2").snapshot(), "release", WARNING),
        Sick(lambda: kraft(older("2.8-IV1", "2.8-IV1")).snapshot(), "release", WARNING),
        # The program may be newer than what it is held back to.
        Sick(lambda: older("2.7-IV2", None).snapshot(), "release", INFO),
    ],
    "KFX614": [
        Sick(lambda: upgraded_in_part(programs=True).snapshot(), "programs", WARNING),
        Sick(lambda: upgraded_in_part(programs=False).snapshot(), "protocols", WARNING),
        Sick(lambda: older("2.8-IV1", "3.9-IV0").snapshot(), "behind", INFO),
    ],
    "KFX615": [
        Sick(lambda: on_one(2, durable(), min_insync_replicas="3").snapshot(), "broker settings", WARNING),
    ],
    "KFX616": [Sick(lambda: kraft(durable()).snapshot(), "producers", INFO)],
    "KFX816": [
        Sick(lambda: kraft_clusters.featured(21), "metadata.version", INFO),
        Sick(lambda: kraft_clusters.featured(21, elr=0), "eligible.leader.replicas.version", INFO),
        Sick(lambda: kraft_clusters.featured(30, elr=0), "eligible.leader.replicas.version", INFO),
        Sick(lambda: kraft_clusters.featured(29, ghost=True), "metadata.version", INFO),
        Sick(lambda: kraft_clusters.featured(20, {1: 21}), "metadata.version", INFO),
        Sick(lambda: kraft_clusters.featured(21, dead=True), "metadata.version", INFO),
    ],
    "KFX617": [
        Sick(kraft_clusters.single_controller, "controller quorum", INFO),
        Sick(kraft_clusters.two_voters, "controller quorum", INFO),
    ],
}

WELL: dict[str, list[Callable[[], Snapshot]]] = {
    "KFX601": [
        lambda: durable().snapshot(),
        lambda: moving().snapshot(),
        lambda: changed(of_factor(2), deleting=frozenset({"thin-000"})).snapshot(),
        # Internal topics are KFX303.
        lambda: offsets_rf1().snapshot(),
    ],
    "KFX602": [
        lambda: durable().snapshot(),
        # One replica: nothing to wait for.
        lambda: changed(Paper().topic("lone", 3, rf=1), min_isr=1).snapshot(),
        lambda: text("Topic: x Partition: 0 Leader: 1 Replicas: 1,2 Isr: 1,2"),
    ],
    "KFX603": [
        lambda: durable().snapshot(),
        lambda: changed(Paper().topic("lone", 3, rf=1), min_isr=1).snapshot(),
    ],
    "KFX604": [
        lambda: durable().snapshot(),
        lambda: base().snapshot(),
        lambda: changed(unclean(), parts={}).topic("lone", 1, rf=1).snapshot(),
    ],
    "KFX605": [
        lambda: durable().snapshot(),
        lambda: set_on(durable(), "orders", min_insync_replicas="1").snapshot(),
        # One broker cannot do better.
        lambda: Paper((1,)).topic("t", 3, rf=1).snapshot(),
        lambda: changed(durable(), answering=set()).snapshot(),
    ],
    "KFX606": [
        lambda: durable().snapshot(),
        lambda: Paper((1,)).topic("t", 3, rf=1).snapshot(),
        # Dead ones say nothing.
        lambda: racks("a", "b", None, "d").kill(3).snapshot(),
        lambda: text(
            "Metadata for all topics (from broker 1: localhost:9092/1):\n broker 1 at h:1\n broker 2 at h:2\n "
            'topic "x" with 1 partitions:\n    partition 0, leader 1, replicas: 1,2, isrs: 1,2'
        ),
    ],
    "KFX607": [
        lambda: durable().snapshot(),
        lambda: racks("a", "a", "a").snapshot(),
        lambda: racks("a", "b", None).snapshot(),
        lambda: racks("a", "b", "c", "d", rf=4).snapshot(),
    ],
    "KFX608": [
        lambda: durable().snapshot(),
        # The consequence of a death, or of a restart that is not over.
        lambda: leaders_on_one(preferred=False).kill(2).snapshot(),
        lambda: changed(leaders_on_one(preferred=False), registered={1: 9e4, 2: 30.0, 3: 9e4}).snapshot(),
        lambda: Paper((1, 2)).topic("few", 9, replicas=[[1, 2]] * 9).snapshot(),
    ],
    "KFX609": [
        lambda: durable().snapshot(),
        lambda: leaders_on_one(preferred=True).snapshot(),
        lambda: replicas_on_one().kill(7).kill(1).snapshot(),
    ],
    "KFX115": [
        # Two segments, young records, few repeated keys, keys that repeat at the end only, and a log that was not read.
        lambda: offsets_uncompacted(size=299 << 20),
        lambda: offsets_uncompacted(last_ms=int((NOW - 600) * 1000)),
        lambda: offsets_uncompacted(keys=2_501),
        lambda: offsets_uncompacted(behind=270 << 20),
        lambda: offsets_uncompacted(records=-1, keys=-1, last_ms=-1, behind=-1),
    ],
    "KFX610": [
        lambda: durable().snapshot(),
        lambda: coordinators_on_one(preferred=False).kill(3).snapshot(),
        lambda: Paper((1,)).offsets(50, rf=1).snapshot(),
        lambda: changed(durable(), parts={}).topic("t", 3).snapshot(),
    ],
    "KFX611": [lambda: crowded(3100).snapshot()],
    "KFX612": [
        lambda: durable().snapshot(),
        lambda: kraft(durable(zookeeper_session_timeout_ms="40000")).snapshot(),
        lambda: base().snapshot(),
    ],
    "KFX613": [
        lambda: kraft(durable()).snapshot(),
        # On KRaft a protocol version that was left in server.properties says nothing.
        lambda: kraft(older("2.7-IV2", None)).snapshot(),
        lambda: text("Topic: x Partition: 0 Leader: 1 Replicas: 1 Isr: 1"),
    ],
    "KFX614": [
        lambda: kraft(older("2.8-IV1", "3.9-IV0")).snapshot(),
        lambda: durable().snapshot(),
        lambda: older("3.8-IV0", None).snapshot(),
        lambda: base().snapshot(),
    ],
    "KFX615": [
        lambda: durable().snapshot(),
        # Racks and the protocol version are told by others.
        lambda: upgraded_in_part(programs=False).snapshot(),
        lambda: on_one(2, durable(), log_dirs="/other").snapshot(),
    ],
    "KFX616": [lambda: changed(durable(), parts={}).snapshot()],
    "KFX816": [
        kraft_clusters.healthy,
        lambda: kraft_clusters.featured(30),
        # A rolling upgrade is under way: one controller is of the older release.
        lambda: kraft_clusters.featured(21, {102: 21}),
        # What one node supports is unknown.
        lambda: kraft_clusters.featured(21, {102: None}),
    ],
    "KFX617": [kraft_clusters.healthy, kraft_clusters.two_controllers_dead],
}
