"""A fleet over four nights whose truth is known: what each question has to find is planted, beside what looks like it.

test_questions.py has the answer to each question; the numbers in it come from the seed.
"""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.vantage import topics_of
from kfix.core.inventory.model import ClusterEntry, Inventory
from kfix.core.snapshot.fleet_facts import (
    AclRule,
    Acls,
    ApiRange,
    Certificate,
    EarlierEpoch,
    FleetFacts,
    LeaderLog,
    Quota,
    Setting,
    StoredLogDir,
    UnreadFact,
)
from kfix.core.snapshot.group_reading import GroupPartition, GroupReading
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.snapshot import (
    NEWEST_PROTOCOL,
    PROTOCOL,
    Assignment,
    ClusterIdentity,
    Group,
    Mode,
    TopicPartition,
)
from kfix.fleet.audit.running import audit
from kfix.fleet.store.places import place_of
from kfix.fleet.store.staging import RunWriter
from tests.unit.diagnostics.build import NOW, Paper

NIGHTS = 4
A_DAY = 86_400.0
FIRST = datetime.fromtimestamp(NOW, UTC).date()
MB = 1 << 20
PLAIN = Setting("listeners", "PLAINTEXT://127.0.0.1:9091", "file")


def day(number: int) -> date:
    return FIRST + timedelta(days=number)


def identity(name, mode=Mode.ZOOKEEPER):
    return ClusterIdentity(f"id-of-{name}", mode, f"{name}:9092", "")


def at(number: int) -> float:
    return NOW + A_DAY * number


@dataclass
class Night:
    """One cluster in one night: `paper` is the cluster, and the others are its facts."""

    number: int
    paper: Paper
    logs: dict[Any, Any] = field(default_factory=dict)
    sizes: dict[Any, Any] = field(default_factory=dict)  # {(partition, broker): bytes}
    disks: dict[Any, Any] = field(default_factory=dict)  # {broker: (total, usable)}
    settings: dict[Any, Any] = field(default_factory=dict)
    lags: dict[Any, Any] = field(default_factory=dict)  # {group: {partition: (committed, end)}}
    more: dict[Any, Any] = field(default_factory=dict)  # other facts
    changes: dict[Any, Any] = field(default_factory=dict)  # of the snapshot
    moved: dict[Any, Any] = field(default_factory=dict)  # {partition: assignment in progress}
    broken: dict[Any, Any] = field(default_factory=dict)  # {broker: directories that have failed}
    unasked: tuple[str, ...] = ()  # groups whose offsets were not read
    taken: float = 0.0

    def __post_init__(self):
        self.taken = self.taken or at(self.number)

    def log(self, topic, number, end, *, leader=1, epoch=5, start=0, earlier=(), ahead=0, error=""):
        """`ahead` are records at the end that no follower has yet."""
        tp = TopicPartition(topic, number)
        ends = tuple(EarlierEpoch(*each) for each in earlier)
        self.logs[tp] = LeaderLog(-1, error=error) if error else LeaderLog(leader, epoch, start, end - ahead, end, ends)

    def grows(self):
        """Gives every partition without one a log that grows by ten records each night, and replicas of 1 MB."""
        for tp, part in self.paper.parts.items():
            if tp.topic != OFFSETS_TOPIC:
                led = LeaderLog(part.leader, 5, 0, *[10 + 10 * self.number] * 2)
                self.logs.setdefault(tp, led if part.leader >= 0 else LeaderLog(-1, error="no leader"))
            for broker in part.replicas:
                self.sizes.setdefault((tp, broker), MB)

    def home(self, group):
        """Returns the coordinator of a group: brokers in turn, or broker 1 of all that are called so."""
        return 1 if group.startswith("group-") else 1 + sorted(self.lags).index(group) % 3

    def facts(self):
        brokers = sorted(self.paper.answering)
        dirs = {}
        for b in brokers:
            held = {tp: size for (tp, broker), size in self.sizes.items() if broker == b}
            dirs[b] = (StoredLogDir("/d", "", *self.disks.get(b, (None, None)), held), *self.broken.get(b, ()))
        made = FleetFacts(
            leader_logs=self.logs,
            log_dirs=dirs,
            settings={b: tuple(self.settings.get(b, (PLAIN,))) for b in brokers},
            acls=Acls(authorizer=True),
            apis={b: (ApiRange(1, 0, 12), ApiRange(3, 0, 9)) for b in brokers},
            quotas=(),
        )
        return replace(made, **self.more)

    def snapshot(self):
        self.grows()
        found = self.paper.snapshot(taken_at=self.taken, fleet_facts=self.facts(), groups_complete=True, **self.changes)
        readings = tuple(
            GroupReading(
                group, found.taken_at, 1, None, None,
                partitions={tp: GroupPartition(c, 0, 0, end, end, "") for tp, (c, end) in positions.items()},
            )
            for group, positions in self.lags.items()
        )  # fmt: skip
        unasked = (Group(name, (2,), "Stable") for name in self.unasked)
        groups = (*found.groups, *(Group(n, (self.home(n),), "Stable") for n in self.lags), *unasked)
        known = {each.group for each in readings}
        kept = tuple(each for each in found.group_readings if each.group not in known)
        zookeeper = found.zookeeper
        if zookeeper is not None:
            zookeeper = replace(
                zookeeper,
                assignments={**zookeeper.assignments, **self.moved},
                reassigning={tp: each.replicas for tp, each in self.moved.items()},
                topics_created={} if self.changes.get("topic_ids") else dict.fromkeys(topics_of(found.views), 200),
            )
        own = {} if zookeeper is None else {"zookeeper": zookeeper}
        return replace(found, groups=groups, group_readings=(*kept, *readings), **own)


def paper_of(topics, *, brokers=(1, 2, 3), racks=None):
    """Returns a cluster whose topics, {name: (partitions, replicas)}, are led by all brokers in turn."""
    paper = Paper(brokers, racks)
    paper.min_isr = 2
    at_ = 0
    for name, (partitions, rf) in topics.items():
        chosen = [[brokers[(at_ + p + i) % len(brokers)] for i in range(rf)] for p in range(partitions)]
        paper.topic(name, partitions, replicas=chosen)
        at_ += partitions
    return paper


class PlantedFleet:
    """The nights of all clusters. Their numbers are those of the seed."""

    def __init__(self, seed: int = 7) -> None:
        self.rng = random.Random(f"planted/{seed}")
        self.a, self.b, self.c = (self.rng.randrange(200, 900) for _ in range(3))
        self.lost = tuple(self.rng.randrange(5, 60) for _ in range(3))

    def write(self, root, engine, *, nights=NIGHTS):
        """Writes all nights, and audits them with an engine.

        `far` cannot be reached, and `older` was read without these facts.
        """
        owners = {"alpha": "team-a", "beta": "team-b", "skewed": "team-a", "dying": "team-d", "older": "team-o"}
        entries = {n: ClusterEntry(n, bootstrap=f"{n}.invalid:9092", owner=owner) for n, owner in owners.items()}
        for number in range(nights):
            writer = RunWriter(place_of(root), day(number), "n", at=at(number))
            for name, night in self.nights(number).items():
                writer.write(name, night.snapshot())
            older = paper_of({"orders": (3, 3)}).snapshot(taken_at=at(number), cluster=identity("older"))
            writer.write("older", older)
            run = writer.finish({"far": "connection refused"})
            if engine is not None:
                audit(place_of(root), run, Inventory(entries), engine)

    def nights(self, n):
        return {"alpha": self.alpha(n), "beta": self.beta(n), "dying": self.dying(n), "skewed": self.skewed(n)}

    def alpha(self, n):
        """Losses beside retention, deletion, recreation and elections; disks, groups, settings, rules, moves."""
        topics = dict.fromkeys(("retain", "again", "anew", "clean", "torn", "empty", "readonly"), (1, 3))
        topics |= {"orders": (3, 3), "idle": (2, 3), "late": (2, 3), "single": (1, 1)}
        topics |= {f"move{i}": (1, 3) for i in range(4)} | ({"gone": (1, 3)} if n < 2 else {})
        night = Night(n, paper_of(dict(sorted(topics.items()))))
        ids = {name: f"id-{name}" for name in topics if name != "anew"} | {"again": f"id-again-{n >= 2}"}
        night.changes = {"topic_ids": ids, "cluster": identity("alpha")}
        self._losses(night)
        self._not_lost(night)
        night.log("idle", 0, 70)
        night.log("idle", 1, 70)
        night.log("late", 0, 70)
        night.log("empty", 0, 40, start=40)
        night.log("readonly", 0, 90)
        for broker in (1, 2, 3):
            night.sizes[TopicPartition("orders", 0), broker] = 2 * MB * (n + 1)
            night.sizes[TopicPartition("clean", 0), broker] = MB * (n + 1)
        usable = {1: (900, 890, 870, 860), 2: (900,) * 4, 3: (700, 750, 800, 850)}
        night.disks = {b: (1000 * MB, values[n] * MB) for b, values in usable.items()}
        night.moved = {
            TopicPartition(f"move{i}", 0): Assignment((1, 2, 3))
            for i, nights in enumerate(((1, 2, 3), (3,), (1, 2), ()))
            if n in nights
        }
        self._groups(night)
        self._settings(night)
        rules = (
            AclRule("User:*", "*", "allow", "write", "topic", "orders"),
            AclRule("User:*", "*", "allow", "write", "topic", "order"),
            AclRule("User:*", "*", "allow", "describe", "topic", "*"),
            AclRule("User:ANONYMOUS", "*", "allow", "all", "topic", "idl", prefixed=True),
            AclRule("User:*", "*", "allow", "read", "topic", "re", prefixed=True),
            AclRule("User:*", "*", "deny", "read", "topic", "retain"),
            AclRule("User:*", "*", "allow", "read", "group", "*"),
            AclRule("User:admin", "*", "allow", "all", "topic", "*"),
        )
        apis = {b: (ApiRange(1, 0, 13 if b == 2 else 12), ApiRange(3, 0, 9)) for b in (1, 2, 3)}
        unread = (UnreadFact("quotas", -1, "not asked"),)
        night.more = {"acls": Acls(True, rules), "apis": apis, "quotas": None, "unread": unread}
        return night

    def _losses(self, night):
        """An unclean election, two power failures, and a loss that a night without an answer hides until the next.

        Of `torn` only records are gone that were not committed, which the leader had acknowledged for acks=1.
        """
        n, (x, y, z) = night.number, self.lost
        a, b, c = self.a, self.b, self.c
        if n < 2:
            night.log("orders", 0, a + 50 * n)
            night.log("orders", 1, b + 10 * n)
            night.log("torn", 0, 120, ahead=8)
        else:
            night.log("orders", 0, a + 300 * n, epoch=6, leader=2, earlier=[(5, a + 50 - x)])
            night.log("orders", 1, b + 10 - y, epoch=6, leader=2, earlier=[(5, b + 10 - y)])
            night.log("torn", 0, 150, epoch=6, earlier=[(5, 112)])
        if n == 2:
            night.log("orders", 2, 0, error="NOT_LEADER_OR_FOLLOWER")
        else:
            earlier = [(7, c + 90), (5, c + 1 - z)] if n == 3 else []
            night.log("orders", 2, c + 400 if n == 3 else c + n, epoch=8 if n == 3 else 5, leader=3, earlier=earlier)

    def _not_lost(self, night):
        """What looks like a loss and is none: retention, an election, a topic that is created again, both at once."""
        n = night.number
        if n < 2:
            night.log("retain", 0, 100 + n)
            night.log("again", 0, 100 + n, epoch=3)
            night.log("anew", 0, 100 + n, epoch=3)
            night.log("clean", 0, 100 + n)
        else:
            night.log("retain", 0, 300 + n, start=200, epoch=6, earlier=[(5, 200)])
            night.log("again", 0, 5 + n, epoch=3)
            night.log("anew", 0, 5 + n, epoch=0)
            night.log("clean", 0, 101 + n, epoch=7, earlier=[(6, 101), (5, 101)])

    def _groups(self, night):
        n, orders = night.number, TopicPartition("orders", 0)
        bursts = (100, 300, 200, 400)
        night.lags = {
            "slow": {orders: (10, 110 + 100 * n)},
            "bursty": {orders: (10, 10 + bursts[n])},
            "steady": {orders: (10 * n, 10 * n + 50)},
            "reader": {TopicPartition("readonly", 0): (90, 90)},
            "ahead": {TopicPartition("clean", 0): (500, 100)},
        }

    def _settings(self, night):
        listeners = {
            1: "PLAINTEXT://10.0.0.1:9092,SSL://10.0.0.1:9093",
            2: "INTERNAL://10.0.0.2:9092,PLAINTEXT://127.0.0.1:9094",
            3: "EXTERNAL://:9091",
        }
        own = {
            "listener.security.protocol.map": "INTERNAL:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "offsets.commit.required.acks": "-1",
            "super.users": "User:root",
        }
        for b, text in listeners.items():
            every = {**own, "listeners": text, "broker.id": str(b), "num.io.threads": "16" if b == 3 else "8"}
            every |= {"compression.type": "zstd"} if b == 1 else {}
            night.settings[b] = tuple(Setting(key, value, "file") for key, value in sorted(every.items()))
        night.paper.broker_settings = {b: {NEWEST_PROTOCOL: "2.7-IV2", PROTOCOL: "2.7"} for b in (1, 2, 3)}
        night.paper.topic_settings = {"retain": {"message.format.version": "0.10.2"}, "late": {"retention.ms": "1"}}

    def beta(self, n):
        """On KRaft, without an authorizer, with certificates and quotas; its last snapshot is from another time."""
        paper = paper_of({"events": (3, 3)})
        paper.zookeeper, paper.mode = False, Mode.KRAFT
        night = Night(n, paper, taken=at(n) - (7 * 3600 if n == 3 else 0))
        night.changes = {
            "quorum": QuorumView(leader=100, epoch=1, features={"metadata.version": 6}, topic_settings={}),
            "cluster": identity("beta", Mode.KRAFT),
        }
        night.lags = {"app": {TopicPartition("events", 0): (5 + 10 * n, 10 + 10 * n)}}
        for broker in (1, 2, 3):
            night.sizes[TopicPartition("events", 0), broker] = 5 * MB * (n + 1)
            night.settings[broker] = (Setting("listeners", f"SSL://beta-{broker}:{9090 + broker}", "file"),)
        ends = {b: int(1000 * (night.taken + days * A_DAY)) for b, days in ((1, 30), (2, 90), (3, -1))}
        night.more = {
            "acls": Acls(authorizer=False),
            "certificates": {b: Certificate(end, f"commonName=beta-{b}", "commonName=ca") for b, end in ends.items()},
            "quotas": (
                Quota("app", None, None, "producer_byte_rate", 1e6),
                Quota("", "", None, "request_percentage", 5.0),
            ),
        }
        return night

    def skewed(self, n):
        """Broker 1 leads and holds too much; topics without a rule are open; one topic has four replicas."""
        night = Night(n, paper_of({"spare": (2, 4)}, brokers=(1, 2, 3, 4)))
        lead = [[1, 2, 3], [2, 1, 3], [3, 1, 4], [4, 1, 2]]
        night.paper.topic("lead", 8, replicas=lead * 2)
        for p in range(8):
            part = night.paper.part("lead", p)
            part.leader = 1
            for broker in part.replicas:
                night.sizes[TopicPartition("lead", p), broker] = {1: 12, 2: 15}.get(p, 10) * MB
        night.log("lead", 3, 1000 * (n + 1))
        night.lags = {f"group-{i}": {} for i in range(6)}
        covered = (AclRule("User:app", "*", "allow", "read", "topic", "lea", prefixed=True),)
        night.more = {"acls": Acls(True, (), covered)}
        night.changes = {"cluster": identity("skewed")}
        night.unasked = ("late",)
        if n == 2:
            night.paper.kill(4)
            night.more["unread"] = (UnreadFact("log_dirs", 4, "broker 4 does not respond to kfix"),)
        return night

    def dying(self, n):
        """Broker 3 is dead in every second night, and with it a topic with one replica; `thin` lacks replicas twice."""
        topics = {"wide": (3, 3), "thin": (1, 3)}
        night = Night(n, paper_of(topics, racks={1: "a", 2: "b", 3: "c"}))
        night.paper.topic("fragile", 2, replicas=[[3], [3]])
        night.changes = {"cluster": identity("dying")}
        night.paper.broker_settings = {b: {PROTOCOL: "3.9"} for b in (1, 2, 3)}
        night.broken = {2: (StoredLogDir("/broken", "KAFKA_STORAGE_ERROR"),)}
        if n in {0, 2}:
            part = night.paper.part("thin", 0)
            part.isr, part.age = (part.leader,), 900.0
        if n in {1, 3}:
            night.paper.kill(3)
            night.more["unread"] = (UnreadFact("log_dirs", 3, "broker 3 does not respond to kfix"),)
        return night
